"""Chats held by other programs: known again by how they begin or by their newest messages, and only what is
new is kept.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any, TypeAlias
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chat.adapters import ChatTurn, Picture, ToolAnswer
from chat.adapters.events import ToolCall, Usage
from chat.attachments import uploads
from chat.attachments.kinds import FileRefused
from chat.models import AiModel, Attachment, Message, Run, Session
from chat.replies import history, sending, store, titles, versions
from chat.replies.store import Claimed
from chat.sessions import sessions, thread
from connect.models import KnownMessage
from connect.tokens import keys
from connect.tokens.keys import Caller
from connect.v1.asking import Asked
from oneclaw.outside import plain, plain_text
from oneclaw.server import presence

# Digests looked for at once, from the newest message back.
MOST_DIGESTS = 400
# Messages looked at for pairs: short ones such as "Thanks" may be in many chats.
MOST_PAIRS = 500
# Pairs in a row that are enough to know a chat by, where what comes before them is not known.
ENOUGH_PAIRS = 3
# The same first words again, so soon and with nothing said since, want the first reply made again.
AGAIN = timedelta(minutes=10)
# The files of a turn, or why there is none, by the turn's number.
Pictures: TypeAlias = Mapping[int, Sequence[Attachment | str]]
NOT_KEPT = "[An image that was not kept: {why}]"


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a reply goes: its chat, its run with an empty row, and the digest of all that it answers."""

    session: Session
    run: Claimed
    digest: str
    # The turn that it answers.
    last: ChatTurn


@dataclass(slots=True)
class Place:
    """Where in a chat the known part of a conversation ends."""

    session: Session
    message: Message | None
    # How many of the turns are known, and the digest of all up to there.
    known: int
    digest: str = ""


def chained(turns: Sequence[ChatTurn], before: str = "") -> Iterator[str]:
    """A digest for each turn, of it and all before it."""
    for turn in turns:
        before = after(before, turn)
        yield before


def after(before: str, turn: ChatTurn) -> str:
    """The chain, one turn longer. Spaces don't count: clients trim what they send back."""
    parts = [before, turn.role, " ".join(turn.text.split())]
    if not turn.text.strip():
        # Words are enough to know a turn by: many clients send a picture once and leave it out later.
        parts += [hashlib.sha256(picture.data).hexdigest() for picture in turn.pictures]
    parts += [call.id for call in turn.tool_calls]
    for result in turn.tool_results:
        parts += [result.call_id, " ".join(result.content.split())]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def paired(before: ChatTurn, turn: ChatTurn) -> str:
    """The digest of two neighbours alone."""
    return after(after("pair", before), turn)


def pictures(caller: Caller, asked: Asked) -> Pictures:
    """The pictures of turns that are not known yet, read and kept as files. Takes time, writes no row."""
    if not any(turn.pictures for turn in asked.turns):
        return {}
    place = _place(caller, asked)
    new = range(place.known if place else 0, len(asked.turns))
    return {at: [_file(caller, each) for each in asked.turns[at].pictures] for at in new}


def _file(caller: Caller, picture: Picture) -> Attachment | str:
    name = f"image.{picture.media_type.rpartition('/')[2].replace('jpeg', 'jpg')}"
    try:
        return uploads.kept(caller.user, name, [picture.data])
    except FileRefused as refused:
        return NOT_KEPT.format(why=refused)


def keep(caller: Caller, asked: Asked, model: AiModel, files: Pictures) -> Kept:
    """Store what is new, and begin the reply to it. 404 if the chat that is asked for is not the caller's.

    Nothing is stored if the token is revoked meanwhile.
    """
    turns = asked.turns
    with keys.while_valid(caller):
        place = _place(caller, asked) or _new(caller, turns, model)
        root = _make_room(place, turns)
        rows, digest = _Rows(place), place.digest
        for at in range(place.known, len(turns)):
            digest = after(digest, turns[at])
            message = rows.say(turns[at], files.get(at, ()), version_of=root)
            root = None
            pair = paired(turns[at - 1], turns[at]) if at else ""
            KnownMessage.objects.create(owner=caller.user, message=message, digest=digest, pair=pair)
        kept = Kept(place.session, _begin(place.session, root), digest, turns[-1])
    for message in rows.asked:
        sending.heed_silence(place.session, message)
    return kept


