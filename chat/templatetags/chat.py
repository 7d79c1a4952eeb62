"""Tags and filters of the chat's pages: Markdown, notes, memory chips, and the small words of a list."""

import re
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django import template
from django.contrib.messages.storage.base import Message as Toast
from django.urls import NoReverseMatch, reverse
from django.utils import dateformat, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from chat.commands import commands, notes
from chat.drawn import facts, row
from chat.markdown import render
from chat.models import Message, Session
from chat.providers.local import manage
from chat.sessions import branches, thread
from chat.sessions.thread import Item, ShownCall
from memory.manager import MemoryManager, MemorySearchResult
from oneclaw.masking import MASK

register = template.Library()

STEPS = ((60, 60, "min"), (3600, 24, "h"), (86400, 7, "d"))
# Tags are passed over: what stands in an attribute is no text.
TAG_OR_MASK = re.compile(rf"(<[^>]*+(?:>|\Z))|{re.escape(MASK)}")
SPEAKERS = {"user": "You", "assistant": "Assistant", "pasted": "Pasted text", "played": "Role-play"}
SOURCES = {"daily_log": "Daily log", "long_term": "MEMORY.md", "transcript": "Deleted chat"}


@register.filter
def markdown(text: str) -> SafeString:
    """A reply's text as safe HTML."""
    return render(text)


@register.filter
def secrets_link(html: SafeString, url: str) -> SafeString:
    """A log's safe HTML with each `[secret]` leading to the chat that has it in full."""
    link = format_html('<a href="{}" title="Masked; the chat has it in full">{}</a>', url, MASK)
    return mark_safe(TAG_OR_MASK.sub(lambda found: found[1] or link, html))  # noqa: S308  (escaped)


@register.filter
def unmarked(text: str) -> str:
    """A preview without the marks of Markdown."""
    return re.sub(r"^[#>+-]+ |[*`]+|__|~~", "", text)


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
    return f"{local.day} {local:%b}" if local.year == timezone.localtime().year else f"{local:%b %Y}"


@register.simple_tag
def thinking_time(milliseconds: int | None, going_on: bool = False) -> str:
    """How long a model thought, or has been thinking."""
    return thread.thinking_time(milliseconds, going_on=going_on)


@register.filter
def thousands(number: int | str | None) -> str:
    """A count that can be read: 1,234,567. What is no number is left as it is, as in receipts of old."""
    return f"{number:,}" if isinstance(number, int) else str(number or "")


@register.filter
def day_words(stored: str | None, style: str = "j F Y") -> str:
    """A stored date as pages write dates: 28 February 2026. What is none is left as it is."""
    try:
        return dateformat.format(date.fromisoformat(stored or ""), style)
    except ValueError:
        return str(stored or "")


# Chats


@register.simple_tag(takes_context=True)
def chat_of(context: template.RequestContext, session_id: UUID | str) -> Session | None:
    """The reader's own chat; None for one that is deleted, somebody else's, or was never there."""
    try:
        wanted = UUID(str(session_id))
    except ValueError:
        return None
    owner = context["request"].user
    return Session.objects.filter(owner=owner, pk=wanted, deleted_at=None).first()


@register.simple_tag
def origin(note: Message) -> tuple[Session, str] | None:
    """The chat that a branch comes from, and where in it; None when it is gone."""
    return branches.origin_of(note)


@register.filter
def row_actions(chat: Session) -> list[tuple[str, str]]:
    """The actions of a chat's menu with their names."""
    return [
        ("unpin", "Unpin") if chat.pinned else ("pin", "Pin"),
        ("unarchive", "Unarchive") if chat.archived_at else ("archive", "Archive"),
        ("delete", "Delete"),
    ]


@register.filter
def undone_ids(toast: Toast) -> list[str]:
    """The chats that a toast about a deletion can bring back."""
    return (toast.extra_tags or "").split()[1:]


@register.simple_tag
def model_notice(session: Session | str | None = None) -> manage.Notice | None:
    """What to know of a model on this machine, where the chat uses one."""
    return manage.notice(session if isinstance(session, Session) else None)


