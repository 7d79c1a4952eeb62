"""Chats as a list: finding, paging, naming, pinning, archiving, deleting and undoing."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone

from chat import memory
from chat.models import Message, Run, Session
from oneclaw.postgres import is_postgres
from people.models import User

PAGE = 30
# Deleted chats can be brought back for this long.
KEPT = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class SessionGroup:
    """Chats under one heading of the list: pinned, today, yesterday, …"""

    name: str
    sessions: tuple[Session, ...]


@dataclass(frozen=True, slots=True)
class SessionPage:
    groups: tuple[SessionGroup, ...]
    # Where the next page begins; empty on the last one.
    cursor: str = ""
    archived: bool = False


def owned(user: User, session_id: UUID) -> Session:
    """The user's own chat, or a 404 as if nobody had it."""
    session = followed(user, session_id)
    if session is None:
        raise Http404("No such chat.")
    return session


def followed(user: User, session_id: UUID) -> Session | None:
    """The same for what a page asks by itself; None, and no error, where the chat was deleted meanwhile."""
    session = Session.objects.filter(owner=user, id=session_id).select_related("agent").first()
    if session is None:
        raise Http404("No such chat.")
    session.owner = user
    return None if session.deleted_at else session


def hold(session_id: UUID) -> None:
    """Within a transaction: whoever else turns this chat, or takes up what waits in it, comes after.

    On SQLite a transaction is alone in any case.
    """
    if is_postgres():
        list(Session.objects.select_for_update(no_key=True).filter(id=session_id).values_list("id"))


def of(user: User) -> QuerySet[Session]:
    """The chats that are listed and found: not those that are temporary."""
    return Session.objects.filter(owner=user, deleted_at=None, temporary=False)


def lasting(user: User, session_id: UUID) -> Session:
    """The user's own chat, unless it is temporary: for what would keep it."""
    session = owned(user, session_id)
    if session.temporary:
        raise Http404("A temporary chat can't be kept.")
    return session


def page(user: User, cursor: str = "", *, archived: bool = False) -> SessionPage:
    """One page of the list by key, not by offset, so that page 300 costs what page 1 does."""
    chats = of(user).filter(archived_at__isnull=not archived).order_by("-active_at", "-id")
    groups: list[SessionGroup] = []
    if not archived:
        # `IN` instead of NOT: SQLite finds only that in the index, and then need not sort ten thousand rows.
        if not cursor and (pinned := tuple(chats.filter(pinned__in=[True])[:200])):
            groups.append(SessionGroup("Pinned", pinned))
        chats = chats.filter(pinned__in=[False])
    rows = list(_after(chats, cursor)[: PAGE + 1])
    more = _cursor(rows[PAGE - 1]) if len(rows) > PAGE else ""
    return SessionPage((*groups, *by_day(user, rows[:PAGE])), more, archived)


def _after(chats: QuerySet[Session], cursor: str) -> QuerySet[Session]:
    if not cursor:
        return chats
    try:
        moment, _, key = cursor.partition("_")
        at, last = datetime.fromisoformat(moment), UUID(key)
    except ValueError:
        raise Http404("No such page.") from None
    if timezone.is_naive(at):
        raise Http404("No such page.")
    return chats.filter(active_at__lte=at).exclude(active_at=at, id__gte=last)


def _cursor(session: Session) -> str:
    return f"{session.active_at.isoformat()}_{session.id}"


def by_day(user: User, chats: Iterable[Session]) -> list[SessionGroup]:
    """The chats under headings of the user's own calendar; they come sorted, newest first."""
    today, found = user.today(), dict[str, list[Session]]()
    for chat in chats:
        found.setdefault(heading(user.local_date(chat.active_at), today), []).append(chat)
    return [SessionGroup(name, tuple(rows)) for name, rows in found.items()]


def heading(day: date, today: date) -> str:
    age = (today - day).days
    for limit, name in ((0, "Today"), (1, "Yesterday"), (7, "Previous 7 days"), (30, "Previous 30 days")):
        if age <= limit:
            return name
    return day.strftime("%B") if day.year == today.year else day.strftime("%B %Y")


def rename(session: Session, title: str) -> None:
    """The user's own title; no model changes it after."""
    title = " ".join(title.replace("\0", "").split())[:200]
    if title:
        session.title, session.title_by = title, Session.TitleBy.USER
        session.save(update_fields=["title", "title_by"])


def pin(chats: QuerySet[Session], on: bool = True) -> None:
    chats.update(pinned=on)


def archive(chats: QuerySet[Session], on: bool = True) -> None:
    chats.update(archived_at=timezone.now() if on else None)


def delete(user: User, ids: Iterable[UUID]) -> list[UUID]:
    """Delete softly: the chats leave lists, search and memory at once, and undo brings them back."""
    found = list(of(user).filter(id__in=list(ids)).values_list("id", flat=True))
    Session.objects.filter(id__in=found).update(deleted_at=timezone.now())
    Run.objects.filter(session_id__in=found, status__in=Run.OPEN).update(stop_requested=True)
    for session_id in found:
        memory.forget(user, session_id)
    return found


def undelete(user: User, ids: Iterable[UUID]) -> list[UUID]:
    chats = Session.objects.filter(owner=user, deleted_at__isnull=False, id__in=list(ids))
    found = list(chats.values_list("id", flat=True))
    chats.update(deleted_at=None)
    for session_id in found:
        memory.undeleted(user, session_id)
    return found


def purge(now: datetime | None = None) -> int:
    """Remove for good what was deleted more than thirty days ago."""
    old = Session.objects.filter(deleted_at__lt=(now or timezone.now()) - KEPT)
    count = 0
    for session in old.iterator(chunk_size=50):
        session.delete()
        count += 1
    return count


def note(session: Session, text: str) -> Message:
    """A line of the app's own in the chat, such as a change of agent."""
    return Message.objects.create(session=session, type=Message.Type.SYSTEM, content=text)


def set_memory_mode(session: Session, mode: str) -> None:
    """Normal, read-only or off; off takes the chat out of memory at once."""
    if mode == session.memory_mode:
        return
    session.memory_mode = mode
    session.save(update_fields=["memory_mode"])
    if mode == Session.MemoryMode.NORMAL:
        memory.resumed(session.owner, session.id)
    if mode == Session.MemoryMode.OFF:
        memory.forget(session.owner, session.id)
    else:
        memory.changed(session.owner, session.id)
