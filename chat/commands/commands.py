"""What can be typed instead of a message: `/remember`, `/search` and the like. None of it needs a model."""

import difflib
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.urls import reverse

from chat.models import AiModel, Run, Session
from chat.replies import sending
from memory.manager import DuplicateMemory, Holding, MemoryManager, SecretRefused
from people.models import User

logger = logging.getLogger(__name__)

LONGEST = 5_000  # as save_memory
SHOWN = 400  # characters of a place that holds something
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
            return "Your memory is switched off, so nothing was changed. Switch it on in Settings."
        if self.session and self.session.memory_mode != Session.MemoryMode.NORMAL:
            return f"{self.session.get_memory_mode_display()} in this chat, so nothing was changed."
        return ""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A command's result: a sentence, things for the page to show, or a page to go to."""

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    go_to: str = ""

    @classmethod
    def failed(cls, text: str) -> "CommandResult":
        return cls(text, {"failed": True})


@dataclass(frozen=True, slots=True)
class SlashCommand:
    name: str
    hint: str
    help: str
    run: Callable[[Place, str], CommandResult]


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it was typed; without a command, its name is only like one."""

    command: SlashCommand | None
    argument: str
    text: str


def parse(text: str) -> Typed | None:
    """The command in a message; None if it is a message. Two slashes make a message begin with one."""
    match = TYPED.fullmatch(text.strip())
    if not match:
        return None
    return Typed(BY_NAME.get(match[1]), (match[2] or "").strip(), text.strip())


def meant(name: str) -> str:
    """The command a typing mistake was meant for, if any; three letters are too close to other words."""
    long = [each for each in BY_NAME if len(each) > 3]
    return next(iter(difflib.get_close_matches(name, long, n=1, cutoff=0.75)), "")


def unescaped(text: str) -> str:
    """`//remember` is how a message about a command is sent."""
    return text[1:] if text.startswith("//") and TYPED.fullmatch(text[1:].strip()) else text


def run(place: Place, typed: Typed) -> CommandResult:
    if typed.command is None:
        name = typed.text[1:].split()[0]
        near = f" Did you mean /{meant(name)}?" if meant(name) else ""
        return CommandResult.failed(
            f"There is no such command as /{name[:40]}.{near} "
            "To send this as a message, start it with two slashes."
        )
    try:
        return typed.command.run(place, typed.argument.replace("\0", ""))
    except sending.MessageRefused as refusal:
        return CommandResult.failed(str(refusal))
    except Exception:
        logger.exception("/%s failed", typed.command.name)
        return CommandResult.failed("That didn't work. See the server's log for details.")


def remember(place: Place, text: str) -> CommandResult:
    if not text:
        return CommandResult.failed("Write what to remember after the command: /remember I prefer trains")
    if len(text) > LONGEST:
        return CommandResult.failed(f"At most {LONGEST:,} characters can be remembered at once.")
    if place.closed:
        return CommandResult.failed(place.closed)
    try:
        revision = place.memory.save_to_long_term_memory(
            text,
            user_requested=True,
            session_id=place.session.id if place.session else None,
            refuse_duplicate=True,
        )
    except SecretRefused as refusal:
        return CommandResult.failed(str(refusal))
    except DuplicateMemory:
        return CommandResult("This is already in memory.", {"memories": [{"text": text}]})
    return CommandResult("Remembered.", {"saved": text, "revision": revision.id if revision else None})


def forget(place: Place, words: str) -> CommandResult:
    """Only shows everything that holds it; what is picked goes by a click."""
    if not words:
        return CommandResult.failed("Write what to forget after the command: /forget trains")
    return to_pick(place.memory.would_forget(words[:LONGEST])) or CommandResult(
        "Nothing in memory, the logs or past chats matches.", {"words": words}
    )


def to_pick(found: Sequence[Holding]) -> CommandResult | None:
    """The places that hold something, to pick from; None if there are none."""
    listed = [asdict(each) | {"text": each.text[:SHOWN]} for each in found]
    return CommandResult("Forget this? Choose what goes.", {"forget": listed}) if listed else None


def search(place: Place, words: str) -> CommandResult:
    if not words:
        return CommandResult.failed("Write what to look for after the command: /search Lisbon")
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
    return CommandResult("Found in memory:" if found else "Nothing in memory matches.", {"memories": found})


def memory(place: Place, _: str) -> CommandResult:
    text = place.memory.read_long_term_memory().strip()
    return CommandResult("Long-term memory:" if text else "Long-term memory is empty.", {"markdown": text})


def today(place: Place, _: str) -> CommandResult:
    """Write what is new in this chat to the log now, and show the day."""
    trouble = ""
    if place.session and not place.closed:
        flush = place.memory.flush_daily_log(place.session.id)
        trouble = "" if flush.ok else flush.detail
        if place.session.runs.filter(status__in=Run.OPEN).exists():
            trouble = "The current reply will be logged when it is done."
    day = place.user.today()
    log = place.memory.read_log(day)
    text = f"Daily log of {day.isoformat()}:" if log else f"No daily log of {day.isoformat()} yet."
    return CommandResult(f"{text} {trouble}".strip(), {"markdown": log, "day": day.isoformat()})


def model(place: Place, name: str) -> CommandResult:
    """Show the models, or use one for this chat."""
    known = list(AiModel.objects.usable())
    if name and place.session:
        near = [
            each for each in known if name.casefold() in f"{each.provider}: {each} {each.name}".casefold()
        ]
        exact = [each for each in near if name.casefold() in (each.name.casefold(), str(each).casefold())]
        chosen = (exact or near)[:1]
        if not chosen:
            return CommandResult.failed(f"There is no model called {name}. /model shows all.")
        place.session.model = chosen[0]
        place.session.save(update_fields=["model"])
    now = place.session.resolve_model() if place.session else next((m for m in known if m.is_default), None)
    listed = [{"id": each.pk, "label": f"{each.provider}: {each}", "current": each == now} for each in known]
    text = f"This chat uses {now.provider}: {now}." if now else "No model is set up yet."
    return CommandResult(text, {"models": listed})


def new(place: Place, text: str) -> CommandResult:
    """A new chat, with its first message if there is one."""
    if not text:
        return CommandResult("", go_to=reverse("home"))
    chat = Session(owner=place.user)
    sending.send(chat, text)
    return CommandResult("", go_to=reverse("chat:session", args=[chat.id]))


def help(place: Place, _: str) -> CommandResult:
    return CommandResult("Commands work without a model and are never sent to one:", {"help": True})


COMMANDS = (
    SlashCommand("remember", "text", "Save something to long-term memory", remember),
    SlashCommand("forget", "text", "Find what to remove from memory, logs and chats", forget),
    SlashCommand("search", "words", "Search all of memory", search),
    SlashCommand("memory", "", "Show long-term memory", memory),
    SlashCommand("today", "", "Update today's log and show it", today),
    SlashCommand("model", "name", "Show models or switch to another", model),
    SlashCommand("new", "text", "Start a new chat", new),
    SlashCommand("help", "", "Show these commands", help),
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
