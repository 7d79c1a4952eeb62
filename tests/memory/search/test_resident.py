"""The index kept in memory: the same answers as scoring every row, whoever changes whatever."""

import logging
import random
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
import time_machine
from django.db import connections, transaction
from django.test import Client
from django.urls import reverse

from chat.models import Message, Session
from memory.index import backfill
from memory.index.index import Index
from memory.index.resident import rows
from memory.index.resident.rows import Outdated, ResidentIndex
from memory.index.resident.shelf import Place, shelf
from memory.manager import MemoryManager, MemorySearchResult
from memory.models import IndexChange, MemoryIndex, Source
from memory.search import engine, resident
from people.models import User
from tests.memory.conftest import say
from tests.memory.search.test_engine import QUESTIONS, assert_search_is_the_formula, filled
from tests.memory.search.wordvectors import use_word_vectors

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def room(settings: Any) -> Iterator[None]:
    settings.RESIDENT_MB = 64
    shelf.clear()
    yield
    shelf.wait(60)
    shelf.clear()


def choose_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the index in memory choose, in however small a memory; the rows are all scored for comparison."""
    monkeypatch.setattr(resident, "WHOLE", 0)
    monkeypatch.setattr(engine, "WHOLE", 10**9)


def from_memory(user: User, question: str, **limits: Any) -> list[MemorySearchResult]:
    assert shelf.answering(user.pk).place == Place.MEMORY
    found = MemoryManager(user).search_memory(question, **limits)
    assert shelf.answering(user.pk).place == Place.MEMORY, shelf.answering(user.pk).reason
    return found


def from_rows(user: User, question: str, **limits: Any) -> list[MemorySearchResult]:
    held, shelf._held = shelf._held, type(shelf._held)()
    try:
        return MemoryManager(user).search_memory(question, **limits)
    finally:
        shelf._held = held


def assert_same(user: User, questions: list[str], **limits: Any) -> None:
    for question in questions:
        wanted, found = from_rows(user, question, **limits), from_memory(user, question, **limits)
        assert [hit.chunk_id for hit in found] == [hit.chunk_id for hit in wanted], question
        for one, other in zip(found, wanted, strict=True):
            parts = [value for value in one.as_json().values() if isinstance(value, float)]
            others = [value for value in other.as_json().values() if isinstance(value, float)]
            assert parts == pytest.approx(others, abs=1e-5), question
            assert (one.chunk_text, one.anchor, one.speaker) == (
                other.chunk_text,
                other.anchor,
                other.speaker,
            )


@time_machine.travel(NOW, tick=False)
def test_a_search_from_memory_is_the_formula(ada: User, monkeypatch: pytest.MonkeyPatch, settings: Any):
    choose_always(monkeypatch)
    filled(ada)
    assert shelf.load(ada.pk)
    assert_search_is_the_formula(ada, settings)
    assert shelf.answering(ada.pk).place == Place.MEMORY


@time_machine.travel(NOW, tick=False)
def test_the_limits_are_those_of_rows(ada: User, monkeypatch: pytest.MonkeyPatch):
    choose_always(monkeypatch)
    filled(ada)
    assert shelf.load(ada.pk)
    chat = f"chat:{Session.objects.filter(owner=ada)[0].pk}"
    for limits in (
        {"sources": [Source.DAILY_LOG]},
        {"sources": [Source.LONG_TERM, Source.TRANSCRIPT]},
        {"since": date(2026, 1, 3)},
        {"until": date(2025, 12, 1)},
        {"since": date(2025, 11, 1), "until": date(2026, 1, 3)},
        {"leave_out": chat},
        {"leave_out": "chat:unknown"},
        {"top_k": 40},
        {"sources": [Source.DAILY_LOG], "since": date(2030, 1, 1)},
    ):
        assert_same(ada, QUESTIONS[:3], judged=False, **limits)


def test_scores_are_compared_within_days_however_few_rows_are_chosen(ada: User):
    manager = MemoryManager(ada)
    for number in range(40):
        manager.files.append_to_daily_log(date(2026, 1, 1) + timedelta(days=number), "- Tea with Mia")
    manager.files.write_memory_file("# Long-term Memory\n\n## Notes\n- Tea at four\n- A violin\n")
    manager.rebuild_index()
    kept = ResidentIndex.load(ada.pk)
    places, talks, dates = kept.groups(np.arange(kept.size))
    # Each day, and each line without one, has a number of its own.
    assert len(set(talks.tolist())) == len(set(dates.tolist())) == len(set(places.tolist())) == 42
    # Of the last days alone, with numbers far above how many rows there are.
    shelf.load(ada.pk)
    assert_same(ada, ["tea with Mia"], judged=False, since=date(2026, 2, 7))


class Life:
    """What may happen to a memory, one thing at a time."""

    WORDS = [
        "cat",
        "violin",
        "Lisbon",
        "budget",
        "tea",
        "bicycle",
        "garden",
        "office",
        "Mia",
        "Tom",
        "trip",
        "spring",
        "meeting",
        "coffee",
    ]

    def __init__(self, user: User, seed: int) -> None:
        self.user, self.chance, self.memory = user, random.Random(seed), MemoryManager(user)

    def words(self) -> str:
        return " ".join(self.chance.choices(self.WORDS, k=self.chance.randint(3, 7)))

    def day(self) -> date:
        return date(2026, 1, 1) + timedelta(days=self.chance.randrange(20))

    def step(self) -> None:
        self.chance.choice(
            [
                self.log,
                self.log,
                self.remember,
                self.talk,
                self.drop_log,
                self.rewrite,
                self.silence,
                self.off,
            ]
        )()

    def log(self) -> None:
        lines = "\n".join(f"- {self.words()}" for _ in range(self.chance.randint(1, 4)))
        self.memory.files.append_to_daily_log(self.day(), lines)

    def remember(self) -> None:
        self.memory.save_to_long_term_memory(f"{self.words()} {self.chance.randrange(10**6)}")

    def talk(self) -> None:
        said = [self.words() + self.chance.choice([".", "?"]) for _ in range(self.chance.randint(1, 6))]
        say(self.user, *said, at=datetime(2026, 1, 1 + self.chance.randrange(20), 9, tzinfo=UTC))

    def drop_log(self) -> None:
        for path in self.chance.sample(sorted(self.memory.files.daily_folder.glob("*.md")) or [None], 1):
            if path:
                path.unlink()

    def rewrite(self) -> None:
        for path in self.chance.sample(sorted(self.memory.files.daily_folder.glob("*.md")) or [None], 1):
            if path:
                lines = path.read_text().splitlines()
                self.chance.shuffle(lines)
                path.write_text("\n".join([*lines[: len(lines) // 2 + 1], f"- {self.words()}"]) + "\n")

    def silence(self) -> None:
        """Off the record without a word to the index: only the message's row says so."""
        messages = list(Message.objects.filter(session__owner=self.user).values_list("pk", flat=True))
        for id in self.chance.sample(messages, min(2, len(messages))):
            Message.objects.filter(pk=id).update(off_record=self.chance.random() < 0.7)

    def off(self) -> None:
        for chat in Session.objects.filter(owner=self.user).order_by("?")[:1]:
            modes = [Session.MemoryMode.OFF, chat.memory_mode]
            Session.objects.filter(pk=chat.pk).update(memory_mode=self.chance.choice(modes))


