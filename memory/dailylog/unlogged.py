"""Messages that are not in the daily log yet, by chat and by the local date they were written on."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import groupby
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from chat.models import Attachment, Message, Run, Session
from memory.dailylog.summary import ASSISTANT, USER, Said
from memory.models import PendingEntry
from memory.speech.roleplay import played, playing_after
from memory.storage import log_entries
from memory.storage.files import MemoryFileStorage
from memory.storage.log_entries import Marker
from oneclaw.masking import mask
from people.models import User

# A reply that has been open for longer than this is a crash's, and no reason to wait.
OPEN_RUN = timedelta(hours=1)
# Messages before a flush's own that tell whether a play goes on.
EARLIER = 200
TOLD = {Message.Type.USER.value: USER, Message.Type.AI_RESPONSE.value: ASSISTANT}


@dataclass(frozen=True, slots=True)
class DayOfChat:
    """A chat's messages of one local date, in order."""

    day: date
    messages: tuple[Message, ...]
    # What was said before this moment was said while memory was off.
    since: datetime | None = None

    @property
    def told(self) -> list[Message]:
        """What a summary is made of: the two sides of the talk, nothing of tools, notes or memory."""
        wordless = [message.id for message in self.messages if not message.content.strip()]
        showing = set(attached(wordless))
        return [
            message
            for message in self.messages
            if message.type in TOLD
            and (message.content.strip() or message.id in showing)
            # What a model made up is not what happened.
            and not message.untrusted
            and not message.off_record
            # Said in the chat it was branched from, and logged there.
            and message.copied_from is None
            and (self.since is None or message.created_at >= self.since)
        ]

    @property
    def said(self) -> list[Said]:
        told = self.told
        earlier = Message.objects.filter(
            session_id=told[0].session_id, shelf=None, type=Message.Type.USER, id__lt=told[0].id
        )
        playing = playing_after(reversed(earlier.order_by("-id").values_list("content", flat=True)[:EARLIER]))
        roles = played(((message.type == Message.Type.USER, message.content) for message in told), playing)
        files = attached([message.id for message in told])
        return [
            # No summariser is told a secret.
            Said(TOLD[message.type], mask(message.content), in_role, tuple(files.get(message.id, ())))
            for message, in_role in zip(told, roles, strict=True)
        ]


def attached(message_ids: list[int]) -> dict[int, list[str]]:
    """What came with these messages: names and kinds, nothing of what is in it."""
    found: dict[int, list[str]] = {}
    rows = Attachment.objects.filter(message_id__in=message_ids).only("message_id", "name", "kind")
    for row in rows if message_ids else ():
        found.setdefault(row.message_id or 0, []).append(f"{mask(row.name)} ({row.get_kind_display()})")
    return found


def is_own(user: User, session_id: UUID) -> bool:
    """Whether a chat is the user's, deleted or not."""
    return Session.objects.filter(owner=user, id=session_id).exists()


def writable(user: User) -> QuerySet[Session]:
    """The user's chats that memory may be written of."""
    return _writable().filter(owner=user, owner__memory_enabled=True)


def _writable() -> QuerySet[Session]:
    return Session.objects.filter(deleted_at=None, memory_mode=Session.MemoryMode.NORMAL)


def chats(user: User) -> QuerySet[Session]:
    """Chats with something said after the last logged message, whether or not anything runs in them."""
    return writable(user).filter(Exists(_new(user))).order_by("active_at")


def chats_before(user: User, today: date) -> QuerySet[Session]:
    """Chats with something unlogged from before today: days that no trigger has caught."""
    old = _new(user).filter(created_at__lt=midnight(user, today))
    return writable(user).filter(Exists(old)).order_by("active_at")


def owners_behind(users: Iterable[User]) -> set[int]:
    """Who of them may have something unlogged, by one question for all; each one's own clock decides."""
    rows = _writable().filter(Exists(_unlogged()), owner__in=[user.pk for user in users])
    return set(rows.values_list("owner_id", flat=True))


def _new(user: User) -> QuerySet[Message]:
    rows = _unlogged()
    return rows.filter(created_at__gte=user.memory_since) if user.memory_since else rows


def _unlogged() -> QuerySet[Message]:
    return Message.objects.filter(
        session=OuterRef("pk"),
        shelf=None,
        type__in=list(TOLD),
        id__gt=Coalesce(OuterRef("last_logged_message_id"), 0),
        copied_from=None,
    ).exclude(content="")