def known(caller: Caller, asked: Asked) -> Session | None:
    """The chat that a request is about, where nothing of it is kept. 404 if it is not the caller's."""
    if asked.chat is not None:
        return sessions.owned(caller.user, asked.chat)
    place = _place(caller, asked)
    return place.session if place else None


def _place(caller: Caller, asked: Asked) -> Place | None:
    """The chat that this goes on with, if there is one."""
    digests = list(chained(asked.turns))
    if asked.chat is not None:
        return _named(caller, asked, digests)
    places = (_by_start(caller, asked, digests), _by_window(caller, asked))
    return max((place for place in places if place), key=lambda place: place.known, default=None)


def _named(caller: Caller, asked: Asked, digests: list[str]) -> Place:
    """Where the chat goes on that the request names."""
    assert asked.chat is not None
    session = sessions.owned(caller.user, asked.chat)
    known = dict(_digests_of(session)) | _known(caller, digests, session)
    at = max((number for number, digest in enumerate(digests) if digest in known), default=None)
    if at is not None:
        return Place(session, known[digests[at]], at + 1, digests[at])
    # Said with another history than the chat's: what follows the last reply is new in any case.
    replies = [number for number, turn in enumerate(asked.turns) if turn.role == "assistant"]
    new = replies[-1] + 1 if replies else 0
    return Place(session, None, new, digests[new - 1] if new else "")


def _by_start(caller: Caller, asked: Asked, digests: list[str]) -> Place | None:
    """The chat that begins as the conversation does."""
    found = _known(caller, digests)
    at = max((number for number, digest in enumerate(digests) if digest in found), default=None)
    if at is None:
        return None
    message = found[digests[at]]
    is_answered = any(turn.role == "assistant" for turn in asked.turns[: at + 1])
    is_again = at + 1 == len(digests) and _is_asked_again(caller, message)
    if not is_answered and _was_answered(message) and not is_again:
        # Many chats begin with the same words: without a reply to them nothing says that it is this one.
        return None
    return Place(sessions.owned(caller.user, message.session_id), message, at + 1, digests[at])


def _by_window(caller: Caller, asked: Asked) -> Place | None:
    """The chat whose newest messages the conversation begins with: many clients leave out the older ones.

    Either all that comes before what is new is known, pair by pair, or enough of it.
    """
    turns = asked.turns
    pairs = ["", *(paired(before, turn) for before, turn in pairwise(turns))]
    rows = KnownMessage.objects.filter(
        owner=caller.user,
        pair__in=pairs[1:][-MOST_DIGESTS:],
        message__shelf=None,
        message__session__deleted_at=None,
    ).exclude(pair="")
    chats = dict[UUID, dict[str, KnownMessage]]()
    for row in rows.select_related("message").order_by("-message_id")[:MOST_PAIRS]:
        chats.setdefault(row.message.session_id, {}).setdefault(row.pair, row)
    best, score = None, (0, 0)
    for known in chats.values():
        end = begin = max(at for at, pair in enumerate(pairs) if pair in known)
        while pairs[begin - 1] in known:
            begin -= 1
        message = known[pairs[end]].message
        is_whole = begin == 1 and (end > 1 or not _was_answered(message))
        if not (is_whole or end - begin + 1 >= ENOUGH_PAIRS):
            continue
        if not any(turn.role == "assistant" for turn in turns[begin - 1 : end + 1]):
            continue
        if (end, end - begin) > score:
            best, score = known[pairs[end]], (end, end - begin)
    if best is None:
        return None
    session = sessions.owned(caller.user, best.message.session_id)
    return Place(session, best.message, score[0] + 1, best.digest)


def _known(caller: Caller, digests: list[str], session: Session | None = None) -> dict[str, Message]:
    """Messages on the page by these digests; of several chats with the same start, the newest."""
    rows = KnownMessage.objects.filter(
        owner=caller.user,
        digest__in=digests[-MOST_DIGESTS:],
        message__shelf=None,
        message__session__deleted_at=None,
    )
    if session is not None:
        rows = rows.filter(message__session=session)
    return {row.digest: row.message for row in rows.select_related("message__run").order_by("message_id")}


