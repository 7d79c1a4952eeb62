"""Branches: a new chat that begins with what another one said up to some message."""

from django.db import transaction
from django.http import Http404
from django.urls import reverse

from chat.attachments import uploads
from chat.models import Message, Run, Session
from chat.sessions import sessions, thread

# The note at the place where a branch leaves its origin; `tool_name` tells it from other notes.
NOTE = "branch"


def branch(origin: Session, message_id: int) -> Session:
    """A new chat with the page's rows up to a message, and to the end of its reply if it is one.

    They are copies and say so: memory knows them from the origin, and nobody paid for them twice.
    """
    rows = _until(origin, message_id)
    with transaction.atomic():
        made = Session.objects.create(
            owner=origin.owner,
            title=f"Branch of {origin}"[:200],
            title_by=Session.TitleBy.USER,
            preview=origin.preview,
            agent=origin.agent,
            model=origin.model,
            memory_mode=origin.memory_mode,
        )
        copies = _copy(rows, made)
        last = copies[rows[-1].id]
        until = copies.get(origin.summary_until_id or 0)
        Session.objects.filter(id=made.id).update(
            last_logged_message=last,
            preview=" ".join(rows[-1].content[:400].split())[:160],
            summary=origin.summary if until else "",
            summary_until=until,
        )
        note = sessions.note(made, f"Branched from {origin}")
        note.tool_name, note.tool_data = NOTE, {"chat": str(origin.id), "message": message_id}
        note.save(update_fields=["tool_name", "tool_data"])
    made.refresh_from_db()
    return made


def origin_of(note: Message) -> tuple[Session, str] | None:
    """The chat that a branch's note tells of, if it is still there, and the address of the message in it."""
    if not note.tool_data:
        return None
    chat, at = str(note.tool_data["chat"]), note.tool_data["message"]
    found = Session.objects.filter(id=chat, owner=note.session.owner, deleted_at=None).first()
    if found is None:
        return None
    return found, f"{reverse('chat:session', args=[found.id])}?at={at}#message-{at}"


def _until(origin: Session, message_id: int) -> list[Message]:
    """The rows to copy: notes of the app's own stay behind, and so does a reply that still grows."""
    said = thread.shown(origin).exclude(type=Message.Type.SYSTEM).exclude(run__status__in=Run.OPEN)
    rows = thread.in_order(said.select_related("run").prefetch_related("attachments"))
    wanted = next((row for row in rows if row.id == message_id), None)
    if wanted is None or origin.temporary:
        raise Http404("No such message on the page.")
    last = max(at for at, row in enumerate(rows) if row is wanted or (row.run_id and row.run == wanted.run))
    return rows[: last + 1]


def _copy(rows: list[Message], made: Session) -> dict[int, Message]:
    """Copies by the id of what they repeat, in the same order and with the runs that belong to them."""
    copies: dict[int, Message] = {}
    runs: dict[object, Run] = {}
    for row in rows:
        run = row.run
        if run is not None and run.id not in runs and run.prompt_id in copies:
            runs[run.id] = Run.objects.create(
                session=made,
                prompt=copies[run.prompt_id],
                model_id=run.model_id,
                status=run.status,
                error_code=run.error_code,
                error=run.error,
                created_at=run.created_at,
                started_at=run.started_at,
                finished_at=run.finished_at,
            )
        copies[row.id] = copy = Message.objects.create(
            session=made,
            run=runs.get(run.id) if run else None,
            copied_from=row.said_id,
            **{name: getattr(row, name) for name in COPIED},
        )
        uploads.copy(row, copy)
    return copies


COPIED = (
    *("type", "content", "created_at", "thinking", "thinking_ms", "tool_call_id", "tool_name", "tool_data"),
    *("error_code", "wire_state", "model_name", "untrusted", "off_record", "silenced_at"),
    *("input_tokens", "output_tokens", "receipt"),
)
