"""A message sent, and the run that answers it: both are stored before anything is asked of a model."""

import time
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from chat import memory
from chat.attachments import uploads
from chat.attachments.kinds import FileRefused
from chat.models import AiModel, Attachment, Message, Run, Session
from chat.replies import elsewhere, running, store, titles
from chat.replies.engine import engine
from chat.replies.store import Claimed, RunOutcome
from oneclaw.models import Process
from oneclaw.postgres import is_postgres
from oneclaw.server import presence
from oneclaw.server.presence import Roll

LONGEST = 200_000
# Characters of a message that says no more than that something is to be kept off the record.
ONLY_A_REQUEST = 80
BLIND = "{model} can't see pictures. Choose another model, or remove the picture."
# A reply that waited for so long, in a chat where nothing is said, waits for a process that is gone.
PATIENCE = timedelta(seconds=5)
LOST = "The end of this reply could not be saved. What had arrived is kept."


class MessageRefused(Exception):
    """A message that can't be sent, and why, in a sentence for its writer."""


def clean(text: str, *, wordless: bool = False) -> str:
    """The text as it will be stored, or the reason why not; with a file it may be empty."""
    text = text.replace("\r\n", "\n").replace("\0", "")
    if not text.strip():
        if wordless:
            return ""
        raise MessageRefused("The message is empty: write something first.")
    if len(text) > LONGEST:
        raise MessageRefused(
            f"This message has {len(text):,} characters; at most {LONGEST:,} can be sent. "
            "Shorten it or send it in parts."
        )
    return text


def send(session: Session, text: str, attachments: Sequence[Attachment] = ()) -> Run:
    """Store the user's message, and the run that answers it, behind those that already wait."""
    text = clean(text, wordless=bool(attachments))
    refuse_unseen(session, attachments)
    with transaction.atomic():
        if session._state.adding:
            session.title = session.title or titles.first_words(text or named(attachments))
            session.save(force_insert=True)
        message = Message.objects.create(
            session=session, type=Message.Type.USER, content=text, **record_of(session, text)
        )
        try:
            uploads.attach(message, attachments)
        except FileRefused as refusal:
            raise MessageRefused(str(refusal)) from None
        run = begin(session, message)
    heed_silence(session, message)
    return run


def heed_silence(session: Session, message: Message) -> None:
    """ "Don't write this down", and nothing else, is about what was said before. Not in a transaction."""
    if not message.silenced_at or len(message.content) > ONLY_A_REQUEST:
        return
    earlier = session.messages.filter(type=Message.Type.USER, shelf=None, id__lt=message.id)
    if before := earlier.order_by("-id").first():
        memory.take_off_record(session.owner, before.id)


def refuse_unseen(session: Session, attachments: Sequence[Attachment]) -> None:
    """Say before anything is sent that a model can't see what it would be shown."""
    if not any(each.is_image for each in attachments):
        return
    model = session.resolve_model()
    if model and not model.supports_images:
        raise MessageRefused(BLIND.format(model=model))


def named(attachments: Iterable[Attachment]) -> str:
    return ", ".join(each.name for each in attachments)


def record_of(session: Session, text: str) -> dict[str, Any]:
    """Whether a new message may become memory: not with memory off, nor where it asks to be left out."""
    if session.is_off_record:
        return {"off_record": True}
    silenced = memory.wants_silence(text)
    return {"off_record": silenced, "silenced_at": timezone.now() if silenced else None}


def begin(
    session: Session, message: Message, version_of: Message | None = None, model: AiModel | None = None
) -> Run:
    """Make a run with its still empty reply; it starts when the transaction around it is done."""
    run = Run.objects.create(session=session, prompt=message, model=model)
    Message.objects.create(
        session=session,
        type=Message.Type.AI_RESPONSE,
        run=run,
        version_of=version_of,
        # An answer to what was said off the record tells of it.
        off_record=session.is_off_record or message.off_record,
        silenced_at=message.silenced_at,
    )
    touch(session, message.content or named(message.attachments.all()))
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
    others = Run.objects.filter(id__in=run_ids, status=Run.Status.RUNNING).exclude(holder="")
    while others.exclude(holder=presence.me()).exists() and time.monotonic() < ends:
        time.sleep(0.05)


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
        if run.status != Run.Status.RUNNING:
            continue
        if is_others(run):
            elsewhere.tell_stop(run.id)
        elif not engine.holds(run.id, run.session_id):
            _interrupt(run, LOST)
            engine.start(run.session_id)


def is_others(run: Run) -> bool:
    """Whether another process makes this reply, and is not known to be dead."""
    return bool(is_postgres() and run.holder and run.holder != presence.me()) and not presence.is_dead(
        run.holder
    )


def interrupt_open_runs() -> int:
    """At the start of a web process: runs that are open and nobody's were cut off.

    While no other process serves pages, that is all of them.
    """
    cut_off = Run.objects.filter(status__in=Run.OPEN)
    if is_postgres():
        roll = presence.call_roll()
        others = set(roll.of(Process.Kind.WEB)) - {presence.me()}
        cut_off = orphaned(roll) if others else cut_off.exclude(holder__in=[presence.me(), *others])
    found = list(cut_off)
    for run in found:
        _interrupt(run, store.INTERRUPTED)
    return len(found)


def orphaned(roll: Roll) -> QuerySet[Run]:
    """Runs that were being made by processes which are dead, or not known any more."""
    known = {presence.me()} | (set(roll.kinds) - roll.dead)
    return Run.objects.filter(status=Run.Status.RUNNING).exclude(holder__in=known)


def tend(roll: Roll) -> None:
    """Where several processes make replies: mark those of the dead, and take up what waits for nobody."""
    for run in orphaned(roll):
        _interrupt(run, store.CUT_BY_DEATH)
    waiting = Run.objects.filter(status=Run.Status.QUEUED, created_at__lt=timezone.now() - PATIENCE)
    talking = Run.objects.filter(session=OuterRef("session"), status=Run.Status.RUNNING)
    for session_id in set(waiting.exclude(Exists(talking)).values_list("session_id", flat=True)):
        engine.start(session_id)


def _interrupt(run: Run, why: str) -> None:
    """End a run that nobody works on, unless it has ended meanwhile."""
    first = Message.objects.filter(run=run, type=Message.Type.AI_RESPONSE).order_by("id").first()
    if first is None:
        Run.objects.filter(id=run.id, status__in=Run.OPEN).update(status=Run.Status.INTERRUPTED)
        return
    outcome = RunOutcome(Run.Status.INTERRUPTED, None, "interrupted", why)
    store.close(Claimed(run.id, run.session_id, first), outcome)
