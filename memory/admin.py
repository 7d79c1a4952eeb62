"""Memory in the admin site, to look at: files are the truth, and each has its own page to change it."""

from django.contrib import admin

from memory.models import (
    Claim,
    IndexedSource,
    IndexState,
    LedgerEntry,
    MemoryIndex,
    PendingEntry,
    Proposal,
    Rebuild,
    RemovedEntries,
    Revision,
)
from oneclaw.readonly import ReadOnlyAdmin


@admin.register(MemoryIndex)
class MemoryIndexAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "source_type", "source_date", "source_key", "__str__")
    list_filter = ("owner", "source_type")
    search_fields = ("chunk_text", "source_key")
    list_select_related = ("owner",)
    exclude = ("embedding",)
    show_full_result_count = False


@admin.register(Revision)
class RevisionAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "author", "reason", "created_at")
    list_filter = ("owner", "author")
    search_fields = ("reason", "after")
    list_select_related = ("owner",)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "kind", "trigger", "outcome", "message_count", "model_name", "started_at")
    list_filter = ("owner", "kind", "trigger", "outcome")
    search_fields = ("detail", "session_id")
    list_select_related = ("owner",)


@admin.register(Claim)
class ClaimAdmin(ReadOnlyAdmin):
    list_display = ("key", "queued_at", "held_at", "holder", "wanted", "done_on")
    list_filter = ("wanted", "done_on")
    search_fields = ("key", "holder")


@admin.register(PendingEntry)
class PendingEntryAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "day", "session_id", "trigger", "by", "made_at")
    list_filter = ("owner", "trigger")
    search_fields = ("body", "session_id")
    list_select_related = ("owner",)


@admin.register(RemovedEntries)
class RemovedEntriesAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "__str__", "session_id", "created_at")
    list_filter = ("owner",)
    search_fields = ("session_id",)
    list_select_related = ("owner",)


@admin.register(Proposal)
class ProposalAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "detail", "created_at", "applied_at")
    list_filter = ("owner", "applied_at")
    search_fields = ("detail", "after")
    list_select_related = ("owner",)


@admin.register(Rebuild)
class RebuildAdmin(ReadOnlyAdmin):
    list_display = ("owner", "done", "total", "moved_at", "finished_at", "error")
    list_filter = ("finished_at",)
    search_fields = ("owner__username", "error")
    list_select_related = ("owner",)


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
