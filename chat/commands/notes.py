"""Notes: a command's result in the chat, stored as a row of its own kind, with buttons that act."""

from dataclasses import dataclass, replace
from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from django.http import Http404, QueryDict

from chat.commands import commands
from chat.commands.commands import CommandResult, Place
from chat.models import Message, Session
from memory.manager import UndoError, asks_to_forget
from people.models import User

# Notes are rows of type `system`; this in `tool_name` tells them from the app's other lines.
TOOL_NAME = "command"
# The note of a chat that does not exist yet is kept with the browser's session.
KEPT = "note"


@dataclass(slots=True)
class Note:
    """One note, in a chat's row or, before there is a chat, in the browser's session."""

    text: str
    data: dict[str, Any]
    message: Message | None = None

    @property
    def ref(self) -> int:
        return self.message.id if self.message else 0

    def place(self, user: User) -> Place:
        return Place(user, self.message.session if self.message else None)


def write(session: Session, outcome: CommandResult, typed: str = "") -> Message:
    """Store a command's result in its chat. It is not a message: no model and no log ever sees it."""
    return Message.objects.create(
        session=session,
        type=Message.Type.SYSTEM,
        tool_name=TOOL_NAME,
        content=outcome.text,
        tool_data=outcome.data | {"typed": typed[:200]},
    )


def keep(kept: SessionBase, outcome: CommandResult, typed: str) -> None:
    kept[KEPT] = {"text": outcome.text, "data": outcome.data | {"typed": typed[:200]}, "new": True}


def kept(browser: SessionBase) -> Note | None:
    """The note that a command on a new chat's page left, once."""
    found = browser.get(KEPT)
    if not found or not found["new"]:
        return None
    browser[KEPT] = found | {"new": False}
    return Note(found["text"], found["data"])


def load(user: User, ref: int, browser: SessionBase) -> Note:
    """A note of this user; 0 is the one that is kept outside of any chat."""
    if ref == 0 and (found := browser.get(KEPT)):
        return Note(found["text"], found["data"])
    message = (
        Message.objects.filter(id=ref, type=Message.Type.SYSTEM, tool_name=TOOL_NAME)
        .filter(session__owner=user, session__deleted_at=None)
        .select_related("session")
        .first()
    )
    if message is None:
        raise Http404("No such note.")
    return of(message)


def of(message: Message) -> Note:
    return Note(message.content, message.tool_data or {}, message)


def save(note: Note, browser: SessionBase) -> None:
    if note.message:
        note.message.content, note.message.tool_data = note.text, note.data
        note.message.save(update_fields=["content", "tool_data"])
    else:
        browser[KEPT] = {"text": note.text, "data": note.data, "new": False}


def undo(user: User, note: Note, _: QueryDict) -> None:
    """Take back what the note says was done."""
    memory = note.place(user).memory
    try:
        if note.data.get("act"):
            memory.undo_forgetting(note.data["act"])
        elif note.data.get("revision"):
            memory.undo(note.data["revision"])
        else:
            raise Http404("There is nothing to undo.")
    except UndoError as error:
        note.data["trouble"] = str(error)
        return
    note.text = "Undone."
    note.data |= {"undone": True, "revision": None, "act": None, "trouble": ""}


def forget(user: User, note: Note, sent: QueryDict) -> None:
    """Take out or silence what was picked of the places that the note lists."""
    listed = {each["ref"]: each for each in note.data.get("forget", [])}
    picked = [ref for ref in sent.getlist("ref") if ref in listed]
    if not listed or len(picked) < len(sent.getlist("ref")):
        raise Http404("No such entry.")
    if not picked:
        note.data["trouble"] = "Choose at least one."
        return
    place = note.place(user)
    if place.closed:
        note.data["trouble"] = place.closed
        return
    done = place.memory.forget(picked, session_id=place.session.id if place.session else None)
    if done.row is None:
        note.data["trouble"] = "This was changed or removed in the meantime. Search for it again."
        return
    note.text = str(done)
    note.data = {"typed": note.data.get("typed", ""), "act": done.row.pk}


def purge(user: User, note: Note, _: QueryDict) -> None:
    """Take what was forgotten out of the history too; that can't be undone."""
    if not note.data.get("act") or not note.place(user).memory.purge_forgotten(note.data["act"]):
        raise Http404("There is nothing to purge.")
    note.text = "Forgotten, and purged from the history and backups of MEMORY.md."
    note.data |= {"act": None}


def remember(user: User, note: Note, _: QueryDict) -> None:
    """Accept the offer to keep what a plain message asked to remember."""
    outcome = commands.remember(note.place(user), note.data.get("offer", ""))
    note.text, note.data = outcome.text, outcome.data


ACTIONS = {"undo": undo, "forget": forget, "purge": purge, "remember": remember}


def offer(session: Session, text: str) -> Message | None:
    """Where the model can't call tools, offer to keep what it is asked to remember."""
    what = commands.asked_to_remember(text)
    if not what or Place(session.owner, session).closed:
        return None
    model = session.resolve_model()
    if model and model.supports_tools and model.may_write_memory:
        return None
    return write(session, CommandResult("Remember this?", {"offer": what}))


def offer_what_is_written(session: Session, message: Message) -> Message | None:
    """Where an exchange was logged before it was taken off the record, show what the logs tell of it."""
    memory = Place(session.owner, session).memory
    found = memory.written_of([message.id]) if message.silenced_at else []
    result = commands.to_pick(found)
    if result is None:
        return None
    return write(session, replace(result, text="This was already written down. Choose what to remove."))


def offer_to_forget(session: Session, text: str) -> Message | None:
    """Where a message asks to have something forgotten, show everything that holds it, to pick from."""
    what = asks_to_forget(text)
    place = Place(session.owner, session)
    if not what or place.closed:
        return None
    # What was just said holds it too, and is shown in the chat anyway.
    found = [each for each in place.memory.would_forget(what) if each.session != str(session.id)]
    result = commands.to_pick(found)
    return write(session, result) if result else None
