"""An admin page to look at rows that only the program may make and change."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest


class ReadOnlyAdmin(admin.ModelAdmin):
    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not on its own pages; with a deleted account all of its rows go."""
        page = request.resolver_match.url_name if request.resolver_match else ""
        own = f"{self.opts.app_label}_{self.opts.model_name}_"
        return not (page or "").startswith(own) and super().has_delete_permission(request, obj)
