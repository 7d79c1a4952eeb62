"""Storage and index against a plain model of what must be there, after any sequence of what people do."""

import itertools
from datetime import date, timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from pytest_django.fixtures import Settings

from chat.models import Message, Session
from memory import embedding
from memory.index import engines
from memory.index.chunks import file_chunks
from memory.manager import MemoryManager, UndoError
from memory.models import MemoryIndex, Revision, Source
from memory.storage import entries
from people.models import User

FIRST = date(2026, 2, 1)
numbers = itertools.count(1)
days = st.integers(0, 3).map(lambda number: FIRST + timedelta(days=number))


class Life(RuleBasedStateMachine):
    """One person's memory. Each thing said holds a word of its own, by which it is found or missed."""

    facts = Bundle("facts")
    chats = Bundle("chats")

    def __init__(self) -> None:
        super().__init__()
        self.user = User.objects.create_user(f"person{next(numbers)}")
        self.memory = MemoryManager(self.user)
        self.words = 0
        self.known: list[str] = []
        self.logged: dict[date, list[str]] = {}
        self.said: dict[int, tuple[Session, str]] = {}

    def word(self) -> str:
        self.words += 1
        return f"zq{self.words}x"

    # MEMORY.md

    @rule(target=facts, section=st.sampled_from(["notes", "projects", "preferences", None]))
    def save(self, section: str | None) -> str:
        word = self.word()
        self.memory.save_to_long_term_memory(f"The thing called {word} matters", section)
        self.known.append(word)
        return word

    @rule(target=facts)
    def edit_outside(self) -> str:
        word, path = self.word(), self.memory.files.memory_path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text() if path.exists() else "# Long-term Memory\n"
        path.with_suffix(".new").write_text(f"{text.rstrip()}\n\n- Written elsewhere about {word}\n")
        path.with_suffix(".new").replace(path)
        self.known.append(word)
        return word

    @rule(target=facts, old=facts)
    def change(self, old: str) -> object:
        if old not in self.known:
            return multiple()
        new = self.word()
        assert self.memory.update_long_term_memory(old, new) == 1
        self.known[self.known.index(old)] = new
        return new

    @rule(word=facts)
    def delete(self, word: str) -> None:
        if word in self.known:
            text = self.memory.read_long_term_memory()
            found = next(entry for entry in entries.entries_of(text) if word in entry.text)
            self.memory.long_term.write(entries.delete(text, found.position, found.key))
            self.known.remove(word)

    @rule()
    def undo(self) -> None:
        last = Revision.objects.filter(owner=self.user).first()
        if last is None or last.author in (Revision.Author.UNDO, Revision.Author.OUTSIDE):
            return
        was, became = words(last.before), words(last.after)
        try:
            self.memory.undo(last.pk)
        except UndoError:
            return
        self.known = [word for word in self.known if word not in became or word in was]
        self.known += [word for word in was if word not in became]

    # Daily logs

    @rule(day=days)
    def log(self, day: date) -> None:
        word = self.word()
        self.memory.files.append_to_daily_log(day, f"- Spoke of {word} at length")
        self.logged.setdefault(day, []).append(word)

    @rule(day=days)
    def lose_a_log(self, day: date) -> None:
        if self.logged.pop(day, None):
            self.memory.files.daily_path(day).unlink()

    # Chats

    @rule(target=chats)
    def start_chat(self) -> Session:
        return Session.objects.create(owner=self.user, title="A chat")

    @rule(chat=chats)
    def say(self, chat: Session) -> None:
        word = self.word()
        made = Message.objects.create(session=chat, type=Message.Type.USER, content=f"What of {word} then")
        self.said[made.pk] = (chat, word)

    @rule(chat=chats, deleted=st.booleans())
    def delete_or_bring_back(self, chat: Session, deleted: bool) -> None:
        Session.objects.filter(pk=chat.pk).update(deleted_at=timezone.now() if deleted else None)
        chat.refresh_from_db()

    @rule(chat=chats, mode=st.sampled_from(Session.MemoryMode.values))
    def switch(self, chat: Session, mode: str) -> None:
        Session.objects.filter(pk=chat.pk).update(memory_mode=mode)
        chat.refresh_from_db()

    @rule()
    def rebuild(self) -> None:
        self.memory.rebuild_index()

    # What must hold

    @invariant()
    def files_say_what_was_said(self) -> None:
        text = self.memory.read_long_term_memory()
        assert sorted(words(text)) == sorted(self.known)
        assert {date.fromisoformat(day) for day in self.memory.files.list_daily_log_dates()} == set(
            self.logged
        )
        for day, expected in self.logged.items():
            assert words(self.memory.files.read_daily_log(day) or "") == expected

    @invariant()
    def the_index_is_made_of_the_files(self) -> None:
        self.memory.search_memory("anything")
        files = {"MEMORY.md": self.memory.read_long_term_memory()} | {
            f"daily/{day}.md": self.memory.files.read_daily_log(day) or "" for day in self.logged
        }
        rows = MemoryIndex.objects.filter(owner=self.user).exclude(source_type=Source.TRANSCRIPT)
        assert set(rows.values_list("source_key", flat=True)) <= set(files)
        for name, text in files.items():
            found = rows.filter(source_key=name).order_by("position").values_list("chunk_text", flat=True)
            assert list(found) == [chunk.text for chunk in file_chunks(text, embedding.engine().count_tokens)]
        assert engines.fulltext().is_sound()

    def teardown(self) -> None:
        """Every word is found, and none that is gone or kept out."""
        self.memory.rebuild_index()
        open_chats = {pk: word for pk, (chat, word) in self.said.items() if remembered(chat)}
        present = {
            *self.known,
            *(word for said in self.logged.values() for word in said),
            *open_chats.values(),
        }
        rows = MemoryIndex.objects.filter(owner=self.user)
        assert {word for text in rows.values_list("chunk_text", flat=True) for word in words(text)} == present
        for word in sorted(present)[:5]:
            # A message before or after it may come first: it lends them its words.
            assert any(word in hit.chunk_text for hit in self.memory.search_memory(word))


def remembered(chat: Session) -> bool:
    chat.refresh_from_db()
    return chat.deleted_at is None and chat.memory_mode != Session.MemoryMode.OFF


def words(text: str) -> list[str]:
    return [word.strip(".,") for word in text.split() if word.startswith("zq")]


@pytest.fixture
def by_words(settings: Settings, data_dir: Path) -> None:
    """Without the model: whether a row is there has nothing to do with its vector."""
    settings.EMBEDDING_MODEL = data_dir / "no-model"


@pytest.mark.django_db
@pytest.mark.usefixtures("by_words")
def test_nothing_is_lost_and_nothing_comes_back() -> None:
    run_state_machine_as_test(
        Life,
        settings=settings(
            max_examples=25,
            stateful_step_count=15,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
            derandomize=True,
        ),
    )
