"""Past chats as a source of the index: the messages it holds, those that come or go, the chunks they make."""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Length, Substr

from chat.models import Message, Run, Session
from memory import embedding
from memory.index import writer
from memory.index.chunks import TEXT_PIECES, Chunk, Count, fitted, split
from memory.index.portions import Portion
from memory.index.writer import ChunkDraft
from memory.models import IndexedSource, IndexState, MemoryIndex, Source, Speaker
from memory.speech.pasted import parts_of
from memory.speech.roleplay import REQUEST_CHARS, played, playing_after
from oneclaw.masking import mask
from people.models import User

MESSAGES_AT_ONCE = 200
CHARACTERS_AT_ONCE = 200_000
# So many messages back the beginning of a role-play is looked for.
MOST_LOOKED_AT = 1_000
SPOKEN = (Message.Type.USER, Message.Type.AI_RESPONSE)

# A transcript row counts only while its message is on the page of a chat that remembers. Asked with every
# search, so that a deleted, edited or memory-off chat is silent at once, whatever the index still holds.
STILL_SAID = f"""EXISTS (
    SELECT 1 FROM {Message._meta.db_table} said
    JOIN {Session._meta.db_table} chat ON chat.id = said.session_id
    WHERE said.id = {{anchor}} AND said.shelf_id IS NULL AND chat.deleted_at IS NULL
    AND chat.memory_mode <> '{Session.MemoryMode.OFF}' AND NOT said.off_record
)"""  # noqa: S608

