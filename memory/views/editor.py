"""MEMORY.md to edit: entry by entry, or the whole text."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from chat.models import Session
from memory.longterm import dates, revisions
from memory.longterm.dates import DatedEntry
from memory.manager import MemoryManager
from memory.storage import edits, entries
from memory.storage.atomic import StorageError, is_too_large
from memory.storage.entries import Entry
from memory.storage.files import MEMORY_FILE
from memory.storage.markdown import newline_of
from memory.storage.merge import Conflict, Merge
from memory.storage.sections import STANDARD_SECTIONS
from memory.views.gauges import fullness
from oneclaw.outside import number
from people.access import UserRequest
from people.models import User

MAX_TEXT = 1_000_000
MOST_SHOWN = 500  # entries with a form each; all of them are in the whole text
MOST_SECTIONS = 50  # to choose from at each entry


@login_required
@require_safe
def home(request: UserRequest) -> HttpResponse:
    """The entries, by section."""
    memory = MemoryManager(request.user)
    memory.long_term.notice_outside_edit()
    return render(request, "memory/entries.html", page(memory))


@login_required
@require_safe
def file(request: UserRequest) -> HttpResponse:
    """The same as Markdown, in one piece."""
    memory = MemoryManager(request.user)
    memory.long_term.notice_outside_edit()
    return render(request, "memory/file.html", whole(memory))


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry as the page shows it: when it was last said, and the chat, if there still is one."""

    entry: Entry
    day: date | None = None
    chat: Session | None = None

    @property
    def tick(self) -> str:
        """What the box of a task says; nothing for an entry that is none."""
        box = self.entry.content[:4].lower()
        return {"[ ] ": "to do", "[x] ": "done"}.get(box, "")


def page(memory: MemoryManager, **more: object) -> dict[str, object]:
    """The entries by section, and how full the file is."""
    text = memory.read_long_term_memory()
    dated = list(dates.dated(memory.user, text))
    found = shown(memory.user, dated[:MOST_SHOWN])
    names = dict.fromkeys([*STANDARD_SECTIONS, *(each.entry.section for each in found if each.entry.section)])
    groups = {name: [each for each in found if each.entry.section == name] for name in ["", *names]}
    return {
        "fullness": fullness(text),
        "groups": {name: group for name, group in groups.items() if group},
        "sections": list(names)[:MOST_SECTIONS],
        "not_shown": len(dated) - len(found),
        "too_large": [MEMORY_FILE] if is_too_large(memory.files.memory_path) else [],
        **more,
    }


def whole(memory: MemoryManager, **more: object) -> dict[str, object]:
    """The text, the name of the version it was opened at, and how full the file is."""
    text = memory.read_long_term_memory()
    return {
        "text": text,
        "base": revisions.digest(text),
        "fullness": fullness(text),
        "too_large": [MEMORY_FILE] if is_too_large(memory.files.memory_path) else [],
        **more,
    }


def shown(user: User, found: Iterable[DatedEntry]) -> list[Shown]:
    found = list(found)
    wanted = {each.said.session_id for each in found if each.said and each.said.session_id}
    chats = {chat.id: chat for chat in Session.objects.filter(owner=user, deleted_at=None, id__in=wanted)}
    return [
        Shown(each.entry, each.said.day, chats.get(each.said.session_id) if each.said.session_id else None)
        if each.said
        else Shown(each.entry)
        for each in found
    ]


@login_required
@require_POST
def save(request: UserRequest) -> HttpResponse:
    """Save the whole text, if the file is still the one that was opened or the two can be merged."""
    memory = MemoryManager(request.user)
    current = memory.read_long_term_memory()
    opened = request.POST.get("base", "")
    mine = request.POST.get("text", "").replace("\r\n", "\n")
    if len(mine) > MAX_TEXT:
        error = f"MEMORY.md can hold {MAX_TEXT:,} characters; this has {len(mine):,}. Nothing was saved."
        return render(request, "memory/file.html", whole(memory, text=mine, base=opened, error=error))
    if newline_of(current) == "\r\n":
        mine = mine.replace("\n", "\r\n")
    base = current if opened == revisions.digest(current) else revisions.text_of(request.user, opened)
    try:
        saved = memory.save_edit(base, mine)
    except StorageError as error:
        return render(request, "memory/file.html", whole(memory, text=mine, base=opened, error=str(error)))
    if not saved.ok:
        return render(
            request, "memory/conflict.html", conflict(memory.read_long_term_memory(), mine, saved.merge)
        )
    merged = saved.revision is not None and base != current
    messages.success(request, "Saved and merged with another change." if merged else "Memory saved.")
    return redirect(f"{reverse('memory:file')}?saved=1")


def conflict(theirs: str, mine: str, merged: Merge) -> dict[str, object]:
    """Both versions, what could be merged, and where they collide."""
    pieces = [(isinstance(piece, Conflict), piece) for piece in merged.pieces]
    return {
        "mine": mine,
        "theirs": theirs,
        "merged": merged.text,
        "conflicts": [piece for collides, piece in pieces if collides],
        "base": revisions.digest(theirs),
    }


@login_required
@require_POST
def entry(request: UserRequest) -> HttpResponse:
    """Edit, move or delete one entry, if it is still what the page showed."""
    memory = MemoryManager(request.user)
    try:
        change, reason = _change(request)
        revision = memory.change_long_term_memory(change, reason)
    except (entries.EntryChanged, StorageError, ValueError) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{reason}.", extra_tags=f"revision {revision.pk}" if revision else "")
    if not request.htmx:
        return redirect("memory:home")
    return render(request, "memory/_entries.html", page(memory, oob=True))


def _change(request: HttpRequest) -> tuple[Callable[[str], str], str]:
    position, key = number(request.POST.get("position", "0")), request.POST.get("key", "")
    if position is None:
        raise ValueError("That is no place in MEMORY.md. Reload the page and try again.")
    action, section = request.POST.get("action"), request.POST.get("section", "").strip()[:100]
    words = request.POST.get("words", "").replace("\r\n", "\n").strip()
    if action == "delete":
        return lambda text: entries.delete(text, position, key), "Deleted an entry"
    if action == "add" and words:
        return lambda text: edits.insert(text, section or "Notes", words), f"Added to {section or 'Notes'}"
    if action != "edit" or not words:
        raise ValueError("Write something to save, or delete the entry.")

    def edit_and_move(text: str) -> str:
        found = entries.find(text, position, key)
        edited = entries.edit(text, position, key, words)
        if not section or section.casefold() == found.section.casefold():
            return edited
        new = next((entry for entry in entries.entries_of(edited) if entry.start == found.start), None)
        if new is None:
            raise ValueError("This text is not an entry that can be moved.")
        return entries.move(edited, new.position, new.key, section)

    return edit_and_move, "Edited an entry"
