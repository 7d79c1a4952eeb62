"""What can be typed instead of a message: `/remember`, `/search` and the like. None of it needs a model."""

import difflib
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse

from chat import choices, replies
from chat.models import Run, Session
from memory.manager import DuplicateMemory, MemoryManager
from people.models import User

logger = logging.getLogger(__name__)

LONGEST = 5_000  # as save_memory
TYPED = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """Who typed a command, and in which chat; a new chat is none yet."""

    user: User
    session: Session | None = None

    @property
    def memory(self) -> MemoryManager:
        return MemoryManager(self.user)

    @property
    def closed(self) -> str:
        """Why nothing may be written to memory from here, if so."""
        if not self.user.memory_enabled:
            return "Memory is switched off for you: nothing was changed. Switch it on in Settings."
        if self.session and self.session.memory_mode != Session.MemoryMode.NORMAL:
            return f"{self.session.get_memory_mode_display()} in this chat: nothing was changed."
        return ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command came to: a sentence, things for the page to show, or a page to go to."""

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    go_to: str = ""

    @classmethod
    def failed(cls, text: str) -> "Outcome":
        return cls(text, {"failed": True})


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    hint: str
    help: str
    run: Callable[[Place, str], Outcome]


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it was typed; without a command, its name is only like one."""

    command: Command | None
    argument: str
    text: str


def parse(text: str) -> Typed | None:
    """The command in a message; None if it is a message. Two slashes make a message begin with one."""
    match = TYPED.fullmatch(text.strip())
    if not match:
        return None
    command = BY_NAME.get(match[1])
    if command or meant(match[1]):
        return Typed(command, (match[2] or "").strip(), text.strip())
    return None


def meant(name: str) -> str:
    """The command that a slip of the finger was for, if any; three letters are too near to other words."""
    long = [each for each in BY_NAME if len(each) > 3]
    return next(iter(difflib.get_close_matches(name, long, n=1, cutoff=0.75)), "")


def unescaped(text: str) -> str:
    """`//remember` is how a message about a command is sent."""
    return text[1:] if text.startswith("//") and TYPED.fullmatch(text[1:].strip()) else text


def run(place: Place, typed: Typed) -> Outcome:
    if typed.command is None:
        return Outcome.failed(
            f"There is no such command. Did you mean /{meant(typed.text[1:].split()[0])}? "
            "To send this as a message, begin it with two slashes."
        )
    try:
        return typed.command.run(place, typed.argument.replace("\0", ""))
    except replies.Refused as refusal:
        return Outcome.failed(str(refusal))
    except Exception:
        logger.exception("/%s failed", typed.command.name)
        return Outcome.failed("That did not work. The server's log says why.")


def remember(place: Place, text: str) -> Outcome:
    if not text:
        return Outcome.failed("Write what to remember after the command: /remember I prefer trains")
    if len(text) > LONGEST:
        return Outcome.failed(f"At most {LONGEST:,} characters can be remembered at once.")
    if place.closed:
        return Outcome.failed(place.closed)
    try:
        revision = place.memory.save_to_long_term_memory(
            text,
            user_requested=True,
            session_id=place.session.id if place.session else None,
            refuse_duplicate=True,
        )
    except DuplicateMemory:
        return Outcome("This is in memory already.", {"memories": [{"text": text}]})
    return Outcome("Remembered.", {"saved": text, "revision": revision.id if revision else None})


def forget(place: Place, words: str) -> Outcome:
    """Only shows what would go; each entry is taken out by a click of its own."""
    if not words:
        return Outcome.failed("Write what to forget after the command: /forget trains")
    found = [
        {"text": entry.content, "position": entry.position, "key": entry.key, "section": entry.section}
        for entry in place.memory.would_forget(words[:LONGEST])
    ]
    if not found:
        return Outcome("Nothing in long-term memory is about that.", {"words": words})
    return Outcome("Remove from memory?", {"forget": found})


def search(place: Place, words: str) -> Outcome:
    if not words:
        return Outcome.failed("Write what to look for after the command: /search Lisbon")
    found = [
        {
            "text": hit.chunk_text,
            "source": hit.source_type,
            "date": hit.source_date or "",
            "chat": hit.source_key.removeprefix("chat:") if hit.source_key.startswith("chat:") else "",
            "message": hit.anchor,
        }
        for hit in place.memory.search_memory(words[:LONGEST], top_k=5)
    ]
    return Outcome("Found in memory:" if found else "Nothing in memory is about that.", {"memories": found})