# Whether anything was said after a message, by the owner or to them, in any chat but one.
NEWER = f"""EXISTS (
    SELECT 1 FROM {Message._meta.db_table} said
    JOIN {Session._meta.db_table} chat ON chat.id = said.session_id
    WHERE said.id > {{mark}} AND chat.owner_id = {{owner}} AND chat.id <> {{aside}}
)"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Turn:
    """A message with its chunks, ready for the index."""

    message_id: int
    session_id: UUID
    said_at: datetime
    chunks: list[Chunk]


class ChatSource:
    """What one user's chats said. A message never changes, it only comes or goes."""

    def __init__(self, user: User) -> None:
        self.user = user

    def sync(self, state: IndexState, portion: Portion, aside: str = "") -> None:
        """Compare the chats that ask for another look, then read what was said since the last time.

        The chat with the key `aside` is left for another time.
        """
        asking = IndexedSource.objects.filter(owner=self.user, fingerprint="").exclude(source_key=aside)
        for key in asking.values_list("source_key", flat=True):
            self.index(session_of(key), portion)
        self._read(state.last_message, portion, aside)

    def read_all(self) -> None:
        self._read(0, Portion(), again=True)
        self.drop_unsaid()
        IndexedSource.objects.filter(owner=self.user, source_key__startswith="chat:").delete()

    def index(self, session_id: UUID | str, portion: Portion | None = None) -> None:
        """Index a chat as it is now: what left its page goes, what came is added."""
        key = source_key(session_id)
        # First: a request that comes while this one is worked on asks for yet another look.
        IndexedSource.objects.filter(owner=self.user, source_key=key).delete()
        whole = False
        try:
            whole = self._compare(session_id, key, portion or Portion())
        finally:
            if not whole:
                self.look_again(session_id)

    def _compare(self, session_id: UUID | str, key: str, portion: Portion) -> bool:
        """Whether all of the chat is indexed now."""
        here = finished(remembered(self.user).filter(session_id=session_id))
        said = set(here.values_list("id", flat=True))
        known = dict(self._rows(key).values_list("id", "anchor"))
        writer.delete(self.user.pk, [id for id, anchor in known.items() if anchor not in said])
        new = sorted(said - set(known.values()))
        for at in range(0, len(new), MESSAGES_AT_ONCE):
            for ids in _slices(sizes(here.filter(id__in=new[at : at + MESSAGES_AT_ONCE])), portion):
                self._add(list(here.filter(id__in=ids)))
            if portion.left:
                return False
        return True

    def look_again(self, session_id: UUID | str) -> None:
        """Have the next sync compare a chat's page with the index: versions were switched, or it is back."""
        key = source_key(session_id)
        IndexedSource.objects.update_or_create(owner=self.user, source_key=key, defaults={"fingerprint": ""})

    def remove(self, session_id: UUID | str) -> None:
        """Take a chat out at once. The next sync looks whether any of it belongs in again."""
        stored = self._rows(source_key(session_id))
        writer.delete(self.user.pk, list(stored.values_list("id", flat=True)))
        self.look_again(session_id)

    def _rows(self, key: str) -> QuerySet[MemoryIndex]:
        return MemoryIndex.objects.filter(owner=self.user, source_key=key)

    def _read(self, after: int, portion: Portion, aside: str = "", *, again: bool = False) -> None:
        """Index the messages after this one, and remember how far that went.

        What follows a reply that still grows is met again each time: there, those that are indexed are passed
        over, unless all are to be read again.
        """
        last = newest(self.user, after)
        if last == after:
            return
        # Those that are not read now are looked at again later, and with them all that follow.
        limits = [first_unfinished(self.user, after), first_of(self.user, after, aside)]
        most = min([last, *(id - 1 for id in limits if id)])
        new = finished(remembered(self.user).filter(id__gt=after, id__lte=last))
        if aside:
            new = new.exclude(session_id=session_of(aside))
        done = after
        while said := sizes(new.filter(id__gt=done)[:MESSAGES_AT_ONCE]):
            known = set() if again else self._indexed([row for row in said if row.id > most])
            for ids in _slices((row for row in said if row.id not in known), portion):
                self._add(list(new.filter(id__in=ids)))
                done = ids[-1]
                # Noted as it goes: cut short, the next one begins here.
                self._note(min(done, most))
            if portion.left:
                return
            done = said[-1].id
        if most > after:
            self._note(most)

    def _indexed(self, said: "list[Said]") -> set[int]:
        """Which of these messages the index has."""
        rows = MemoryIndex.objects.filter(
            owner=self.user,
            source_key__in={source_key(row.session_id) for row in said},
            anchor__in=[row.id for row in said],
        )
        return {anchor for anchor in rows.values_list("anchor", flat=True) if anchor is not None}

    def _note(self, done: int) -> None:
        IndexState.objects.filter(owner=self.user, last_message__lt=done).update(last_message=done)

    def _add(self, messages: list[Message]) -> None:
        stored = MemoryIndex.objects.filter(
            owner=self.user,
            source_key__in={source_key(message.session_id) for message in messages},
            anchor__in=[message.id for message in messages],
        )
        writer.replace(self.user.pk, stored, list(self._drafts(messages)))

    def _drafts(self, messages: list[Message]) -> Iterator[ChunkDraft]:
        for turn in turns(messages, embedding.engine().count_tokens):
            key = source_key(turn.session_id)
            day = self.user.local_date(turn.said_at)
            for position, chunk in enumerate(turn.chunks):
                yield ChunkDraft(
                    Source.TRANSCRIPT,
                    key,
                    day,
                    turn.said_at,
                    position,
                    dataclasses.replace(chunk, anchor=turn.message_id),
                )

    def drop_unsaid(self) -> None:
        """Take out transcript rows whose message is gone, set aside, or in a chat that does not remember."""
        said = STILL_SAID.format(anchor="m.anchor")
        unsaid = MemoryIndex.objects.raw(
            f"SELECT m.id FROM {MemoryIndex._meta.db_table} m "  # noqa: S608
            f"WHERE m.owner_id = %s AND m.source_type = '{Source.TRANSCRIPT}' AND NOT {said}",
            [self.user.pk],
        )
        writer.delete(self.user.pk, [row.id for row in unsaid])


class Said(NamedTuple):
    """A message by its number, its chat and its length."""

    id: int
    session_id: UUID
    length: int


def sizes(messages: QuerySet[Message]) -> list[Said]:
    return [Said(*row) for row in messages.values_list("id", "session_id", Length("content"))]


def _slices(said: Iterable[Said], portion: Portion) -> Iterator[list[int]]:
    """Ids of these messages, in slices of so many characters, as far as the portion goes."""
    held, size = list[int](), 0
    for row in said:
        if not portion.takes(row.length):
            break
        if held and size + row.length > CHARACTERS_AT_ONCE:
            yield held
            held, size = [], 0
        held.append(row.id)
        size += row.length
    if held:
        yield held


def source_key(session_id: UUID | str) -> str:
    return f"chat:{session_id}"


