"""The `undone` tag: which of the memory chips on a page were taken back."""

from collections.abc import Iterable

from django import template

from chat.page import Call, Item
from memory.manager import MemoryManager

register = template.Library()


@register.simple_tag(takes_context=True)
def undone(context: template.RequestContext, items: Iterable[Item]) -> set[int]:
    """The revisions that were undone, of all chips of these rows, in one query."""
    calls = [part for item in items for part in item.parts if isinstance(part, Call)]
    left = [call.result.tool_data for call in calls if call.result and call.result.tool_data]
    shown = {data["revision"] for data in left if data.get("revision")}
    return MemoryManager(context["request"].user).undone(shown) if shown else set()
