"""What a life does until it is killed: it chats, flushes, saves, undoes, compacts, restores and imports.

Before each step a line in the journal says what it may change; after it another, that it was acknowledged.
"""

import json
import os
import random
import time
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.module_loading import import_string
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from chat.models import Message, Run, Session
from connect.importing import uploads
from connect.models import Imported
from memory.manager import MemoryManager, UndoError
from memory.models import RemovedEntries, Revision
from memory.triggers import MemoryTriggers
from people.models import User
from tests.connect import exports
from tests.faults import world

MOST_STEPS = 30
CHATS = 3  # in an archive, unless one asks for more
PATIENCE = 30.0


class Journal:
    """One line a write, appended at once: it outlives its writer."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def note(self, **fields: Any) -> None:
        descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, json.dumps(fields).encode() + b"\n")
        finally:
            os.close(descriptor)

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []


class Life:
    """One process's work on an installation, decided by its dice alone."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.dice = dice
        self.journal = Journal(folder / "journal.jsonl")
        self.backup = folder / "backup.zip"
        self.user = User.objects.get(username="ada")
        self.memory = MemoryManager(self.user)
        self.page = browser(self.user)
        self.words = sum("begin" in line for line in self.journal.read())

    def run(self) -> None:
        steps: list[Callable[[], None]] = [self.start_chat, self.go_on, self.go_on, self.end_chat]
        steps += [self.flush, self.flush, self.work, self.redo, self.remove]
        steps += [self.save, self.save, self.say_again, self.change, self.edit_outside]
        steps += [self.undo, self.undo, self.compact, self.restore]
        steps += [self.rebuild, self.search, self.back_up, self.take_in]
        for _ in range(MOST_STEPS):
            self.dice.choice(steps)()

    def word(self, kind: str) -> str:
        self.words += 1
        return f"{kind}{self.words}"

    def step(self, kind: str, work: Callable[[], object], **may: Any) -> None:
        """Note what the step may change, do it, and note that whoever asked was told that it is done."""
        self.journal.note(begin=kind, before=self.memory.read_long_term_memory(), **may)
        result = work()
        self.journal.note(ack=kind, text=self.memory.read_long_term_memory(), result=result)

    # Chat

    def start_chat(self) -> None:
        self.say(reverse("chat:start"))

    def go_on(self) -> None:
        chat = self.any_chat()
        if chat is None:
            self.start_chat()
        else:
            self.say(reverse("chat:send", args=[chat.id]))

    def say(self, address: str) -> None:
        word = self.word("m")
        data = {"text": f"Please remember {word}"}
        self.step("say", lambda: answered(self.page.post(address, data)), message=word)
        if self.dice.random() < 0.6:
            self.step("reply", lambda: self.until_replied(word))

    def until_replied(self, word: str) -> str:
        """The reply to a message, when it is whole; others may still be growing."""
        prompt = Message.objects.filter(type=Message.Type.USER, content__endswith=f" {word}").get()
        ends = time.monotonic() + PATIENCE
        while Run.objects.filter(prompt=prompt, status__in=Run.OPEN).exists():
            assert time.monotonic() < ends, "The reply never came."
            time.sleep(0.01)
        return word

    def end_chat(self) -> None:
        if chat := self.any_chat():
            self.step("end", lambda: answered(self.page.post(reverse("chat:end", args=[chat.id]))))

    def any_chat(self) -> Session | None:
        own = Session.objects.filter(owner=self.user).exclude(id__in=Imported.objects.values("session_id"))
        chats = list(own.order_by("created_at"))
        return self.dice.choice(chats) if chats else None

    # Daily logs

    def flush(self) -> None:
        if chat := self.any_chat():
            self.step("flush", lambda: bool(self.memory.flush_daily_log(chat.id)), learns=True)

    def work(self) -> None:
        self.step("work", work_off, learns=True)

    def redo(self) -> None:
        def all_days() -> int:
            days = self.memory.files.list_daily_log_dates()
            for day in days:
                MemoryTriggers(self.user).redo_day(day)
            return len(days) + work_off()

        self.step("redo", all_days, learns=True)

    def remove(self) -> None:
        """A chat's entries taken out of the logs; they come back now, or when the round is checked."""
        if chat := self.any_chat():
            address = reverse("memory:forget")
            self.step("remove", lambda: answered(self.page.post(address, {"id": str(chat.id)})))
            if self.dice.random() < 0.5:
                self.step("put back", lambda: put_back(self.user, self.page))

    # Long-term memory

    def save(self) -> None:
        self.add(world.FACT.format(self.word("f")))

    def say_again(self) -> None:
        known = [word for word in world.words_of(self.memory.read_long_term_memory()) if word[0] == "f"]
        if known and world.AGAIN.format(word := self.dice.choice(known)) not in self.text():
            self.add(world.AGAIN.format(word))

    def add(self, fact: str) -> None:
        def save() -> bool:
            return self.memory.save_to_long_term_memory(fact, "notes") is not None

        self.step("save", save, come=[f"- {fact}"])

    def change(self) -> None:
        facts = [line for line in world.lines_of(self.text()) if line.endswith("worth keeping")]
        if not facts:
            return
        old = self.dice.choice(facts)
        new = "- " + world.CHANGED.format(world.words_of(old)[0])

        def change() -> bool:
            # An entry that stands in another one is ambiguous, and stays.
            return self.memory.update_long_term_memory(old, new) == 1

        self.step("change", change, gone=[old], come=[new])

    def undo(self) -> None:
        last = Revision.objects.filter(owner=self.user).first()
        if last is None or last.author == Revision.Author.UNDO:
            return
        was, became = world.lines_of(last.before), world.lines_of(last.after)

        def undo() -> bool:
            try:
                return self.memory.undo(last.pk) is not None
            except UndoError:
                return False

        gone, come = [*(became - was).elements()], [*(was - became).elements()]
        self.step("undo", undo, gone=gone, come=come)

    def compact(self) -> None:
        text = self.text()
        if text.strip():
            expected = world.compacted(text)
            self.step("compact", self.memory.force_compact_memory, text=expected)

    def restore(self) -> None:
        names = self.memory.files.list_backups()
        if names:
            name = self.dice.choice(names)
            text = self.memory.files.read_backup(name)
            self.step("restore", lambda: self.memory.restore_backup(name), text=text)

    def edit_outside(self) -> None:
        """Another program rewrites the file, as editors do: a new one in its place."""
        if not self.text().strip():
            return
        path, line = self.memory.files.memory_path, f"- {world.FACT.format(self.word('f'))}"

        def edit() -> bool:
            path.with_suffix(".edited").write_text(f"{self.text().rstrip()}\n{line}\n")
            path.with_suffix(".edited").replace(path)
            return True

        self.step("edit", edit, come=[line])

    def text(self) -> str:
        return self.memory.read_long_term_memory()

    # Chats of another program

    def take_in(self, count: int = CHATS) -> None:
        word = self.word("i")
        whole = [f"{word}.{number}" for number in range(count)]
        chats = [exports.plain(each, word, f"Imported {each}", "Heard.") for each in whole]
        archive = exports.zipped({"conversations.json": json.dumps(chats)})
        self.step("import", lambda: brought_in(self.user, archive), imported=whole, learns=True)

    # Index and backup

    def rebuild(self) -> None:
        self.step("rebuild", lambda: self.memory.rebuild_index())

    def search(self) -> None:
        self.step("search", lambda: len(self.memory.search_memory("a fact worth keeping")))

    def back_up(self) -> None:
        """All of it into a zip file, whose half is left by a kill and is in nobody's way."""
        self.backup.unlink(missing_ok=True)
        self.step("backup", lambda: call_command("backup", str(self.backup), stdout=StringIO()))


