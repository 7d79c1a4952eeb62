"""A chat as a file: Markdown to read, JSON to keep."""

import json
from typing import Any

from django.utils import timezone
from django.utils.text import slugify

from chat.models import Message, Session
from chat.sessions import thread

SPEAKER = {Message.Type.USER: "You", Message.Type.AI_RESPONSE: "Assistant"}


def file_name(session: Session) -> str:
    """Safe in a header and on any disk."""
    return slugify(session.title)[:60] or f"chat-{session.created_at:%Y-%m-%d}"


def as_markdown(session: Session) -> str:
    """The conversation as it is on the page, with tool calls in short."""
    zone = session.owner.zone
    parts = [f"# {session}", f"*{session.created_at.astimezone(zone):%Y-%m-%d %H:%M}*"]
    for message in thread.in_order(thread.shown(session).defer("receipt", "thinking")):
        when = f"{message.created_at.astimezone(zone):%Y-%m-%d %H:%M}"
        if message.type in SPEAKER:
            if message.content:
                parts.append(f"## {SPEAKER[Message.Type(message.type)]} · {when}\n\n{message.content}")
        elif message.type == Message.Type.TOOL_CALL:
            arguments = json.dumps(message.tool_data, ensure_ascii=False)
            parts.append(f"> Tool `{message.tool_name}` was called with `{arguments}`")
        elif message.type != Message.Type.TOOL_RESULT:
            parts.append(f"> {message.get_type_display()}: {message.content}")
    return "\n\n".join(parts) + "\n"


def as_json(session: Session) -> str:
    """Everything that was said, on the page and in other versions, with what a program may want."""
    rows = Message.objects.filter(session=session).order_by("id")
    whole = {
        "format": "oneclaw-chat",
        "version": 1,
        "exported_at": timezone.now().isoformat(),
        "id": str(session.id),
        "title": session.title,
        "agent": session.agent.name if session.agent else None,
        "memory_mode": session.memory_mode,
        "created_at": session.created_at.isoformat(),
        "messages": [_row(message) for message in rows.iterator(500)],
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _row(message: Message) -> dict[str, Any]:
    row = {
        "id": message.id,
        "type": message.type,
        "content": message.content,
        "created_at": message.created_at.isoformat(),
        "thinking": message.thinking,
        "tool_call_id": message.tool_call_id,
        "tool_name": message.tool_name,
        "tool_data": message.tool_data,
        "error_code": message.error_code,
        "model": message.model_name,
        "input_tokens": message.input_tokens,
        "output_tokens": message.output_tokens,
        "version_of": message.version_of_id,
        "on_page": message.shelf_id is None,
    }
    return {key: value for key, value in row.items() if value not in ("", None)}