@pytest.mark.parametrize("seed", range(4))
@time_machine.travel(NOW, tick=False)
def test_whatever_happens_the_answers_are_those_of_rows(
    ada: User, monkeypatch: pytest.MonkeyPatch, seed: int
):
    choose_always(monkeypatch)
    use_word_vectors(monkeypatch)
    life = Life(ada, seed)
    for _ in range(12):
        life.log()
        life.talk()
    life.memory.rebuild_index()
    assert shelf.load(ada.pk)
    loads = list[int]()
    monkeypatch.setattr(ResidentIndex, "load", lambda owner: loads.append(owner))
    for _ in range(12):
        life.step()
        Index(ada).sync()
        assert_same(ada, [life.words(), f"{life.words()}?"], judged=False)
        assert_same(ada, [life.words()])
    assert not loads, "It follows what changes, and is not read anew."


@time_machine.travel(NOW, tick=False)
def test_what_is_off_the_record_is_silent_at_once_and_decides_nothing(
    ada: User, monkeypatch: pytest.MonkeyPatch
):
    choose_always(monkeypatch)
    filled(ada)
    say(ada, "Mia adopted a tiger cat named Cleo in Lisbon.", at=NOW)
    Index(ada).sync()
    assert shelf.load(ada.pk)
    assert any("Cleo" in hit.chunk_text for hit in from_memory(ada, "Which cat did Mia adopt in Lisbon?"))
    Message.objects.filter(content__contains="Cleo").update(off_record=True)
    assert all("Cleo" not in hit.chunk_text for hit in from_memory(ada, "Which cat did Mia adopt in Lisbon?"))
    assert_same(ada, ["Which cat did Mia adopt in Lisbon?", "tiger"])


