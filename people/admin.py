"""Accounts in the admin site."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from oneclaw.site.readonly import DiscreetAdmin, ReadOnlyAdmin
from people.forms import AccountForm
from people.models import Invitation, User


@admin.register(User)
class PersonAdmin(DiscreetAdmin, UserAdmin):
    """Accounts; a name can't be changed, because it also names the folder of the person's memory."""

    add_form = AccountForm
    add_fieldsets = ((None, {"fields": ("username", "password1", "password2", "is_admin")}),)
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Rights", {"fields": ("is_active", "is_staff", "is_superuser")}),
        ("Preferences", {"fields": ("time_zone", "theme", "memory_enabled")}),
        ("Dates", {"fields": ("last_login", "date_joined", "last_active_date")}),
    )
    list_display = ("username", "is_staff", "is_active", "memory_enabled", "last_login")
    list_filter = ("is_staff", "is_active", "memory_enabled")
    search_fields = ("username",)
    filter_horizontal = ()
    readonly_fields = ("last_login", "date_joined", "last_active_date")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return (*self.readonly_fields, "username") if obj else self.readonly_fields

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes their own account: there would soon be no admin."""
        return super().has_delete_permission(request, obj) and obj != request.user


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = ("id", "created_by", "person", "is_admin", "created_at", "expires_at", "used_at")
