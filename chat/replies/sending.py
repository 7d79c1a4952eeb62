"""A message sent, and the run that answers it: both are stored before anything is asked of a model."""

import time
from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chat import memory
from chat.models import Message, Run, Session
from chat.replies import running, store, titles
from chat.replies.engine import engine
from chat.replies.store import Claimed, RunOutcome

LONGEST = 200_000
# Characters of a message that says no more than that something is to be kept off the record.
ONLY_A_REQUEST = 80
LOST = "The end of this reply could not be saved. What had arrived is kept."


class MessageRefused(Exception):
    """A message that can't be sent, and why, in a sentence for its writer."""


def clean(text: str) -> str:
    """The text as it will be stored, or the reason why not."""
    text = text.replace("\r\n", "\n").replace("\0", "")
    if not text.strip():
        raise MessageRefused("The message is empty: write something first.")
    if len(text) > LONGEST:
        raise MessageRefused(
            f"This message has {len(text):,} characters; at most {LONGEST:,} can be sent. "
            "Shorten it or send it in parts."
        )
    return text


def send(session: Session, text: str) -> Run:
    """Store the user's message, and the run that answers it, behind those that already wait."""
    text = clean(text)
    with transaction.atomic():
        if session._state.adding:
            session.title = titles.first_words(text)
            session.save(force_insert=True)
        message = Message.objects.create(
            session=session, type=Message.Type.USER, content=text, **record_of(session, text)
        )
        run = begin(session, message)
    if message.silenced_at and len(text) <= ONLY_A_REQUEST:
        # "Don't write this down", and nothing else, is about what was said before.
        earlier = session.messages.filter(type=Message.Type.USER, shelf=None, id__lt=message.id)
        if before := earlier.order_by("-id").first():
            memory.take_off_record(session.owner, before.id)
    return run


def record_of(session: Session, text: str) -> dict[str, Any]:
    """Whether a new message may become memory: not with memory off, nor where it asks to be left out."""
    if session.is_off_record:
        return {"off_record": True}
    silenced = memory.wants_silence(text)
    return {"off_record": silenced, "silenced_at": timezone.now() if silenced else None}


def begin(session: Session, message: Message, version_of: Message | None = None) -> Run:
    """Make a run with its still empty reply; it starts when the transaction around it is done."""
    run = Run.objects.create(session=session, prompt=message)
    Message.objects.create(
        session=session,
        type=Message.Type.AI_RESPONSE,
        run=run,
        version_of=version_of,
        # An answer to what was said off the record tells of it.
        off_record=session.is_off_record or message.off_record,
        silenced_at=message.silenced_at,
    )
    touch(session, message.content)
    transaction.on_commit(lambda: engine.start(session.id))
    return run


def touch(session: Session, text: str) -> None:
    """Move the chat to the top of the list."""
    session.active_at, session.preview = timezone.now(), " ".join(text[:400].split())[:160]
    Session.objects.filter(id=session.id).update(active_at=session.active_at, preview=session.preview)


def stop(session: Session) -> None:
    """Stop what is being said in a chat; what was said is kept, and a message that waits comes next.

    When nothing is being said yet, what waits is stopped.
    """
    runs = Run.objects.filter(session=session, status__in=Run.OPEN)
    _stop(runs.filter(status=Run.Status.RUNNING) or runs)


def stop_and_wait(session: Session, run_ids: Collection[UUID], seconds: float) -> None:
    """Stop these runs of a chat, and wait so long until what they said is stored."""
    _stop(Run.objects.filter(session=session, id__in=run_ids, status__in=Run.OPEN))
    ends = time.monotonic() + seconds
    while any(map(running.get, run_ids)) and time.monotonic() < ends:
        time.sleep(0.01)


def _stop(runs: Iterable[Run]) -> None:
    runs = list(runs)
    ids = [run.id for run in runs]
    Run.objects.filter(id__in=ids).update(stop_requested=True)
    # Those that never began end here; the engine ends the others.
    Run.objects.filter(id__in=ids, status=Run.Status.QUEUED).update(
        status=Run.Status.STOPPED, finished_at=timezone.now()
    )
    for run in runs:
        running.stop(run.id)
        if run.status == Run.Status.RUNNING and not engine.holds(run.id, run.session_id):
            _interrupt(run, LOST)
            engine.start(run.session_id)


def interrupt_open_runs() -> int:
    """At the start of the web process: no run can be going on, so those that are open were cut off."""
    cut_off = list(Run.objects.filter(status__in=Run.OPEN))
    for run in cut_off:
        _interrupt(run, store.INTERRUPTED)
    return len(cut_off)


def _interrupt(run: Run, why: str) -> None:
    """End a run that nobody works on, unless it has ended meanwhile."""
    first = Message.objects.filter(run=run, type=Message.Type.AI_RESPONSE).order_by("id").first()
    still = Run.objects.filter(id=run.id, status__in=Run.OPEN)
    with transaction.atomic():
        if still.update(status=Run.Status.INTERRUPTED) and first is not None:
            outcome = RunOutcome(Run.Status.INTERRUPTED, None, "interrupted", why)
            store.close(Claimed(run.id, run.session_id, first), outcome)
