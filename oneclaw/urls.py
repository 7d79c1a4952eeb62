"""URLs of the whole site."""

from django.contrib import admin
from django.urls import include, path

import chat.urls
import connect.urls
import people.urls
from oneclaw.site import about, health, installable, metrics

# One namespace for the pages under /settings/, whichever room they belong to.
settings_patterns = [
    *people.urls.settings_patterns,
    *chat.urls.settings_patterns,
    *connect.urls.settings_patterns,
    path("about/", about.about, name="about"),
]

urlpatterns = [
    path("", include("chat.urls")),
    path("", include("people.urls")),
    path("memory/", include("memory.urls")),
    path("", include("connect.urls")),
    path("settings/", include((settings_patterns, "settings"))),
    path("manifest.webmanifest", installable.manifest, name="manifest"),
    path("service-worker.js", installable.service_worker, name="service-worker"),
    path("offline/", installable.offline, name="offline"),
    path("healthz", health.healthz, name="healthz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("admin/", admin.site.urls),
]

handler400 = "connect.views.refusals.bad_request"
handler403 = "oneclaw.site.errors.forbidden"
handler404 = "oneclaw.site.errors.not_found"
handler500 = "oneclaw.site.errors.server_error"
