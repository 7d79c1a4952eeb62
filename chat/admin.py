"""Providers in the admin site, without their keys; of chats and agents only counts, times and sizes."""

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from chat.models import Agent, AiModel, Attachment, Message, OpenPage, Provider, Run, Session
from oneclaw.site.readonly import DiscreetAdmin, ReadOnlyAdmin, unquoted


@admin.register(Provider)
class ProviderAdmin(DiscreetAdmin):
    list_display = ("name", "kind", "base_url", "origin", "enabled", "send_memory", "can_write_memory")
    list_filter = ("kind", "origin", "enabled")
    search_fields = ("name", "base_url")
    # The key is set on the providers' own page, which seals it.
    exclude = ("sealed_key",)
    readonly_fields = ("kind", "base_url", "origin", "created_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Made on the providers' own page: there a key never goes to an address it was not given for."""
        return False


@admin.register(AiModel)
class AiModelAdmin(DiscreetAdmin):
    list_display = ("name", "provider", "context_window", "supports_tools", "supports_images", "is_default")
    list_filter = ("provider", "supports_tools", "is_default")
    search_fields = ("name", "label")
    # There is one default; the providers' page moves it.
    readonly_fields = ("is_default",)


@admin.register(Agent)
class AgentAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "model", "temperature", "size", "created_at")
    list_filter = ("owner",)
    list_select_related = ("owner", "model")
    measured = ("prompt",)


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "owner",
        "message_count",
        "memory_mode",
        "pinned",
        "active_at",
        "archived_at",
        "deleted_at",
    )
    list_filter = ("owner", "memory_mode", "pinned")
    search_fields = ("id",)
    list_select_related = ("owner",)
    date_hierarchy = "active_at"
    measured = ("title", "preview", "summary")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Session]":
        rows: QuerySet[Session] = super().get_queryset(request).annotate(said=Count("messages"))
        return rows

    @admin.display(description="messages")
    def message_count(self, session: Session) -> int:
        return int(getattr(session, "said", 0))


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "session_id",
        "type",
        "size",
        "error_code",
        "model_name",
        "input_tokens",
        "output_tokens",
        "created_at",
    )
    list_filter = ("type", "error_code", "created_at")
    search_fields = ("=id", "session__id")
    measured = ("content", "thinking")
    show_full_result_count = False


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ("id", "session_id", "status", "error_code", "problem", "created_at", "finished_at")
    list_filter = ("status", "error_code")
    search_fields = ("id", "session__id")

    @admin.display(description="error")
    def problem(self, run: Run) -> str:
        """The sentence without what it quotes of the provider, which may quote the chat."""
        return unquoted(run.error)


@admin.register(OpenPage)
class OpenPageAdmin(ReadOnlyAdmin):
    """Pages of temporary chats. The token holds a page, so it is nobody else's to see."""

    list_display = ("id", "session_id", "opened_at")
    measured = ("token",)


@admin.register(Attachment)
class AttachmentAdmin(ReadOnlyAdmin):
    """What takes room, never what is in it: a name may say as much as a text."""

    list_display = ("id", "owner", "kind", "media_type", "bytes", "pages", "created_at")
    list_filter = ("owner", "kind")
    list_select_related = ("owner",)
    measured = ("name", "text", "note")

    @admin.display(description="bytes")
    def bytes(self, attachment: Attachment) -> int:
        return attachment.size
