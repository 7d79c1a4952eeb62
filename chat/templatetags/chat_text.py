"""Small words of the chat's pages: how long ago, and what can be done to a chat."""

from datetime import datetime

from django import template
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
