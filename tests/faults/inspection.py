"""What must hold after any kill: OneClaw starts again and goes on, and nothing is lost or doubled."""

import traceback
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from django.db import connection

from chat.models import Message, Run, Session
from connect.models import Import, Imported
from memory import embedding
from memory.index import engines
from memory.index.chunks import file_chunks
from memory.jobs import claims
from memory.manager import MemoryManager
from memory.models import Claim, LedgerEntry, MemoryIndex, PendingEntry, Revision, Source
from memory.storage import log_entries
from oneclaw import wiring
from oneclaw.management.commands.worker import release_interrupted_tasks
from oneclaw.postgres import is_postgres
from oneclaw.serving import lifespan
from people.models import User
from tests.faults import world
from tests.faults.work import Journal, browser, put_back, work_off

INSPECTED = "inspected"
# Steps that, once acknowledged as done, have changed the file.
MUST = {"save", "change", "undo", "compact", "restore", "edit"}


class Inspection:
    """Problems as sentences; none is what everybody hopes for."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.journal = Journal(home / "journal.jsonl")
        self.user = User.objects.get(username="ada")
        self.memory = MemoryManager(self.user)
        self.problems: list[str] = []

    def run(self) -> list[str]:
        try:
            self.expect(self.database(), "the database is sound")
            self.memory_file()
            self.recover()
            self.chats()
            self.imports()
            self.logs()
            self.history()
            self.work()
            self.index()
        except Exception:
            self.problems.append(traceback.format_exc())
        text = self.memory.read_long_term_memory()
        # The next life begins where recovery ended.
        self.journal.note(ack=INSPECTED, text=text, result=True)
        return self.problems

    def expect(self, holds: object, fact: str, *details: object) -> None:
        if not holds:
            self.problems.append(f"It does not hold that {fact}: {', '.join(map(repr, details))}")

    def database(self) -> bool:
        if is_postgres():
            return True  # it repairs its files itself, and knows no row that refers to nothing
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA integrity_check")
            whole = cursor.fetchone() == ("ok",)
            cursor.execute("PRAGMA foreign_key_check")
            return whole and not cursor.fetchall()

    # MEMORY.md

    def memory_file(self) -> None:
        """Every step changed what it said it would; one that was cut off did so, or nothing at all."""
        text = ""
        begun: dict[str, Any] | None = None
        for line in self.journal.read():
            if "before" not in line and "text" not in line:
                continue  # by a visitor, who does not see the file
            if "begin" in line:
                self.expect(line["before"] == text, "nobody else writes MEMORY.md", line["begin"])
                begun = line
                continue
            if begun is not None and line["ack"] != INSPECTED:
                must = bool(line["result"]) and begun["begin"] in MUST
                self.changes(begun, line["text"], must)
            begun, text = None, line["text"]
        now = self.memory.read_long_term_memory()
        for fact in (begun["fact"] for begun, _ in acknowledged(self.journal.read()) if "fact" in begun):
            self.expect(now.count(f"- {fact}\n") == 1, "an acknowledged fact is there once", fact)
        if not text:
            return
        if begun is None:
            self.expect(now == text, "MEMORY.md is as the last step left it", text, now)
        else:
            self.changes(begun, now, must=False)

    def changes(self, begun: dict[str, Any], now: str, must: bool) -> None:
        kept = same(begun["before"], now)
        self.expect(changed(begun, now) or (kept and not must), "a step does what it says", begun, now)

    def recover(self) -> None:
        """What web and worker do when they start, and what their users would do next."""
        from tests.faults.lives import start_web

        start_web()
        lifespan.call((release_interrupted_tasks, *wiring.ON_WORKER_START))
        work_off()
        put_back(self.user, browser(self.user))
        for chat in Session.objects.filter(owner=self.user):
            self.memory.flush_daily_log(chat.id)
        self.memory.long_term.notice_outside_edit()

    # Chat

    def chats(self) -> None:
        steps = self.journal.read()
        said = Counter(
            word
            for text in Message.objects.filter(type=Message.Type.USER).values_list("content", flat=True)
            for word in world.words_of(text)
        )
        for word in (begun["message"] for begun, _ in acknowledged(steps) if "message" in begun):
            self.expect(said[word] == 1, "an acknowledged message is there once", word)
        self.expect(all(count == 1 for count in said.values()), "no message is there twice", said)
        self.expect(not Run.objects.filter(status__in=Run.OPEN).exists(), "no reply is still being made")
        replied = {line["result"] for begun, line in acknowledged(steps) if begun["begin"] == "reply"}
        here = Run.objects.exclude(session_id__in=Imported.objects.values("session_id"))
        for run in here.select_related("prompt"):
            (word,) = world.words_of(run.prompt.content)
            rows = list(Message.objects.filter(run=run, type=Message.Type.AI_RESPONSE))
            self.expect(len(rows) == 1, "a run has one reply", word, len(rows))
            text, whole = rows[0].content if rows else "", world.reply(run.prompt.content)
            self.expect(whole.startswith(text), "a reply is what was said so far", word, text)
            if run.status == Run.Status.DONE or word in replied:
                self.expect(
                    text.strip() == whole.strip(), "a finished reply is whole", word, run.status, text
                )

    def imports(self) -> None:
        """What came from another program is there once, and whole once that was said."""
        here = Message.objects.filter(content__startswith="Imported ").values_list("content", flat=True)
        said = Counter(text.split()[1] for text in here)
        self.expect(all(count == 1 for count in said.values()), "no import comes twice", said)
        self.expect(not Import.objects.filter(status__in=Import.AT_WORK).exists(), "every import ends")
        for begun, line in acknowledged(self.journal.read()):
            if begun["begin"] == "import":
                self.expect(line["result"] == Import.Status.DONE, "an import is done", begun, line)
                self.expect(all(said[each] for each in begun["imported"]), "an import is whole", begun, said)

    # Daily logs

    def logs(self) -> None:
        files = self.memory.files
        entries = [
            entry
            for day in files.list_daily_log_dates()
            for entry in log_entries.entries_of(files.read_daily_log(day) or "")
        ]
        told = Counter(word for entry in entries for word in world.words_of(entry.body))
        said = [
            word
            for text in Message.objects.filter(type=Message.Type.USER).values_list("content", flat=True)
            for word in world.words_of(text)
        ]
        for word in said:
            self.expect(told[word] == 1, "a message is logged once", word, told[word])
        self.expect(set(told) <= set(said), "nothing is logged that nobody said", told)
        markers = [entry.marker for entry in entries if entry.marker]
        self.expect(len(markers) == len(entries), "every entry has its marker")
        for session in {marker.session for marker in markers}:
            spans = sorted((m.first, m.last) for m in markers if m.session == session)
            apart = all(one[1] < other[0] for one, other in pairwise(spans))
            self.expect(apart, "no message is in two entries", spans)
        self.expect(not PendingEntry.objects.exists(), "no summary waits for ever")

    # History, claims, index

    def history(self) -> None:
        text = self.memory.read_long_term_memory()
        rows = list(Revision.objects.filter(owner=self.user).order_by("id"))
        chained = all(later.before == earlier.after for earlier, later in pairwise(rows))
        self.expect(chained, "each revision begins where another ended", [(r.author, r.reason) for r in rows])
        self.expect(rows[-1].after == text if rows else not text, "the last revision is the file")
        learnt = Counter(line for line in text.splitlines() if line.endswith("learnt in a chat"))
        self.expect(all(count == 1 for count in learnt.values()), "no fact is learnt twice", learnt)

    def work(self) -> None:
        running = LedgerEntry.objects.filter(outcome=LedgerEntry.Outcome.RUNNING)
        self.expect(
            not running.exists(), "no work is said to be running", list(running.values("kind", "trigger"))
        )
        waiting = list(Claim.objects.exclude(queued_at=None).values_list("key", flat=True))
        self.expect(not waiting, "no request waits for a task that is gone", waiting)
        for key in Claim.objects.values_list("key", flat=True):
            held = claims.take(key)
            self.expect(held, "no claim is held by the dead", key)
            if held:
                held.drop()

    def index(self) -> None:
        """The index is made of exactly what the files and the chats say now."""
        self.memory.search_memory("anything")
        self.expect(engines.fulltext().is_sound(), "the full-text table agrees with the index")
        for name, text in self.texts():
            stored = MemoryIndex.objects.filter(owner=self.user, source_key=name).order_by("position")
            found = list(stored.values_list("chunk_text", flat=True))
            expected = [chunk.text for chunk in file_chunks(text, embedding.engine().count_tokens)]
            self.expect(found == expected, "a file is indexed as it is", name, found, expected)
        spoken = Message.objects.exclude(content="").filter(
            type__in=[Message.Type.USER, Message.Type.AI_RESPONSE], off_record=False
        )
        rows = MemoryIndex.objects.filter(owner=self.user, source_type=Source.TRANSCRIPT)
        anchors = set(rows.values_list("anchor", flat=True))
        self.expect(anchors == set(spoken.values_list("id", flat=True)), "every message is indexed", anchors)
        places = Counter(rows.values_list("anchor", "position"))
        self.expect(all(count == 1 for count in places.values()), "no message is indexed twice", places)

    def texts(self) -> Iterator[tuple[str, str]]:
        files = self.memory.files
        yield "MEMORY.md", files.read_memory_file() or ""
        for day in files.list_daily_log_dates():
            yield f"daily/{day}.md", files.read_daily_log(day) or ""


def acknowledged(steps: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each step with the line that says it was done; the last of a life may have none."""
    begun: dict[str, Any] | None = None
    for line in steps:
        if "begin" in line:
            begun = line
        elif begun is not None and line["ack"] != INSPECTED:
            yield begun, line
            begun = None


def changed(begun: dict[str, Any], now: str) -> bool:
    """Whether the text is what the step was to make of the one before it."""
    if begun.get("text") is not None:
        return same(begun["text"], now)
    was, became = world.lines_of(begun["before"]), world.lines_of(now)
    gone, come = was - became, became - was
    if begun.get("learns"):
        return not gone and all(line.endswith("learnt in a chat") for line in come)
    return gone == Counter(begun.get("gone", [])) and come == Counter(begun.get("come", []))


def same(one: str, other: str) -> bool:
    return one.strip() == other.strip()
