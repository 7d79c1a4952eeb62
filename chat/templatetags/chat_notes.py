"""Notes in templates: a message row as the note it holds, and the commands there are."""

from django import template

from chat import commands, notes
from chat.models import Message

register = template.Library()


@register.filter
def as_note(message: Message) -> notes.Note:
    return notes.of(message)


@register.simple_tag(name="commands")
def known() -> tuple[commands.Command, ...]:
    return commands.COMMANDS