def session_of(key: str) -> str:
    return key.removeprefix("chat:")


def is_chat(key: str) -> bool:
    """Whether this is the key of a chat rather than of a file."""
    try:
        return key.startswith("chat:") and bool(UUID(session_of(key)))
    except ValueError:
        return False


def as_stored(key: str) -> Any:
    """The chat with this key as a value for a statement; no chat has the id that stands for none."""
    id = UUID(session_of(key)) if key else UUID(int=0)
    return Session._meta.pk.get_db_prep_value(id, connection)


def remembered(user: User) -> QuerySet[Message]:
    """The messages that belong in the index, oldest first."""
    return (
        Message.objects.filter(session__owner=user, session__deleted_at=None, shelf=None, type__in=SPOKEN)
        # What a model made up is not what happened.
        .filter(untrusted=False, off_record=False)
        # Found where it was said, not once more in each branch.
        .filter(copied_from=None)
        .exclude(session__memory_mode=Session.MemoryMode.OFF)
        .exclude(content="")
        .order_by("id")
    )


def first_unfinished(user: User, after: int) -> int | None:
    """The earliest reply that is still growing; it and what follows it is looked at again later."""
    growing = Message.objects.filter(session__owner=user, id__gt=after, run__status__in=Run.OPEN)
    return growing.filter(type=Message.Type.AI_RESPONSE).order_by("id").values_list("id", flat=True).first()


def first_of(user: User, after: int, key: str) -> int | None:
    """The first message after this one in the chat with this key."""
    if not key:
        return None
    said = Message.objects.filter(session__owner=user, session_id=session_of(key), id__gt=after)
    return said.order_by("id").values_list("id", flat=True).first()


def newest(user: User, after: int) -> int:
    """The id of the user's newest message, or `after` if there is none later."""
    ids = (
        Message.objects.filter(session__owner=user, id__gt=after).order_by("-id").values_list("id", flat=True)
    )
    return ids.first() or after


def finished(messages: QuerySet[Message]) -> QuerySet[Message]:
    return messages.exclude(type=Message.Type.AI_RESPONSE, run__status__in=Run.OPEN)


def turns(messages: Iterable[Message], count: Count) -> Iterator[Turn]:
    """Each message as chunks, with the end of what was said before it as context."""
    in_chats = sorted(messages, key=lambda message: (str(message.session_id), message.id))
    for _, group in groupby(in_chats, key=lambda message: message.session_id):
        said = list(group)
        before = mask(said_before(said[0]))
        plays = played(((is_users(message), message.content) for message in said), in_play(said[0]))
        for message, play in zip(said, plays, strict=True):
            speaker = Speaker.USER if is_users(message) else Speaker.ASSISTANT
            words = mask(message.content)
            chunks = spoken(words, before, Speaker.PLAYED if play else speaker, count)
            yield Turn(message.id, message.session_id, message.created_at, list(chunks))
            before = words


def spoken(text: str, before: str, speaker: str, count: Count) -> Iterator[Chunk]:
    """A message in chunks, none of which holds both the user's own words and pasted ones."""
    whole = [(text, speaker)]
    if speaker == Speaker.USER:
        whole = [(part.text, Speaker.PASTED if part.pasted else speaker) for part in parts_of(text)]
    for said, by in whole:
        for part in split(said, TEXT_PIECES, count):
            yield Chunk(part, fitted(before.strip()[-500:], part, count), speaker=by)
            before = part


def is_users(message: Message) -> bool:
    return message.type == Message.Type.USER


def in_play(message: Message) -> bool:
    """Whether a role-play was begun before a message, and not ended."""
    earlier = Message.objects.filter(
        session_id=message.session_id, shelf=None, type=Message.Type.USER, id__lt=message.id
    )
    begun = earlier.order_by("-id").values_list(Substr("content", 1, REQUEST_CHARS), flat=True)
    return playing_after(reversed(begun[:MOST_LOOKED_AT]))


def said_before(message: Message) -> str:
    earlier = Message.objects.filter(
        session_id=message.session_id, shelf=None, type__in=SPOKEN, id__lt=message.id
    ).exclude(content="")
    earlier = earlier.filter(untrusted=False, off_record=False)
    return earlier.order_by("-id").values_list("content", flat=True).first() or ""
