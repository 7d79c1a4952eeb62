"""Memory in the admin site: how much of it there is, since when, and what went wrong; never what it says."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from memory.models import (
    Claim,
    EntryUse,
    Forgotten,
    IndexChange,
    IndexedSource,
    IndexState,
    LastSaid,
    LedgerEntry,
    MemoryIndex,
    PendingEntry,
    Proposal,
    Rebuild,
    RemovedEntries,
    Revision,
    WorkInProgress,
)
from oneclaw.site.readonly import ReadOnlyAdmin, unquoted


@admin.register(MemoryIndex)
class MemoryIndexAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "owner",
        "source_type",
        "source_date",
        "source_key",
        "size",
        "embedded_by",
        "updated_at",
    )
    list_filter = ("owner", "source_type")
    search_fields = ("source_key",)
    list_select_related = ("owner",)
    measured = ("chunk_text", "context", "terms")
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> "QuerySet[MemoryIndex]":
        return super().get_queryset(request).defer("embedding")


@admin.register(Revision)
class RevisionAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "author", "size", "created_at")
    list_filter = ("owner", "author")
    list_select_related = ("owner",)
    measured = ("before", "after")


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "owner",
        "kind",
        "trigger",
        "outcome",
        "problem",
        "message_count",
        "model_name",
        "input_tokens",
        "output_tokens",
        "started_at",
        "finished_at",
    )
    list_filter = ("owner", "kind", "trigger", "outcome")
    search_fields = ("session_id",)
    list_select_related = ("owner",)

    @admin.display(description="detail")
    def problem(self, entry: LedgerEntry) -> str:
        """A refusal quotes the entries that would have been lost."""
        return unquoted(entry.detail)


@admin.register(Claim)
class ClaimAdmin(ReadOnlyAdmin):
    list_display = ("key", "queued_at", "held_at", "holder", "wanted", "done_on")
    list_filter = ("wanted", "done_on")
    search_fields = ("key", "holder")


@admin.register(PendingEntry)
class PendingEntryAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "day", "session_id", "trigger", "by", "size", "made_at")
    list_filter = ("owner", "trigger")
    search_fields = ("session_id",)
    list_select_related = ("owner",)
    measured = ("body",)


@admin.register(RemovedEntries)
class RemovedEntriesAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "count", "session_id", "created_at")
    list_filter = ("owner",)
    search_fields = ("session_id",)
    list_select_related = ("owner",)

    @admin.display(description="entries")
    def count(self, removed: RemovedEntries) -> int:
        return len(removed.entries)


@admin.register(Proposal)
class ProposalAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "size", "created_at", "applied_at")
    list_filter = ("owner", "applied_at")
    list_select_related = ("owner",)
    measured = ("before", "after", "detail", "doubt")


@admin.register(Rebuild)
class RebuildAdmin(ReadOnlyAdmin):
    list_display = ("owner", "finished_at", "problem")
    list_filter = ("finished_at",)
    search_fields = ("owner__username",)
    list_select_related = ("owner",)

    @admin.display(description="error")
    def problem(self, rebuild: Rebuild) -> str:
        return unquoted(rebuild.error)


@admin.register(WorkInProgress)
class WorkInProgressAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "key", "done", "total", "moved_at")
    list_filter = ("owner",)
    list_select_related = ("owner",)
    measured = ("label",)


@admin.register(IndexState)
class IndexStateAdmin(ReadOnlyAdmin):
    list_display = ("owner", "model_name", "chunk_count", "last_message", "vectors_listed", "asked_at")
    list_filter = ("model_name", "vectors_listed")
    search_fields = ("owner__username",)
    list_select_related = ("owner",)


@admin.register(IndexedSource)
class IndexedSourceAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "source_key", "fingerprint")
    list_filter = ("owner",)
    search_fields = ("source_key",)
    list_select_related = ("owner",)


@admin.register(LastSaid)
class LastSaidAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "day", "session_id", "noted_at")
    list_filter = ("owner",)


@admin.register(EntryUse)
class EntryUseAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "days", "last_day")
    list_filter = ("owner",)


@admin.register(Forgotten)
class ForgottenAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "created_at")
    list_filter = ("owner",)


@admin.register(IndexChange)
class IndexChangeAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "before", "stamp")
    list_filter = ("owner",)
