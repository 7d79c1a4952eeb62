"""The admin site under OneClaw's name, behind the log-in that everybody uses."""

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse


class OneclawAdminSite(AdminSite):
    site_header = "OneClaw admin"
    site_title = "OneClaw admin"
    index_title = "Everything in the database"

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.user.is_authenticated:
            raise PermissionDenied("The admin site is for admins.")
        return redirect_to_login(request.GET.get("next") or reverse("admin:index"))
