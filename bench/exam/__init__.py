"""An exam in writing memory: conversations with known truth, flushed by the real prompts, and marked.

The truth was written before anything was asked. A capable reader's answers are recorded, so that the exam can
be marked again without a model; a request whose answer is not recorded is counted as unanswered.
"""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

from django.db import connections
from django.utils import timezone

from bench.exam.marking import Marks, marked
from bench.exam.recorded import Recorded
from chat.models import AiModel, Message, Provider, Session
from chat.replies.sending import record_of
from memory.longterm import dates
from memory.longterm.dates import Saying
from memory.manager import MemoryManager
from memory.storage import edits
from memory.storage.entries import entries_of
from memory.storage.files import MemoryFileStorage
from memory.tools import TOOLS
from oneclaw.toolkit import ToolContext
from people.models import User

FOLDER = Path(__file__).parent
FILLER = (
    "The {0} crate measures {1} by {2} centimetres, weighs {3} kilograms and costs {4} euros with its mat. "
)


@dataclass(slots=True)
class Paper:
    """What one conversation left behind."""

    exam: dict[str, Any]
    entries: list[str] = field(default_factory=list)
    logs: dict[str, str] = field(default_factory=dict)
    # Sentences of the activity, for whoever reads the result.
    activity: list[str] = field(default_factory=list)

    @property
    def marks(self) -> Marks:
        return marked(self.exam, self.entries, self.logs)


def take(folder: Path = FOLDER, ask: str = "", only: str = "") -> tuple[list[Paper], int]:
    """Every conversation's paper, and how many requests had no recorded answer.

    `ask` is the address of an OpenAI-compatible server that answers what is not recorded yet.
    """
    exams = json.loads((folder / "conversations.json").read_text(encoding="utf-8"))
    exams = [exam for exam in exams if only in ("", exam["id"])]
    answers = Recorded(folder / "answers.json", ask)
    # Whoever is asked sees all first questions at once; replaying needs no company.
    with answers.serving() as address, clocks(), ThreadPoolExecutor(len(exams) if ask else 1) as pool:
        papers = list(pool.map(lambda exam: sit(exam, address), exams))
    return papers, answers.unanswered


def sit(exam: dict[str, Any], address: str) -> Paper:
    """One user, one memory, one conversation after the other."""
    try:
        user = User.objects.create(username=f"exam-{exam['id']}", time_zone=exam.get("zone", "UTC"))
        provider = Provider.objects.create(name=exam["id"], kind="openai", base_url=address)
        model = AiModel.objects.create(
            provider=provider, name=f"reader-{exam['id']}", context_window=exam.get("window")
        )
        paper = Paper(exam)
        begin(user, exam.get("memory", []))
        for chat in exam["chats"]:
            flush = talk(user, model, chat)
            paper.activity += [flush] if flush else []
        if at := exam.get("compact_at"):
            with clock(datetime.fromisoformat(at).replace(tzinfo=user.zone)):
                # The chat is what tells the compaction which model to ask.
                Session.objects.create(owner=user, title="x", model=model)
                paper.activity.append(MemoryManager(user).run_compaction().detail)
        files = MemoryFileStorage(user)
        paper.entries = [entry.content for entry in entries_of(files.read_memory_file() or "")]
        manager = MemoryManager(user)
        paper.logs = {str(day): manager.read_log(day) for day in files.list_daily_log_dates()}
        return paper
    finally:
        connections.close_all()


def begin(user: User, memory: list[str]) -> None:
    """What MEMORY.md says before the first word: "Section|entry|date", the date where it is known."""
    text = ""
    for line in memory:
        section, entry, *day = line.split("|")
        text = edits.insert(text, section, entry) if section else edits.append(text, f"- {entry}")
        if day:
            dates.note(user, {entry: Saying(date.fromisoformat(day[0]))})
    if text:
        MemoryFileStorage(user).write_memory_file(text)


def talk(user: User, model: AiModel, chat: dict[str, Any]) -> str:
    """A chat, said minute by minute, and its flush a few minutes later; what the activity says of it."""
    session = Session.objects.create(owner=user, title="x", model=model)
    at = local(chat["at"], user.zone)
    asked, message = "", None
    for item in said(chat):
        at += timedelta(minutes=1)
        if isinstance(item, dict) and "at" in item:
            at = local(item["at"], user.zone)
        elif isinstance(item, dict):
            with clock(at):
                tool = next(each for each in TOOLS if each.name == item["tool"])
                tool.run(
                    ToolContext(user, session.id, message.id if message else None, asked=asked),
                    item["arguments"],
                )
        elif item.startswith("U: "):
            asked = item[3:]
            message = Message.objects.create(
                session=session, type="user", content=asked, created_at=at, **record_of(session, asked)
            )
        else:
            silent = message is not None and message.off_record
            Message.objects.create(
                session=session, type="ai_response", content=item[3:], created_at=at, off_record=silent
            )
    with clock(at + timedelta(minutes=5)):
        return MemoryManager(user).flush_daily_log(session.id).detail


def said(chat: dict[str, Any]) -> Iterator[Any]:
    """What is said, with many words between where a chat has to be long."""
    for item in chat["say"]:
        if item != "FILL":
            yield item
            continue
        left, turn = chat["filler"], 0
        while left > 0:
            text = "".join(
                FILLER.format(n, n * 3 + 40, n * 2 + 30, n + 4, n * 9 + 20) for n in range(turn, turn + 9)
            )
            yield f"A: {text}"
            yield f"U: And the next ones? I have seen {turn + 9} by now."
            left, turn = left - len(text), turn + 9


def local(text: str, zone: ZoneInfo) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)


_now = threading.local()


@contextmanager
def clock(moment: datetime) -> Iterator[None]:
    """In this thread it is that time: the prompts name the day."""
    _now.moment = moment
    try:
        yield
    finally:
        _now.moment = None


@contextmanager
def clocks() -> Iterator[None]:
    """Within it, each thread may have its own time."""
    real = timezone.now
    with patch.object(timezone, "now", lambda: getattr(_now, "moment", None) or real()):
        yield
