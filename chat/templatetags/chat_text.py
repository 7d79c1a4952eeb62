"""Small words of the chat's pages: how long ago, what can be done to a chat, where a memory came from."""

import re
from datetime import datetime
from typing import Any

from django import template
from django.contrib.messages.storage.base import Message as Notice
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from chat.models import Session

register = template.Library()

STEPS = ((60, 60, "min"), (3600, 24, "h"), (86400, 7, "d"))


@register.filter
def ago(moment: datetime) -> str:
    """How long ago, short enough for a list: now, 5 min, 3 h, 2 d, then the date."""
    seconds = max(0, int((timezone.now() - moment).total_seconds()))
    if seconds < 60:
        return "now"
    for size, limit, unit in STEPS:
        if seconds < size * limit:
            return f"{seconds // size} {unit}"
    local = timezone.localtime(moment)
    return f"{local:%b} {local.day}" if local.year == timezone.localtime().year else f"{local:%b %Y}"


@register.filter
def row_actions(chat: Session) -> list[tuple[str, str]]:
    """The actions of a chat's menu with their names."""
    return [
        ("unpin", "Unpin") if chat.pinned else ("pin", "Pin"),
        ("unarchive", "Bring back") if chat.archived_at else ("archive", "Archive"),
        ("delete", "Delete"),
    ]


SOURCES = {"daily_log": "Daily log", "long_term": "MEMORY.md", "transcript": "Past chat"}


@register.filter
def memory_source(memory: dict[str, Any]) -> str:
    """Where a recalled piece of a receipt came from, in words."""
    return SOURCES.get(str(memory.get("source")), "Memory")


@register.filter
def memory_place(memory: dict[str, Any]) -> str:
    """The address of a recalled piece: the chat's message, the day's log or the editor."""
    key, anchor = str(memory.get("key") or ""), memory.get("anchor")
    try:
        if key.startswith("chat:"):
            place = reverse("chat:session", args=[key.removeprefix("chat:")])
            return f"{place}?at={anchor}#message-{anchor}" if anchor else place
        if memory.get("source") == "daily_log" and memory.get("date"):
            return reverse("memory:day", args=[memory["date"]])
        return reverse("memory:home")
    except NoReverseMatch:
        return ""


@register.filter
def undone_ids(notice: Notice) -> list[str]:
    """The chats that a toast about a deletion can bring back."""
    return (notice.extra_tags or "").split()[1:]


@register.filter
def unmarked(text: str) -> str:
    """A preview without the marks of Markdown."""
    return re.sub(r"^[#>+-]+ |[*`]+|__|~~", "", text)
