"""A chat as a file: Markdown to read, JSON to keep, and a zip of both with the files that were attached."""

import io
import json
import zipfile
from pathlib import PurePosixPath
from typing import Any

from django.utils import timezone
from django.utils.text import slugify

from chat.attachments import framing, storage
from chat.models import Attachment, Message, Session
from chat.sessions import thread

SPEAKER = {Message.Type.USER: "You", Message.Type.AI_RESPONSE: "Assistant"}


def file_name(session: Session) -> str:
    """Safe in a header and on any disk."""
    return slugify(session.title)[:60] or f"chat-{session.created_at:%Y-%m-%d}"


def as_markdown(session: Session) -> str:
    """The conversation as it is on the page, with tool calls in short."""
    zone = session.owner.zone
    attached = by_message(session)
    parts = [f"# {session}", f"*{session.created_at.astimezone(zone):%Y-%m-%d %H:%M}*"]
    for message in thread.in_order(thread.shown(session).defer("receipt", "thinking")):
        when = f"{message.created_at.astimezone(zone):%Y-%m-%d %H:%M}"
        if message.type in SPEAKER:
            files = [f"> Attached: {framing.described(each)}" for each in attached.get(message.id, ())]
            if said := "\n\n".join([*files, *filter(None, [message.content])]):
                parts.append(f"## {SPEAKER[Message.Type(message.type)]} · {when}\n\n{said}")
        elif message.type == Message.Type.TOOL_CALL:
            arguments = json.dumps(message.tool_data, ensure_ascii=False)
            parts.append(f"> Tool `{message.tool_name}` was called with `{arguments}`")
        elif message.type != Message.Type.TOOL_RESULT:
            parts.append(f"> {message.get_type_display()}: {message.content}")
    return "\n\n".join(parts) + "\n"


def as_json(session: Session) -> str:
    """Everything that was said, on the page and in other versions, with what a program may want."""
    rows = Message.objects.filter(session=session).order_by("id")
    attached = by_message(session)
    whole = {
        "format": "oneclaw-chat",
        "version": 1,
        "exported_at": timezone.now().isoformat(),
        "id": str(session.id),
        "title": session.title,
        "agent": session.agent.name if session.agent else None,
        "memory_mode": session.memory_mode,
        "created_at": session.created_at.isoformat(),
        "messages": [_row(message, attached.get(message.id, [])) for message in rows.iterator(500)],
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def as_zip(session: Session) -> bytes:
    """Both forms, and every file once, under the name that the JSON has for it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.md", as_markdown(session))
        archive.writestr("chat.json", as_json(session))
        written = set[str]()
        for files in by_message(session).values():
            for each in files:
                data = storage.read(each.owner_id, each.sha256)
                if data is not None and place(each) not in written:
                    written.add(place(each))
                    archive.writestr(place(each), data)
    return out.getvalue()


def by_message(session: Session) -> dict[int, list[Attachment]]:
    found: dict[int, list[Attachment]] = {}
    rows = Attachment.objects.filter(session=session, message__isnull=False).defer("text")
    for each in rows.order_by("message_id", "position"):
        found.setdefault(each.message_id or 0, []).append(each)
    return found


def place(attachment: Attachment) -> str:
    """Where a file is in the zip: by its content, with an ending that programs know it by."""
    ending = PurePosixPath(attachment.name).suffix.lower()
    if attachment.is_image:
        ending = ".png" if attachment.media_type == "image/png" else ".jpg"
    safe = ending if ending[1:].isalnum() and ending.isascii() and len(ending) <= 10 else ""
    return f"files/{attachment.sha256[:16]}{safe}"


def _file(attachment: Attachment) -> dict[str, Any]:
    row = {
        "name": attachment.name,
        "kind": attachment.kind,
        "media_type": attachment.media_type,
        "size": attachment.size,
        "sha256": attachment.sha256,
        "pages": attachment.pages,
        "file": place(attachment),
    }
    return {key: value for key, value in row.items() if value is not None}


def _row(message: Message, files: list[Attachment]) -> dict[str, Any]:
    row = {
        "id": message.id,
        "type": message.type,
        "content": message.content,
        "created_at": message.created_at.isoformat(),
        "thinking": message.thinking,
        "thinking_ms": message.thinking_ms,
        "tool_call_id": message.tool_call_id,
        "tool_name": message.tool_name,
        "tool_data": message.tool_data,
        "error_code": message.error_code,
        "model": message.model_name,
        "input_tokens": message.input_tokens,
        "output_tokens": message.output_tokens,
        "version_of": message.version_of_id,
        "copied_from": message.copied_from,
        "on_page": message.shelf_id is None,
        "attachments": [_file(each) for each in files] or None,
    }
    return {key: value for key, value in row.items() if value not in ("", None)}