# Rows that are drawn once

# What changes in a chat without a word of what was said in it looking any different.
OF_THE_LIST = frozenset(
    ("title", "title_by", "preview", "pinned", "archived_at", "active_at", "last_logged_message_id")
)


@register.simple_tag(takes_context=True)
def drawn_items(context: template.RequestContext, items: Iterable[Item], session: Session) -> SafeString:
    """Rows of a chat. One that is over, and asks nothing of anybody, is drawn once."""
    token, chat = str(context.get("csrf_token")), facts(session, OF_THE_LIST)
    html = list[str]()
    for item in items:
        calls = any(isinstance(part, ShownCall) for part in item.parts)
        if item.is_open or item.error or calls or item.kind == "system":
            html.append(_in_place(context, "chat/_item.html", item=item))
        else:
            values = {"item": item, "session": session}
            html.append(row("chat/_item.html", values, (chat, item), token))
    return mark_safe("".join(html))  # noqa: S308  (drawn by templates)


@register.simple_tag(takes_context=True)
def drawn_chats(context: template.RequestContext, chats: Iterable[Session]) -> SafeString:
    """Rows of the list of chats."""
    token, shown = str(context.get("csrf_token")), context.get("open_chat")
    html = list[str]()
    for chat in chats:
        is_open = shown == str(chat.id)
        values = {"chat": chat, "open_chat": shown if is_open else ""}
        known_by = is_open, ago(chat.active_at), chat
        html.append(row("chat/_session.html", values, known_by, token, tight=True))
    return mark_safe("".join(html))  # noqa: S308  (drawn by templates)


def _in_place(context: template.RequestContext, name: str, **values: object) -> str:
    """A template drawn where it stands, from all that the page has."""
    assert context.template
    with context.push(**values):
        return context.template.engine.get_template(name).render(context)


# Commands and their notes


@register.filter
def as_note(message: Message) -> notes.Note:
    return notes.of(message)


@register.simple_tag(name="commands")
def known_commands() -> tuple[commands.SlashCommand, ...]:
    return commands.COMMANDS


# Memory


@register.simple_tag(takes_context=True)
def undone(context: template.RequestContext, items: Iterable[Item]) -> set[int]:
    """The revisions that were undone, of all memory chips of these rows, in one query."""
    calls = [part for item in items for part in item.parts if isinstance(part, ShownCall)]
    left = [call.result.tool_data for call in calls if call.result and call.result.tool_data]
    shown = {data["revision"] for data in left if data.get("revision")}
    return MemoryManager(context["request"].user).undone(shown) if shown else set()


@register.filter
def memory_source(memory: dict[str, Any]) -> str:
    """Where a recalled piece of a receipt came from, in words: a chat's title, if it is still there."""
    return memory.get("title") or SOURCES.get(str(memory.get("source")), "Memory")


@register.filter
def result_place(hit: MemorySearchResult) -> str:
    """The address of a memory that was found."""
    return memory_place(
        {"source": hit.source_type, "date": hit.source_date, "key": hit.source_key, "anchor": hit.anchor}
    )


@register.filter
def memory_speaker(memory: dict[str, Any]) -> str:
    """Who said a recalled piece of a chat, to the reader."""
    return SPEAKERS.get(str(memory.get("speaker")), "")


@register.filter
def memory_place(memory: dict[str, Any]) -> str:
    """The address of a recalled piece: the chat's message, the day's log or the editor."""
    key, anchor = str(memory.get("key") or ""), memory.get("anchor")
    if memory.get("title") == "":
        return ""
    try:
        if key.startswith("chat:"):
            place = reverse("chat:session", args=[key.removeprefix("chat:")])
            return f"{place}?at={anchor}#message-{anchor}" if anchor else place
        if memory.get("source") == "daily_log" and memory.get("date"):
            return reverse("memory:day", args=[memory["date"]])
        return reverse("memory:home")
    except NoReverseMatch:
        return ""
