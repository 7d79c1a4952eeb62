"""What lets a phone install the app: manifest, service worker, and the page it shows without a server."""

from hashlib import sha256

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe


@require_safe
@cache_control(max_age=3600)
def manifest(request: HttpRequest) -> JsonResponse:
    icons = [
        {"src": static("icons/icon.svg"), "sizes": "any", "type": "image/svg+xml"},
        {"src": static("icons/icon-192.png"), "sizes": "192x192", "type": "image/png"},
        {"src": static("icons/icon-512.png"), "sizes": "512x512", "type": "image/png"},
        {
            "src": static("icons/maskable-512.png"),
            "sizes": "512x512",
            "type": "image/png",
            "purpose": "maskable",
        },
    ]
    about = {
        "name": "OneClaw",
        "short_name": "OneClaw",
        "description": "An AI chat with a memory you can read, edit and trust",
        "id": reverse("home"),
        "start_url": reverse("home"),
        "scope": reverse("home"),
        "display": "standalone",
        "background_color": "#ffffff",
        "theme_color": "#0b6b63",
        "icons": icons,
        "shortcuts": [
            {"name": "New chat", "url": reverse("home")},
            {"name": "Remember something", "url": reverse("memory:new_entry")},
        ],
        # Only shown there; nothing is saved before the person says so.
        "share_target": {
            "action": reverse("memory:new_entry"),
            "method": "GET",
            "params": {"title": "title", "text": "text", "url": "url"},
        },
    }
    return JsonResponse(about, content_type="application/manifest+json")


@require_safe
@cache_control(no_cache=True)
def service_worker(request: HttpRequest) -> HttpResponse:
    """At the root, because a worker rules only the addresses below its own."""
    styles = [static(f"styles/{name}.css") for name in ("tokens", "base", "frame", "controls")]
    kept = [reverse("offline"), *styles, static("icons/icon.svg")]
    edition = sha256(" ".join(kept).encode()).hexdigest()[:12]
    context = {"kept": kept, "edition": edition}
    return render(request, "service-worker.js", context, content_type="text/javascript")


@require_safe
@cache_control(no_cache=True)
def offline(request: HttpRequest) -> HttpResponse:
    return render(request, "offline.html")
