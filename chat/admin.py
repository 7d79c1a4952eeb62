"""Chats, agents and providers in the admin site. Keys are never shown; what was said is never changed."""

from django.contrib import admin
from django.http import HttpRequest

from chat.models import Agent, AiModel, Message, Provider, Run, Session
from oneclaw.readonly import ReadOnlyAdmin


@admin.register(Provider)
class ProviderAdmin(admin.ModelAdmin):
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
class AiModelAdmin(admin.ModelAdmin):
    list_display = ("name", "provider", "context_window", "supports_tools", "is_default")
    list_filter = ("provider", "supports_tools", "is_default")
    search_fields = ("name", "label")
    # There is one default; the providers' page moves it.
    readonly_fields = ("is_default",)


@admin.register(Agent)
class AgentAdmin(admin.ModelAdmin):
    list_display = ("name", "owner", "model", "temperature")
    list_filter = ("owner",)
    search_fields = ("name", "description", "prompt")
    list_select_related = ("owner", "model")

    def has_change_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """The built-in agent is only shown: it belongs to everybody."""
        return not (obj and obj.is_built_in) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        return not (obj and obj.is_built_in) and super().has_delete_permission(request, obj)


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "owner", "memory_mode", "pinned", "active_at", "archived_at", "deleted_at")
    list_filter = ("owner", "memory_mode", "pinned")
    search_fields = ("title", "id")
    list_select_related = ("owner",)
    date_hierarchy = "active_at"


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("id", "session", "type", "__str__", "model_name", "created_at")
    list_filter = ("type", "created_at")
    search_fields = ("content",)
    list_select_related = ("session",)
    show_full_result_count = False


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ("id", "session", "status", "error_code", "created_at", "finished_at")
    list_filter = ("status", "error_code")
    search_fields = ("id", "session__title", "error")
    list_select_related = ("session",)