def _digests_of(session: Session) -> Iterator[tuple[str, Message]]:
    """The digests of a chat that was held on a page."""
    rows = thread.in_order(thread.shown(session).filter(type__in=history.TYPES))
    before = ""
    for at, row in enumerate(rows):
        if row.type == Message.Type.TOOL_CALL:
            continue
        calls = []
        if row.type == Message.Type.AI_RESPONSE:
            for following in rows[at + 1 :]:
                if following.type != Message.Type.TOOL_CALL:
                    break
                calls.append(following)
        turn = history.turns([row, *calls])[0]
        if turn.text or turn.tool_calls or turn.tool_results:
            before = after(before, turn)
            yield before, row


def _was_answered(message: Message) -> bool:
    """Whether something was said after a message: a try that failed leaves nothing."""
    later = thread.shown(message.session).filter(id__gt=message.id)
    return (
        later.exclude(type=Message.Type.ERROR).exclude(content="").exists()
        or Run.objects.filter(session_id=message.session_id, status__in=Run.OPEN).exists()
    )


def _is_asked_again(caller: Caller, message: Message) -> bool:
    """Whether the same program wants another first reply: its words came just now, and no others since."""
    session = message.session
    return (
        session.via == caller.name
        and session.active_at > timezone.now() - AGAIN
        and not thread.shown(session).filter(type=Message.Type.USER, id__gt=message.id).exists()
        and not Run.objects.filter(session=session, status__in=Run.OPEN).exists()
    )


def _new(caller: Caller, turns: Sequence[ChatTurn], model: AiModel) -> Place:
    first = next((turn for turn in turns if turn.role == "user"), ChatTurn("user"))
    title = titles.first_words(first.text or ("Image" if first.pictures else ""))
    session = Session.objects.create(owner=caller.user, title=title, model=model, via=caller.name)
    return Place(session, None, 0)


def _make_room(place: Place, turns: Sequence[ChatTurn]) -> Message | None:
    """Set aside what follows the known part; the root of the versions that what comes now is one of."""
    if place.message is None:
        return None
    rows = thread.shown(place.session).filter(id__gt=place.message.id)
    if place.message.run_id:
        rows = rows.exclude(run_id=place.message.run_id)
    following = rows.filter(type__in=history.TYPES).select_related("run", "version_of").first()
    coming = turns[place.known].role if place.known < len(turns) else "assistant"
    kinds = {"user": Message.Type.USER, "assistant": Message.Type.AI_RESPONSE}
    if following is None or following.type != kinds.get(coming):
        return None
    return versions.set_aside(place.session, following)


class _Rows:
    """A conversation on its way into a chat, turn by turn."""

    def __init__(self, place: Place) -> None:
        self.session = place.session
        # What its user says that is new here.
        self.asked: list[Message] = []
        before = thread.shown(place.session).filter(type=Message.Type.USER)
        self.last = before.filter(id__lte=place.message.id).last() if place.message else None

    def say(self, turn: ChatTurn, files: Sequence[Attachment | str], version_of: Message | None) -> Message:
        """One turn as a row, or the rows of a reply with its calls; returns the row that stands for it."""
        if turn.role == "user":
            self.last = _ask(self.session, turn, files, version_of)
            self.asked.append(self.last)
            return self.last
        if turn.role == "tool":
            return self._result(turn.tool_results[0])
        # Nobody here has seen who said it: a client may send what it likes as a model's words.
        said = Message.objects.create(
            session=self.session,
            type=Message.Type.AI_RESPONSE,
            content=turn.text,
            untrusted=True,
            version_of=version_of,
            **_record_after(self.session, self.last),
        )
        for each in turn.tool_calls:
            _call(said, each)
        return said

    def _result(self, result: ToolAnswer) -> Message:
        calls = self.session.messages.filter(type=Message.Type.TOOL_CALL, tool_call_id=result.call_id)
        call = calls.last()
        return Message.objects.create(
            session=self.session,
            type=Message.Type.TOOL_RESULT,
            run_id=call.run_id if call else None,
            tool_call_id=result.call_id,
            tool_name=result.name,
            content=result.content,
            off_record=call.off_record if call else _record_after(self.session, self.last)["off_record"],
        )


def _ask(
    session: Session, turn: ChatTurn, files: Sequence[Attachment | str], version_of: Message | None
) -> Message:
    shown = "\n\n".join(filter(None, [turn.text, *(each for each in files if isinstance(each, str))]))
    message = Message.objects.create(
        session=session,
        type=Message.Type.USER,
        content=shown,
        version_of=version_of,
        **sending.record_of(session, shown),
    )
    rows = [each for each in files if isinstance(each, Attachment)]
    for position, row in enumerate(rows):
        row.session, row.message, row.position = session, message, position
        row.save(force_insert=True)
    return message


