"""The admin site under OneClaw's name, behind the log-in that everybody uses."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import reverse


class OneclawAdminSite(AdminSite):
    site_header = "OneClaw admin"
    site_title = "OneClaw admin"
    index_title = "Accounts and providers; for everything else, counts, times, sizes and errors"

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: "type[ModelAdmin[Any]] | None" = None,
        **options: Any,
    ) -> None:
        """Only pages that were written here: a dependency's would let an admin schedule any function."""
        if admin_class is not None and is_ours(admin_class.__module__):
            super().register(model_or_iterable, admin_class, **options)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.user.is_authenticated:
            raise PermissionDenied("The admin site is for admins.")
        return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


def is_ours(module: str) -> bool:
    """Whether a module belongs to one of the project's own rooms."""
    app = apps.get_containing_app_config(module)
    return app is not None and Path(app.path).parent == settings.BASE_DIR
