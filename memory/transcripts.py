"""Past chats as memory: which messages are indexed, and the chunks they make."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from uuid import UUID

from django.db.models import QuerySet

from chat.models import Message, Run, Session
from memory.chunks import TEXT_PIECES, Chunk, fitted
from memory.splitting import split
from people.models import User

SPOKEN = (Message.Type.USER, Message.Type.AI_RESPONSE)

# A transcript row counts only while its message is on the page of a chat that remembers. Asked with every
# search, so that a deleted, edited or memory-off chat is silent at once, whatever the index still holds.
STILL_SAID = f"""EXISTS (
    SELECT 1 FROM {Message._meta.db_table} said
    JOIN {Session._meta.db_table} chat ON chat.id = said.session_id
    WHERE said.id = {{anchor}} AND said.shelf_id IS NULL AND chat.deleted_at IS NULL
    AND chat.memory_mode <> '{Session.MemoryMode.OFF}' AND NOT said.off_record
)"""  # noqa: S608


# Whether anything was said after a message, by the owner or to them.
NEWER = f"""EXISTS (
    SELECT 1 FROM {Message._meta.db_table} said
    JOIN {Session._meta.db_table} chat ON chat.id = said.session_id
    WHERE said.id > {{mark}} AND chat.owner_id = {{owner}}
)"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Turn:
    """A message with its chunks, ready for the index."""

    message_id: int
    session_id: UUID
    said_at: datetime
    chunks: list[Chunk]


def source_key(session_id: UUID | str) -> str:
    return f"chat:{session_id}"


def session_of(key: str) -> str:
    return key.removeprefix("chat:")


def remembered(user: User) -> QuerySet[Message]:
    """The messages that belong in the index, oldest first."""
    return (
        Message.objects.filter(session__owner=user, session__deleted_at=None, shelf=None, type__in=SPOKEN)
        # What a model made up is not what happened.
        .filter(untrusted=False, off_record=False)
        .exclude(session__memory_mode=Session.MemoryMode.OFF)
        .exclude(content="")
        .order_by("id")
    )


def first_unfinished(user: User, after: int) -> int | None:
    """The earliest reply that is still growing; it and what follows it is looked at again later."""
    growing = Message.objects.filter(session__owner=user, id__gt=after, run__status__in=Run.OPEN)
    return growing.filter(type=Message.Type.AI_RESPONSE).order_by("id").values_list("id", flat=True).first()


def newest(user: User, after: int) -> int:
    """The id of the user's newest message, or `after` if there is none later."""
    ids = (
        Message.objects.filter(session__owner=user, id__gt=after).order_by("-id").values_list("id", flat=True)
    )
    return ids.first() or after


def finished(messages: QuerySet[Message]) -> QuerySet[Message]:
    return messages.exclude(type=Message.Type.AI_RESPONSE, run__status__in=Run.OPEN)


def turns(messages: Iterable[Message], count: Callable[[str], int]) -> Iterator[Turn]:
    """Each message as chunks, with the end of what was said before it as context."""
    in_chats = sorted(messages, key=lambda message: (str(message.session_id), message.id))
    for _, said in groupby(in_chats, key=lambda message: message.session_id):
        before: str | None = None
        for message in said:
            if before is None:
                before = said_before(message)
            yield Turn(
                message.id,
                message.session_id,
                message.created_at,
                list(spoken(message.content, before, count)),
            )
            before = message.content


def spoken(text: str, before: str, count: Callable[[str], int]) -> Iterator[Chunk]:
    for part in split(text, TEXT_PIECES, count):
        yield Chunk(part, fitted(before.strip()[-500:], part, count))
        before = part


def said_before(message: Message) -> str:
    earlier = Message.objects.filter(
        session_id=message.session_id, shelf=None, type__in=SPOKEN, id__lt=message.id
    ).exclude(content="")
    earlier = earlier.filter(untrusted=False, off_record=False)
    return earlier.order_by("-id").values_list("content", flat=True).first() or ""