def midnight(user: User, day: date) -> datetime:
    """The moment at which a date begins where the user is."""
    return datetime.combine(day, time.min, user.zone)


def parts(user: User, session: Session) -> list[DayOfChat]:
    """New messages by local date. What an open reply still grows stays for the next flush."""
    session.refresh_from_db(fields=["last_logged_message"])
    rows = Message.objects.filter(session=session, shelf=None, id__gt=session.last_logged_message_id or 0)
    open_prompt = open_reply(session)
    if open_prompt is not None:
        rows = rows.filter(id__lt=open_prompt)
    messages = list(rows.order_by("id"))
    logged = logged_until(user, session.id, messages)
    return by_day(user, (message for message in messages if message.id > logged))


def open_reply(session: Session) -> int | None:
    """The message that a reply is being made to just now."""
    running = Run.objects.filter(
        session=session, status__in=Run.OPEN, created_at__gt=timezone.now() - OPEN_RUN
    )
    return running.order_by("prompt_id").values_list("prompt_id", flat=True).first()


def by_day(user: User, messages: Iterable[Message]) -> list[DayOfChat]:
    """Runs of messages of one date: the pointer moves over whole runs, so their order is never changed."""
    groups = groupby(messages, key=lambda message: user.local_date(message.created_at))
    return [DayOfChat(day, tuple(group), user.memory_since) for day, group in groups]


def logged_until(user: User, session_id: UUID, messages: Iterable[Message]) -> int:
    """The last message that the logs themselves say is written, whatever the pointer says."""
    files = MemoryFileStorage(user)
    days = {user.local_date(message.created_at) for message in messages}
    # The user's zone may have changed since: a neighbour's log may hold the entry.
    near = {day + timedelta(days=step) for day in days for step in (-1, 0, 1)}
    logs = (files.read_daily_log(day) for day in near)
    return max((each.last for log in logs if log for each in markers_of(log, session_id)), default=0)


def markers_of(log: str, session_id: UUID | str) -> list[Marker]:
    """The markers of one chat in a log; one that tells of messages nobody has written yet is an invention."""
    newest = Message.objects.order_by("-id").values_list("id", flat=True).first() or 0
    return [each for each in log_entries.markers_of(log, session_id) if each.last <= newest]


def past(user: User, session: Session, after: int, until: int) -> list[DayOfChat]:
    """Messages that came from elsewhere by local date, whenever memory was switched on."""
    rows = Message.objects.filter(session=session, shelf=None, id__gt=after, id__lte=until).order_by("id")
    groups = groupby(rows, key=lambda message: user.local_date(message.created_at))
    return [DayOfChat(day, tuple(group)) for day, group in groups]


def said_on(user: User, day: date) -> QuerySet[Session]:
    """Chats in which something was said on a date."""
    rows = Message.objects.filter(
        session=OuterRef("pk"),
        shelf=None,
        created_at__gte=midnight(user, day),
        created_at__lt=midnight(user, day + timedelta(days=1)),
    )
    return writable(user).filter(Exists(rows)).order_by("created_at")


def logged_on(user: User, session: Session, day: date) -> list[Message]:
    """The messages of one date that the pointer has passed."""
    rows = Message.objects.filter(
        session=session,
        shelf=None,
        id__lte=session.last_logged_message_id or 0,
        created_at__gte=midnight(user, day),
        created_at__lt=midnight(user, day + timedelta(days=1)),
    )
    return list(rows.order_by("id"))


def logged_by(user: User, day: date, by: str) -> set[str]:
    """The chats that have an entry of this making in a day's log."""
    entries = log_entries.entries_of(MemoryFileStorage(user).read_daily_log(day) or "")
    return {entry.marker.session for entry in entries if entry.marker and entry.marker.by == by}


def move_pointer(session_id: UUID, message_id: int) -> None:
    """Messages up to this one are logged. Never backwards."""
    behind = Q(last_logged_message=None) | Q(last_logged_message__lt=message_id)
    # The message itself may be gone: a failed reply is deleted when it is tried again.
    there = Message.objects.filter(session_id=session_id, id__lte=message_id).order_by("-id")
    Session.objects.filter(behind, id=session_id).update(last_logged_message=Subquery(there.values("id")[:1]))


def skip_to_now(chats: QuerySet[Session]) -> None:
    """What was said while memory was off stays out of it for good."""
    for session in chats.order_by():
        PendingEntry.objects.filter(session_id=session.id).delete()
        newest = session.messages.order_by("-id").first()
        if newest:
            move_pointer(session.id, newest.id)