def browser(user: User) -> Client:
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def answered(response: Any) -> int:
    assert response.status_code in (200, 204, 302), response.content[:500]
    status: int = response.status_code
    return status


def brought_in(user: User, archive: bytes) -> str:
    """Uploaded, looked at and taken in, as a page and the worker do it."""
    import_ = uploads.add(uploads.begin(user, "chats.zip", len(archive)), 0, BytesIO(archive))
    work_off()
    import_.refresh_from_db()
    assert uploads.start(import_), import_.error
    work_off()
    import_.refresh_from_db()
    return str(import_.status)


def put_back(user: User, page: Client) -> int:
    """Undo every removal that can still be undone."""
    removed = list(RemovedEntries.objects.filter(owner=user).values_list("pk", flat=True))
    for pk in removed:
        answered(page.post(reverse("memory:remember", args=[pk])))
    return len(removed)


def work_off() -> int:
    """What the worker does: take a task, do it, and only then let it go."""
    done = 0
    while row := OrmQ.objects.filter(lock__lte=timezone.now()).order_by("id").first():
        OrmQ.objects.filter(pk=row.pk).update(lock=timezone.now() + timedelta(seconds=Conf.RETRY))
        task = SignedPackage.loads(row.payload)
        import_string(task["func"])(*task["args"], **task["kwargs"])
        OrmQ.objects.filter(pk=row.pk).delete()
        done += 1
    return done
