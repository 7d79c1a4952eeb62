"""Versions: a reply made again or a message edited sets what followed aside, and nothing is lost."""

from uuid import UUID

from django.db import transaction
from django.http import Http404

from chat import memory
from chat.attachments import uploads
from chat.models import AiModel, Message, Run, Session
from chat.replies import sending
from chat.sessions import sessions


def users_message(session: Session, message_id: int) -> Message:
    return _shown(session, message_id, Message.Type.USER)


def _shown(session: Session, message_id: int, kind: str) -> Message:
    found = Message.objects.filter(session=session, id=message_id, type=kind, shelf=None).first()
    if found is None:
        raise Http404("No such message on the page.")
    return found


def edit(session: Session, message: Message, text: str) -> Run:
    """Send a message again in other words."""
    text = sending.clean(text, wordless=message.attachments.exists())
    _stop(session, _open_runs(session))
    with transaction.atomic():
        sessions.hold(session.id)
        # Looked up again here and below: another request may have set it aside meanwhile.
        message = users_message(session, message.id)
        _set_aside(session, message)
        again = Message.objects.create(
            session=session,
            type=Message.Type.USER,
            content=text,
            **sending.record_of(session, text),
            version_of_id=message.version_of_id or message.id,
        )
        uploads.copy(message, again)
        run = sending.begin(session, again)
    sending.heed_silence(session, again)
    _tell_memory(session)
    return run


def regenerate(session: Session, message_id: int, model: AiModel | None = None) -> Run | None:
    """Make a reply again, by another model if one is named; the chat's own stays what it is.

    The reply is named by its first row. One that said nothing leaves no version.

    None when another request was quicker: the reply that it began goes on.
    """
    still_open = _open_runs(session)
    _shown(session, message_id, Message.Type.AI_RESPONSE)
    _stop(session, still_open)
    with transaction.atomic():
        sessions.hold(session.id)
        try:
            first = _shown(session, message_id, Message.Type.AI_RESPONSE)
        except Http404:
            return None
        old = first.run
        prompt = old.prompt if old else _prompt_before(session, first)
        run = sending.begin(session, prompt, version_of=set_aside(session, first), model=model)
    _tell_memory(session)
    return run


def set_aside(session: Session, message: Message) -> Message | None:
    """Take a message and all after it off the page for another version of it; returns their root.

    A reply that said nothing leaves no version.
    """
    _set_aside(session, message)
    is_reply = message.type == Message.Type.AI_RESPONSE
    if is_reply and message.run is not None and _said_nothing(message.run):
        Message.objects.filter(run=message.run).delete()
        return message.version_of
    return message.version_of or message


def _tell_memory(session: Session) -> None:
    if not session.temporary:
        memory.changed(session.owner, session.id)


def _prompt_before(session: Session, reply: Message) -> Message:
    rows = Message.objects.filter(session=session, shelf=None, type=Message.Type.USER, id__lt=reply.id)
    found = rows.order_by("-id").first()
    if found is None:
        raise Http404("Nothing was asked here.")
    return found


def _said_nothing(run: Run) -> bool:
    kept = Message.objects.filter(run=run).exclude(type=Message.Type.ERROR)
    return not kept.exclude(type=Message.Type.AI_RESPONSE, content="").exists()


def _open_runs(session: Session) -> list[UUID]:
    """What is being said now. What another request begins meanwhile is not this one's to stop."""
    return list(Run.objects.filter(session=session, status__in=Run.OPEN).values_list("id", flat=True))


def _stop(session: Session, run_ids: list[UUID]) -> None:
    """Stop these runs first: their rows must not be set aside while they grow."""
    sending.stop_and_wait(session, run_ids, seconds=5.0)


def _set_aside(session: Session, message: Message) -> None:
    """Take a message and all after it off the page, to come back together.

    A reply that began before the message stays whole: its later rows may be newer than the message.
    """
    begun = Run.objects.filter(session=session, messages__id__lt=message.id)
    earlier = begun.exclude(id=message.run_id) if message.run_id else begun
    rows = Message.objects.filter(session=session, shelf=None, id__gte=message.id)
    rows.exclude(run__in=earlier).update(shelf=message)
    _drop_summary(session, message.id)


def _drop_summary(session: Session, message_id: int) -> None:
    """A summary that tells of messages no longer on the page goes with them."""
    Session.objects.filter(id=session.id, summary_until_id__gte=message_id).update(
        summary="", summary_until=None
    )


def switch(session: Session, message_id: int) -> None:
    """Bring another version back to the page, with what followed it; the shown one is set aside."""
    still_open = _open_runs(session)
    if _turn(session, message_id) is None:
        return
    _stop(session, still_open)
    with transaction.atomic():
        sessions.hold(session.id)
        turn = _turn(session, message_id)
        if turn is None:
            return
        wanted, shown = turn
        _set_aside(session, shown)
        Message.objects.filter(session=session, shelf=wanted).update(shelf=None)
    _tell_memory(session)


def _turn(session: Session, message_id: int) -> tuple[Message, Message] | None:
    """The version wanted and the one on the page instead; None when it is on the page itself."""
    wanted = Message.objects.filter(session=session, id=message_id).first()
    if wanted is None:
        raise Http404("No such version.")
    if wanted.shelf_id is None:
        return None
    root = wanted.version_of_id or wanted.id
    group = Message.objects.filter(session=session, shelf=None)
    shown = group.filter(version_of_id=root).first() or group.filter(id=root).first()
    if shown is None or wanted.shelf_id != wanted.id:
        raise Http404("No such version on this page.")
    return wanted, shown