def test_other_languages_are_compared_by_both_models(ada: User, monkeypatch: pytest.MonkeyPatch):
    choose_always(monkeypatch)
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log(
        "2026-02-01",
        "- Der Hund heißt Bello und wohnt bei uns im Haus\n- Mia adopted a cat\n- The budget grew",
    )
    Index(ada).sync()
    assert shelf.load(ada.pk)
    held = shelf._held[ada.pk][0]
    assert sorted(held.vectors) == [384, 896]
    found = from_memory(ada, "Wie heißt unser Haustier?", judged=False)
    assert "Bello" in found[0].chunk_text
    assert_same(ada, ["Wie heißt unser Haustier?", "Who has a cat?"], judged=False)


def test_english_read_by_both_models_is_compared_as_in_rows(ada: User, monkeypatch: pytest.MonkeyPatch):
    choose_always(monkeypatch)
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log(
        "2026-02-01",
        "- Der Hund heißt Bello und wohnt bei uns im Haus\n- Mia adopted a cat\n- The budget grew\n"
        "- Tom plays the violin on Sundays",
    )
    manager.search_memory("Wie heißt unser Haustier?")
    backfill.embed_for(ada.pk)
    assert shelf.load(ada.pk)
    assert sorted(shelf._held[ada.pk][0].vectors) == [896, 897]
    questions = ["Wie heißt unser Haustier?", "Who has a cat?", "Welches Instrument spielt Tom?"]
    assert_same(ada, questions, judged=False)
    assert_same(ada, questions)


def test_nobody_finds_what_is_another_users(ada: User, ben: User):
    MemoryManager(ada).files.append_to_daily_log("2026-02-01", "- Mia adopted a cat")
    MemoryManager(ben).files.append_to_daily_log("2026-02-01", "- Tom bought a bicycle")
    for user in (ada, ben):
        Index(user).sync()
        assert shelf.load(user.pk)
    assert [hit.chunk_text for hit in from_memory(ada, "bicycle cat", judged=False)] == ["Mia adopted a cat"]
    assert [hit.chunk_text for hit in from_memory(ben, "bicycle cat", judged=False)] == [
        "Tom bought a bicycle"
    ]


