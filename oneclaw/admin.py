"""What an admin may see of the worker and of the log-ins: read-only pages for two libraries' models."""

from typing import Any

from axes.models import AccessAttempt
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django_q.models import Failure, Schedule

from oneclaw.site.readonly import ReadOnlyAdmin, unquoted


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin):
    list_display = ("name", "func", "minutes", "next_run")


@admin.register(Failure)
class FailureAdmin(ReadOnlyAdmin):
    """Tasks that failed; their arguments stay out, and what an error quotes."""

    list_display = ("id", "func", "started", "stopped", "attempt_count", "error")
    list_filter = ("func",)

    @admin.display
    def error(self, task: Failure) -> str:
        return unquoted(str(task.result or "").partition("\n")[0])[:200]


@admin.register(AccessAttempt)
class AccessAttemptAdmin(ReadOnlyAdmin):
    """Failed log-ins; deleting a row lets its name and address try again at once."""

    list_display = ("id", "ip_address", "account", "failures_since_start", "attempt_time")
    list_filter = ("attempt_time",)
    search_fields = ("ip_address",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return admin.ModelAdmin.has_delete_permission(self, request, obj)

    @admin.display
    def account(self, attempt: AccessAttempt) -> str:
        """Only a name that somebody has: people type their password into the wrong field."""
        known = get_user_model().objects.filter(username__iexact=attempt.username or "")
        return str(known.values_list("username", flat=True).first() or "")
