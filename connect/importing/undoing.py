"""Taking chats of an import back: those it brought, and what it added to others."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet

from chat.models import Message, Run, Session
from chat.sessions import thread
from connect.importing.chats import SPOKEN, delete_for_good, preview_of
from connect.models import Import, Imported
from memory.manager import MemoryManager
from memory.storage.log_entries import LogEntry
from people.models import User

What = Imported.What


@dataclass(slots=True)
class TakenBack:
    """Chats that went, messages that went from others, and chats that stay, each with why."""

    chats: set[UUID] = field(default_factory=set)
    messages: int = 0
    continued: set[UUID] = field(default_factory=set)
    later: set[UUID] = field(default_factory=set)

    def sentences(self) -> list[str]:
        found = list[str]()
        if count := len(self.continued):
            found.append(f"{count} chat{'s' if count > 1 else ''} you went on with stay.")
        if count := len(self.later):
            chats, them = ("chats stay", "them") if count > 1 else ("chat stays", "it")
            found.append(
                f"{count} {chats} as a later import added to {them}: undo that one to take {them} back."
            )
        return found


def take_back(by: Import, renew: Callable[[], bool]) -> TakenBack:
    """Delete the chats that an import brought, and the messages that it added to others."""
    done = TakenBack()
    for what, take in ((What.MORE, _added), (What.CHAT, _brought)):
        while batch := list(Imported.objects.filter(by=by, what=what)[:50]):
            renew()
            for thing in batch:
                with transaction.atomic():
                    # A chat may be known by several names, and has gone or stayed with the first of them.
                    if Imported.objects.filter(pk=thing.pk, by=by).exists():
                        take(by, thing, done)
    return done


def _brought(by: Import, thing: Imported, done: TakenBack) -> None:
    if is_continued(thing):
        # It stays known: the same archive must not bring it a second time.
        done.continued.add(thing.chat_id)
        _of_chat(thing).filter(what=What.CHAT, by=by).update(by=None)
    elif after := later_than(thing):
        done.later.add(thing.chat_id)
        _of_chat(thing).filter(what=What.CHAT, by=by).update(by=after.by)
        _of_chat(thing).filter(what=What.MORE, by=after.by).delete()
    else:
        if Session.objects.filter(id=thing.chat_id, owner=by.owner).exists():
            delete_for_good(thing.chat_id)
            done.chats.add(thing.chat_id)
        _of_chat(thing).filter(what=What.CHAT, by=by).delete()


def _added(by: Import, thing: Imported, done: TakenBack) -> None:
    session = Session.objects.filter(id=thing.chat_id, owner=by.owner).first()
    if session is not None and is_continued(thing):
        done.continued.add(session.id)
    elif session is not None and (after := later_than(thing)):
        done.later.add(session.id)
        came = set(thing.messages.values())
        after.places = {id: place for id, place in after.places.items() if int(id) not in came} | thing.places
        after.messages = thing.messages | after.messages
        after.save(update_fields=["places", "messages"])
    elif session is not None:
        done.messages += _remove(session, thing)
    thing.delete()


def _of_chat(thing: Imported) -> QuerySet[Imported]:
    return Imported.objects.filter(owner=thing.owner_id, session_id=thing.chat_id)


def is_continued(thing: Imported) -> bool:
    """Whether anything was said in its chat here after the last message that came."""
    last = _of_chat(thing).aggregate(last=Max("last_message"))["last"]
    return Message.objects.filter(session_id=thing.chat_id, id__gt=last or 0).exists()


def stays(thing: Imported) -> bool:
    return is_continued(thing) or later_than(thing) is not None


def later_than(thing: Imported) -> Imported | None:
    """What another import added to the chat since."""
    others = _of_chat(thing).filter(what=What.MORE).exclude(by=thing.by_id)
    if thing.what == What.MORE:
        others = others.filter(last_message__gt=thing.last_message)
    return others.order_by("-last_message").first()


def _remove(session: Session, thing: Imported) -> int:
    """Take the messages out, and show the line that was shown before they came."""
    first = min(thing.messages.values())
    gone = Message.objects.filter(session=session, id__gte=first)
    left = Message.objects.filter(session=session, id__lt=first)
    until = left.aggregate(last=Max("id"))["last"]
    Session.objects.filter(id=session.id).update(last_logged_message=until)
    for id, (version_of, shelf) in thing.places.items():
        left.filter(id=int(id)).update(version_of=version_of, shelf=shelf)
    runs = list(gone.exclude(run=None).values_list("run_id", flat=True).distinct())
    count = gone.count()
    gone.delete()
    Run.objects.filter(id__in=runs, messages=None).delete()
    for row in _of_chat(thing).exclude(pk=thing.pk):
        row.messages = {key: id for key, id in row.messages.items() if id < first}
        row.last_message = min(row.last_message or 0, until or 0)
        row.logged_until = min(row.logged_until, until or 0) if row.logged_until else row.logged_until
        row.save(update_fields=["messages", "last_message", "logged_until"])
    spoken = thread.shown(session).filter(type__in=SPOKEN).exclude(content="")
    newest = left.aggregate(at=Max("created_at"))["at"]
    Session.objects.filter(id=session.id).update(
        preview=preview_of(list(spoken.order_by("-id").values_list("content", flat=True)[:1])),
        active_at=newest or session.active_at,
    )
    MemoryManager(session.owner).look_again(session.id)
    return count


@dataclass(slots=True)
class Telling:
    """Whether a log entry tells of a chat's messages from one on; notes with which each entry begins."""

    session: str
    first: int
    begun: list[int] = field(default_factory=list)

    def __call__(self, entry: LogEntry) -> bool:
        marker = entry.marker
        if marker is None or marker.session != self.session or marker.last < self.first:
            return False
        self.begun.append(marker.first)
        return True


def take_back_logs_of_added(user: User, by: Import) -> list[UUID]:
    """Before the messages go: remove log entries that tell of what was added; the chats that had some."""
    manager, found = MemoryManager(user), list[UUID]()
    for thing in Imported.objects.filter(by=by, what=What.MORE):
        if not thing.messages or stays(thing):
            continue
        first = min(thing.messages.values())
        rows = Message.objects.filter(session_id=thing.chat_id, id__gte=first)
        days: list[date] = sorted({user.local_date(at) for at in rows.values_list("created_at", flat=True)})
        tells = Telling(str(thing.session_id), first)
        if manager.remove_log_entries([day.isoformat() for day in days], tells):
            # What it told of messages that stay is to be written again.
            written = _of_chat(thing).filter(what=What.CHAT, logged_until__gte=min(tells.begun))
            written.update(logged_until=min(tells.begun) - 1)
            found.append(thing.chat_id)
    return found