def test_the_least_used_index_gives_way_and_one_too_large_is_not_loaded(
    ada: User, ben: User, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    for user in (ada, ben):
        MemoryManager(user).files.append_to_daily_log("2026-02-01", "- Mia adopted a cat")
        Index(user).sync()
    assert shelf.load(ada.pk)
    # Room for one and a half.
    monkeypatch.setattr("memory.index.resident.shelf.MEGABYTE", int(1.5 * shelf._held[ada.pk][0].nbytes))
    settings.RESIDENT_MB = 1
    assert shelf.load(ben.pk)
    assert shelf.answering(ben.pk).place == Place.MEMORY
    assert shelf.answering(ada.pk).place == Place.DATABASE
    settings.RESIDENT_MB = 0
    shelf.clear()
    assert not shelf.load(ada.pk)
    assert "ONECLAW_RESIDENT_MB" in shelf.answering(ada.pk).reason
    assert from_rows(ada, "Who has a cat?", judged=False)


def test_a_damaged_index_is_thrown_away_and_rows_answer(
    ada: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    filled(ada)
    wanted = [hit.chunk_id for hit in from_rows(ada, QUESTIONS[0])]
    for damage in (
        lambda held: held.vectors[384].bytes.filled.fill(99),
        lambda held: held._ids.filled.fill(-1),
        lambda held: setattr(held, "words", None),
        lambda held: setattr(held, "count", held.count - 1),
    ):
        assert shelf.load(ada.pk)
        damage(shelf._held[ada.pk][0])
        with caplog.at_level(logging.CRITICAL):
            assert [hit.chunk_id for hit in MemoryManager(ada).search_memory(QUESTIONS[0])] == wanted
        assert shelf.answering(ada.pk).place == Place.DATABASE
        assert shelf.answering(ada.pk).reason


def test_what_a_taken_back_transaction_wrote_is_not_kept(ada: User):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-02-01", "- Mia adopted a cat")
    Index(ada).sync()
    assert shelf.load(ada.pk)
    with transaction.atomic():
        manager.files.append_to_daily_log("2026-02-02", "- Tom bought a bicycle")
        assert len(from_memory(ada, "cat bicycle", judged=False)) == 2
        transaction.set_rollback(True)
    assert len(manager.search_memory("cat bicycle", judged=False)) == 2, "The file is indexed again."
    assert MemoryIndex.objects.filter(owner=ada).count() == 2


def test_an_index_that_grows_over_its_bound_is_let_go(
    ada: User, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-02-01", "- Mia adopted a cat")
    Index(ada).sync()
    assert shelf.load(ada.pk)
    monkeypatch.setattr("memory.index.resident.shelf.MEGABYTE", shelf._held[ada.pk][0].nbytes)
    settings.RESIDENT_MB = 1
    assert from_memory(ada, "Who has a cat?", judged=False)
    # Another row takes more than is left.
    manager.files.append_to_daily_log("2026-02-02", "- Tom bought a bicycle")
    assert manager.search_memory("bicycle", judged=False)[0].chunk_text == "Tom bought a bicycle"
    assert shelf.answering(ada.pk).place == Place.DATABASE
    assert "ONECLAW_RESIDENT_MB" in shelf.answering(ada.pk).reason
    settings.RESIDENT_MB = 2
    assert shelf.load(ada.pk)
    assert from_memory(ada, "bicycle", judged=False)[0].chunk_text == "Tom bought a bicycle"
    assert not shelf.answering(ada.pk).reason


@pytest.mark.django_db(transaction=True)
def test_a_half_loaded_index_answers_nothing_and_is_loaded_again(ada: User, monkeypatch: pytest.MonkeyPatch):
    manager = MemoryManager(ada)
    for day, line in (("2026-02-01", "Mia adopted a cat"), ("2026-02-02", "Tom bought a bicycle")):
        manager.files.append_to_daily_log(day, f"- {line}")
    Index(ada).sync()
    read, half_way, go_on = rows.read, threading.Event(), threading.Event()

    def breaking(owner_id: int, *, after: int = 0, ids: Any = None) -> Any:
        if after:
            half_way.set()
            go_on.wait(60)
            raise OSError("the disk is gone")
        return read(owner_id, after=after, ids=ids)

    monkeypatch.setattr(rows, "AT_ONCE", 1)
    monkeypatch.setattr(rows, "read", breaking)
    monkeypatch.setattr("memory.index.resident.shelf.RETRY", 0.0)
    for _ in range(2):
        manager.search_memory("Who has a cat?", judged=False)
    assert half_way.wait(60)
    try:
        # One row of two is there: the database answers.
        assert shelf.answering(ada.pk).place == Place.LOADING
        assert manager.search_memory("bicycle", judged=False)[0].chunk_text == "Tom bought a bicycle"
    finally:
        go_on.set()
        shelf.wait(60)
    assert shelf.answering(ada.pk).place == Place.DATABASE
    assert "the disk is gone" in shelf.answering(ada.pk).reason
    monkeypatch.setattr(rows, "read", read)
    assert manager.search_memory("bicycle", judged=False)[0].chunk_text == "Tom bought a bicycle"
    shelf.wait(60)
    assert from_memory(ada, "bicycle", judged=False)[0].chunk_text == "Tom bought a bicycle"
    assert shelf._held[ada.pk][0].count == 2


def test_a_stale_index_is_left_and_read_again(ada: User):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-02-01", "- Mia adopted a cat")
    Index(ada).sync()
    assert shelf.load(ada.pk)
    held = shelf._held[ada.pk][0]
    manager.files.append_to_daily_log("2026-02-02", "- Tom bought a bicycle")
    Index(ada).sync()
    IndexChange.objects.all().delete()
    with pytest.raises(Outdated):
        held.follow(Index(ada).standing())
    assert manager.search_memory("bicycle", judged=False)[0].chunk_text == "Tom bought a bicycle"
    assert shelf.answering(ada.pk).place == Place.DATABASE
    assert "changed" in shelf.answering(ada.pk).reason
    assert shelf.load(ada.pk)
    assert from_memory(ada, "bicycle", judged=False)[0].chunk_text == "Tom bought a bicycle"
    assert not shelf.answering(ada.pk).reason


@pytest.mark.django_db(transaction=True)
def test_it_is_loaded_in_the_background_and_sees_what_others_write(ada: User):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-02-01", "- Mia adopted a cat")
    for _ in range(2):
        assert shelf.answering(ada.pk).place == Place.DATABASE
        assert manager.search_memory("Who has a cat?", judged=False)
    shelf.wait(60)
    assert shelf.answering(ada.pk).place == Place.MEMORY

    def write() -> None:
        try:
            manager.files.append_to_daily_log("2026-02-02", "- Tom bought a bicycle")
            Index(ada).sync()
        finally:
            connections.close_all()

    other = threading.Thread(target=write)
    other.start()
    other.join(60)
    held = shelf._held[ada.pk][0]
    assert held.count == 1
    assert from_memory(ada, "bicycle", judged=False)[0].chunk_text == "Tom bought a bicycle"
    assert shelf._held[ada.pk][0] is held
    assert held.count == 2


def test_a_question_of_a_hundred_thousand_characters_is_answered(ada: User):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-02-01", "- Mia adopted a cat")
    Index(ada).sync()
    assert shelf.load(ada.pk)
    asked = "Which cat did Mia adopt? " + " ".join(f"word{n}" for n in range(12_000))
    assert len(asked) > 100_000
    assert from_memory(ada, asked, judged=False)[0].chunk_text == "Mia adopted a cat"


def test_estimated_cosines_are_near_and_the_nearest_are_found_by_their_signs():
    from memory.index.resident.vectors import Vectors, largest

    chance = np.random.default_rng(7)
    vectors = chance.normal(size=(30_000, 384)).astype("f4")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    block = Vectors(384, 0)
    block.add(np.arange(20_000), vectors[:20_000])
    asked = vectors[123] + 0.03 * chance.normal(size=384).astype("f4")
    asked /= np.linalg.norm(asked)
    for size in (20_000, 30_000):
        if block.rows.size < size:
            block.add(np.arange(20_000, size), vectors[20_000:])
        true = vectors[:size] @ asked
        assert np.abs(block.cosines(np.arange(size), asked) - true).max() < 0.003
        assert np.argmax(block.by_signs(asked)) == 123
        assert np.argmax(block.by_all_signs(np.arange(size), asked)) == 123
        assert 123 in largest(block.by_signs(asked), 100)


def test_stats_says_where_searches_are_answered(ada: User, client: Client, settings: Any):
    MemoryManager(ada).files.append_to_daily_log("2026-02-01", "- Mia adopted a cat")
    Index(ada).sync()
    client.force_login(ada)
    assert shelf.load(ada.pk)
    assert "Searches are answered from memory" in client.get(reverse("memory:stats")).content.decode()
    settings.RESIDENT_MB = 0
    shelf.clear()
    shelf.load(ada.pk)
    page = client.get(reverse("memory:stats")).content.decode()
    assert "Searches read the database" in page
    assert "ONECLAW_RESIDENT_MB" in page