def _record_after(session: Session, asked: Message | None) -> dict[str, Any]:
    """Whether a reply may become memory: one to what was said off the record tells of it."""
    silent = asked is not None and asked.off_record
    return {
        "off_record": session.is_off_record or silent,
        "silenced_at": asked.silenced_at if asked else None,
    }


def _call(said: Message, call: ToolCall, wire_state: dict[str, Any] | None = None) -> None:
    Message.objects.create(
        session_id=said.session_id,
        type=Message.Type.TOOL_CALL,
        run_id=said.run_id,
        tool_call_id=plain_text(call.id)[:200],
        tool_name=plain_text(call.name)[:100],
        tool_data=plain(call.arguments),
        content=plain_text(call.problem),
        wire_state=plain(wire_state),
        off_record=said.off_record,
    )


def _begin(session: Session, version_of: Message | None) -> Claimed:
    """A run that is already going on, with its empty reply: the engine leaves it alone."""
    asked = thread.shown(session).filter(type=Message.Type.USER).last()
    if asked is None:
        asked = Message.objects.create(session=session, type=Message.Type.USER, content="")
    run = Run.objects.create(
        session=session,
        prompt=asked,
        status=Run.Status.RUNNING,
        started_at=timezone.now(),
        holder=presence.me(),
    )
    message = Message.objects.create(
        session=session,
        type=Message.Type.AI_RESPONSE,
        run=run,
        version_of=version_of,
        **_record_after(session, asked),
    )
    sending.touch(session, asked.content or sending.named(asked.attachments.all()))
    return Claimed(run.id, session.id, message)


def wire_states(caller: Caller, asked: Asked) -> dict[str, dict[str, Any]]:
    """What a protocol wants back with its calls, by their ids: clients don't know of it."""
    ids = [call.id for turn in asked.turns for call in turn.tool_calls if call.id]
    rows = Message.objects.filter(
        session__owner=caller.user, type=Message.Type.TOOL_CALL, tool_call_id__in=ids[-MOST_DIGESTS:]
    ).exclude(wire_state=None)
    return {row.tool_call_id: row.wire_state for row in rows.order_by("id") if row.wire_state}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a reply ended, and all that it said."""

    status: str
    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    wire_state: dict[str, Any] | None = None
    usage: Usage | None = None
    code: str = ""
    error: str = ""


def grow(caller: Caller, grown: store.Growth) -> bool:
    """Store how far a reply is; whether it is to end. Raises Revoked."""
    with keys.while_valid(caller):
        return bool(store.save_growth([grown.run_id], [grown]))


def note_request(caller: Caller, kept: Kept, model: AiModel, receipt: dict[str, Any] | None) -> None:
    """Note the model and the memory that a reply is made with. Raises Revoked."""
    with keys.while_valid(caller):
        store.note_request(kept.run.message, model, receipt)


def finish(caller: Caller, kept: Kept, ending: Ending) -> str:
    """Store the end of a reply; how it ended. The client sends its calls' results with the next request."""
    message = kept.run.message
    with transaction.atomic():
        if not keys.is_valid(caller):
            ending = _cut_off(message)
        message.content, message.thinking = ending.text, ending.thinking
        if ending.usage:
            store.count(message, ending.usage)
        outcome = store.RunOutcome(ending.status, message, ending.code, ending.error)
        store.close(kept.run, outcome)
        for number, call in enumerate(ending.calls):
            _call(message, call, ending.wire_state if number == 0 else None)
        if ending.status == Run.Status.DONE and Message.objects.filter(pk=message.pk).exists():
            said = ChatTurn("assistant", ending.text, ending.calls)
            digests = {"digest": after(kept.digest, said), "pair": paired(kept.last, said)}
            KnownMessage.objects.update_or_create(message=message, defaults={"owner": caller.user, **digests})
    return ending.status


def _cut_off(message: Message) -> Ending:
    """The end of a reply whose token was revoked: what is stored stays, and nothing is added to it."""
    stored = Message.objects.filter(pk=message.pk).values_list("content", "thinking").first()
    return Ending(Run.Status.STOPPED, *(stored or ("", "")))