def memory(place: Place, _: str) -> Outcome:
    text = place.memory.read_long_term_memory().strip()
    return Outcome("Long-term memory:" if text else "Long-term memory is empty.", {"markdown": text})


def today(place: Place, _: str) -> Outcome:
    """Write what is new in this chat to the log now, and show the day."""
    trouble = ""
    if place.session and not place.closed:
        flush = place.memory.flush_daily_log(place.session.id)
        trouble = "" if flush.ok else flush.detail
        if place.session.runs.filter(status__in=Run.OPEN).exists():
            trouble = "What is being answered now is logged when the reply is done."
    day = place.user.today()
    log = place.memory.read_log(day)
    text = f"Log of {day.isoformat()}:" if log else f"Nothing is logged for {day.isoformat()} yet."
    return Outcome(f"{text} {trouble}".strip(), {"markdown": log, "day": day.isoformat()})


def model(place: Place, name: str) -> Outcome:
    """Show the models, or use one for this chat."""
    known = list(choices.models())
    if name and place.session:
        near = [
            each for each in known if name.casefold() in f"{each.provider}: {each} {each.name}".casefold()
        ]
        exact = [each for each in near if name.casefold() in (each.name.casefold(), str(each).casefold())]
        chosen = (exact or near)[:1]
        if not chosen:
            return Outcome.failed(f"There is no model called {name}. /model shows all.")
        place.session.model = chosen[0]
        place.session.save(update_fields=["model"])
    now = place.session.resolve_model() if place.session else next((m for m in known if m.is_default), None)
    listed = [{"id": each.pk, "label": f"{each.provider}: {each}", "current": each == now} for each in known]
    text = f"This chat uses {now.provider}: {now}." if now else "No model is set up yet."
    return Outcome(text, {"models": listed})


def new(place: Place, text: str) -> Outcome:
    """A new chat, with its first message if there is one."""
    if not text:
        return Outcome("", go_to=reverse("home"))
    chat = Session(owner=place.user)
    replies.send(chat, text)
    return Outcome("", go_to=reverse("chat:session", args=[chat.id]))


def help(place: Place, _: str) -> Outcome:
    return Outcome("Commands work without a model and are never sent to one:", {"help": True})


COMMANDS = (
    Command("remember", "text", "Keep something in long-term memory", remember),
    Command("forget", "text", "Show what would be removed from memory", forget),
    Command("search", "words", "Search all of memory", search),
    Command("memory", "", "Show long-term memory", memory),
    Command("today", "", "Write the day's log now and show it", today),
    Command("model", "name", "Show the models or use another one", model),
    Command("new", "text", "Begin a new chat", new),
    Command("help", "", "Show these commands", help),
)
BY_NAME = {command.name: command for command in COMMANDS}

# "Remember that …" in the languages whose speakers are likely to say it to a machine.
ASKED = re.compile(
    r"(?:(?:please|hey|hi|ok(?:ay)?)[, ]+)*(?:can|could)?(?: you)? ?"
    r"(?:(?:remember|note|don.?t forget|keep in mind)(?: that| this)?\b[:,]?"
    r"|merk(?:e)? dir,?(?: dass)?|denk daran,?(?: dass)?|souviens-toi(?: que)?|rappelle-toi(?: que)?"
    r"|recuerda(?: que)?|lembre-se(?: de)?(?: que)?|ricorda(?:ti)?(?: che)?|запомни,?(?: что)?"
    r"|请?记住[:：,，]?|記住[:：,，]?|기억해(?: ?줘)?[:,]?)\s*(?P<what>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
QUESTION = re.compile(r"[?？]\s*$")


def asked_to_remember(text: str) -> str:
    """What a plain message asks to be remembered, if it does; a question does not."""
    match = ASKED.fullmatch(text.strip())
    if not match or QUESTION.search(text) or len(text) > LONGEST:
        return ""
    return match["what"].strip().rstrip(".!。！")
