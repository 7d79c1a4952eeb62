"""Hybrid search: RFC-013's score to the letter, one owner's chunks alone, every script."""

import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
import time_machine
from django.db import connection, connections

from memory import embedding
from memory.index.chunks import searchable
from memory.index.index import Index
from memory.index.sources.chats import source_key
from memory.index.terms import query_terms, terms
from memory.index.vectors import from_bytes
from memory.manager import MemoryManager
from memory.models import MemoryIndex
from memory.search import candidates, engine
from memory.search.engine import HybridSearchEngine
from memory.search.languages import subject_of
from memory.search.times import times_of
from people.models import User
from tests.memory.conftest import say
from tests.memory.search.wordvectors import use_word_vectors

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUESTIONS = [
    "When did Mia adopt the cat?",
    "bicycle",
    "What does the user like to drink?",
    "trips to Lisbon in spring",
    "meeting about the budget and the new office",
    "Who plays the violin?",
    "budget meetings in January 2026",
]


def direct(user: User, query: str, floor: float = 0.9, rate: float = 0.01) -> list[tuple[int, float]]:
    """RFC-013 read aloud, then dates and lending: every chunk scored, nothing clever."""
    rows = list(MemoryIndex.objects.filter(owner=user))
    held = {row.id: Counter(terms(searchable(row.chunk_text, row.context, row.source_date))) for row in rows}
    average = sum(found.total() for found in held.values()) / len(rows)
    words = dict.fromkeys((row.id for row in rows), 0.0)
    for term in query_terms(query):
        holding = sum(term in found for found in held.values())
        idf = math.log((len(rows) - holding + 0.5) / (holding + 0.5) + 1)
        for id, found in held.items():
            count = found[term]
            words[id] += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * found.total() / average))
    vector = embedding.engine().embed(query)
    assert vector is not None
    meaning = {
        row.id: float(np.dot(vector, from_bytes(row.embedding))) if row.embedding else 0.0 for row in rows
    }
    best_words, best_meaning = max(words.values()) or 1.0, max(meaning.values())
    scores, subject = {}, subject_of(times_of(query, NOW.date()).rest or query).terms
    told = {
        term: math.log((len(rows) - holding + 0.5) / (holding + 0.5) + 1)
        for term in subject
        for holding in [max(1, sum(term in found for found in held.values()))]
    }
    for row in rows:
        score = 0.3 * words[row.id] / best_words + 0.7 * meaning[row.id] / best_meaning
        score += 0.2 * sum(told[term] for term in subject if term in held[row.id]) / (sum(told.values()) or 1)
        age = max(0, (NOW - row.created_at).days)
        if row.source_type != "long_term":
            score *= floor + (1 - floor) * math.exp(-rate * age)
        scores[row.id] = max(0.0, score + times_of(query, NOW.date()).bonus(row.source_date))
    whole = lent(rows, scores)
    for row in rows:
        if row.id in whole:
            opens = (terms(row.chunk_text.split()[0]) or [""])[0] in subject
            whole[row.id] += 0.2 * opens - 0.1 * row.chunk_text.endswith("?")
    return sorted(whole.items(), key=lambda item: -item[1])


def lent(rows: list[MemoryIndex], scores: dict[int, float]) -> dict[int, float]:
    """The scores with 0.3 of the best beside each row, 0.4 of its source and day, 0.1 of its day."""
    sources: dict[str, list[MemoryIndex]] = {}
    for row in sorted(rows, key=lambda row: (row.anchor or 0, row.position)):
        sources.setdefault(row.source_key, []).append(row)
    whole = {}
    for beside in sources.values():
        for at, row in enumerate(beside):
            near = [scores[other.id] for other in beside[max(0, at - 2) : at + 3] if other is not row]
            day = [scores[other.id] for other in beside if other.source_date == row.source_date]
            anywhere = [scores[other.id] for other in rows if other.source_date == row.source_date]
            of_day, of_any = (max(day), max(anywhere)) if row.source_date else (scores[row.id],) * 2
            if scores[row.id] > 0:
                whole[row.id] = scores[row.id] + 0.3 * max(near, default=0.0) + 0.4 * of_day + 0.1 * of_any
    return whole


@pytest.fixture
def memory(ada: User) -> MemoryManager:
    """Some 110 chunks of all three sources over five months."""
    return filled(ada)


def filled(ada: User) -> MemoryManager:
    manager = MemoryManager(ada)
    people, deeds = ["Mia", "Tom", "Eva", "Raj"], ["adopted a cat", "bought a bicycle", "plays the violin"]
    places = ["Lisbon", "Kyoto", "the new office", "a café", "the garden"]
    drinks = ["green tea", "coffee", "water", "orange juice"]
    manager.files.write_memory_file(
        "# Long-term Memory\n\n## Preferences\n" + "".join(f"- The user likes {drink}.\n" for drink in drinks)
    )
    for n in range(30):
        day = date(2025, 10, 1) + timedelta(days=5 * n)
        manager.files.append_to_daily_log(
            day,
            f"- {people[n % 4]} {deeds[n % 3]} near {places[n % 5]}\n"
            f"- Talked about trip number {n} to {places[(n + 2) % 5]} in spring\n"
            f"- Meeting {n}: budget of {n * 100} for {places[(n + 1) % 5]}",
        )
    for n in range(8):
        say(
            ada,
            f"I had {drinks[n % 4]} with {people[n % 4]} in {places[n % 5]}.",
            "That sounds nice, how was it?",
            at=datetime(2026, 1, 1 + n, 9, tzinfo=UTC),
        )
    manager.rebuild_index()
    return manager


def always_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have candidates chosen in the smallest memory."""
    monkeypatch.setattr(engine, "WHOLE", 0)
    monkeypatch.setattr(engine, "WHOLE_A_RESULT", 0)


def assert_search_is_the_formula(user: User, settings: Any) -> None:
    for settings.DECAY_FLOOR in (0.9, 0.0):
        for question in QUESTIONS:
            expected = direct(user, question, settings.DECAY_FLOOR)
            hits = HybridSearchEngine(user).search(question, judged=False)
            # Which of the hits without any likeness comes fifth is chance.
            best = [score for _, score in expected[:5] if score > expected[0][1] / 4]
            assert [hit.score for hit in hits][: len(best)] == pytest.approx(best, abs=1e-6), question
            scores = dict(expected)
            assert all(math.isclose(hit.score, scores[hit.chunk_id], abs_tol=1e-6) for hit in hits)


@time_machine.travel(NOW, tick=False)
def test_the_top_five_and_their_scores_are_those_of_the_formulas(memory: MemoryManager, settings: Any):
    assert_search_is_the_formula(memory.user, settings)


@pytest.mark.parametrize("has_vectors", [True, False], ids=["sqlite-vec", "numpy"])
@time_machine.travel(NOW, tick=False)
def test_the_top_five_are_the_same_when_candidates_are_chosen(
    ada: User, settings: Any, monkeypatch: pytest.MonkeyPatch, has_vectors: bool
):
    use_word_vectors(monkeypatch)
    always_choose(monkeypatch)
    # Far fewer than there are, so that the choice matters.
    monkeypatch.setattr(candidates, "MOST_BY_VECTOR", 60)
    monkeypatch.setattr(candidates, "BY_TERMS", 40)
    monkeypatch.setattr(connections["default"], "has_vectors", has_vectors)
    assert_search_is_the_formula(filled(ada).user, settings)


@time_machine.travel(NOW, tick=False)
def test_parts_of_a_score_are_normalised_and_weighed(memory: MemoryManager):
    hits = memory.search_memory("When did Mia adopt the cat?", top_k=40)
    assert max(hit.bm25_score for hit in hits) == pytest.approx(1)
    assert max(hit.vector_score for hit in hits) == pytest.approx(1)
    for hit in hits:
        fading = 0.9 + 0.1 * math.exp(-0.01 * hit.age_in_days) if hit.source_type != "long_term" else 1
        assert hit.decay == pytest.approx(fading)
        whole = (0.3 * hit.bm25_score + 0.7 * hit.vector_score + 0.2 * hit.held) * fading
        assert hit.score == pytest.approx(whole + hit.dated + hit.lent + hit.told)
    best = max(hit.cosine for hit in hits)
    assert 0 < best < 0.99
    assert all(hit.vector_score == pytest.approx(hit.cosine / best) for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].source_date is not None
    assert hits[0].age_in_days == (NOW.date() - date.fromisoformat(hits[0].source_date)).days


@time_machine.travel(NOW, tick=False)
def test_of_two_equal_memories_the_newer_comes_first_and_long_term_never_fades(ada: User):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2024-01-05", "- Swims in the lake")
    manager.files.append_to_daily_log("2026-02-28", "- Swims in the lake")
    manager.files.write_memory_file("- Swims in the lake\n")
    hits = manager.search_memory("swims lake")
    assert hits[0].source_type == "long_term"
    assert [str(hit.source_date) for hit in hits][1:] == ["2026-02-28", "2024-01-05"]
    assert hits[2].score > 0.85 * hits[1].score


@time_machine.travel(NOW, tick=False)
def test_a_log_of_a_coming_day_has_age_zero(ada: User):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-03-09", "- Dentist at nine")
    (hit,) = manager.search_memory("dentist")
    assert hit.age_in_days == 0
    assert hit.score - hit.lent - hit.told == pytest.approx(1.2)


def test_sources_and_dates_limit_where_it_looks(memory: MemoryManager, monkeypatch: pytest.MonkeyPatch):
    for choose in (False, True):
        if choose:
            always_choose(monkeypatch)
        for source in ("daily_log", "long_term", "transcript"):
            hits = memory.search_memory("green tea in the garden", sources=[source], judged=False)
            assert {hit.source_type for hit in hits} == {source}
        december = date(2025, 12, 1), date(2025, 12, 31)
        hits = memory.search_memory(
            "green tea in the garden", 50, since=december[0], until=december[1], judged=False
        )
        assert hits
        assert {(hit.source_date or "")[:7] for hit in hits} == {"2025-12"}
        assert memory.search_memory("tea", sources=["transcript"], until=date(2020, 1, 1)) == []
    with pytest.raises(ValueError):
        memory.search_memory("tea", sources=["elsewhere"])


def test_top_k_is_obeyed(memory: MemoryManager):
    assert len(memory.search_memory("trip")) == 5
    assert len(memory.search_memory("trip", top_k=17)) == 17
    assert memory.search_memory("trip", top_k=0) == []


def test_the_order_is_the_same_every_time(memory: MemoryManager):
    first = memory.search_memory("trip to Lisbon", top_k=60)
    assert memory.search_memory("trip to Lisbon", top_k=60) == first


@pytest.mark.parametrize("query", ["", "  \n ", "\x00"])
def test_an_empty_question_finds_nothing_or_little(memory: MemoryManager, query: str):
    assert len(memory.search_memory(query)) <= 5
    if not query.strip():
        assert memory.search_memory(query) == []


@pytest.mark.parametrize(
    "query",
    [
        'cat" OR "bicycle',
        "cat AND NOT (bicycle NEAR/2 violin) terms:x *",
        "'; DROP TABLE memory_memoryindex; --",
        "^cat + bicycle - violin",
        "{cat} : col",
        "\ud800 cat",
        "%s %d %",
        "cat " * 2500,
        "😀🎉👩‍👩‍👧",
        "?!…",
    ],
)
def test_operators_quotes_and_long_questions_are_only_words(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch, query: str
):
    assert len(memory.search_memory(query, judged=False)) == 5
    assert len(memory.search_memory(query)) <= 5
    always_choose(monkeypatch)
    assert len(memory.search_memory(query, judged=False)) == 5


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("用户喜欢喝绿茶", "绿茶"),
        ("У Миши живёт серая кошка", "серая КОШКА"),
        ("القطة تنام على الكرسي", "القطة"),
        ("고양이는 소파에서 자요", "고양이"),
        ("昨日カレーを作りました", "カレー"),
        ("Die Prüfung war schwierig", "prufung"),
        ("Congratulations 🎉 to the team", "🎉"),
    ],
)
def test_every_script_is_found_by_its_words(ada: User, written: str, asked: str):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-01-05", f"- {written}\n- Something else entirely\n- 别的事情")
    hits = manager.search_memory(asked)
    best = max(hits, key=lambda hit: hit.bm25_score)
    assert best.chunk_text == written
    assert best.bm25_score == 1


def test_meaning_is_found_without_a_common_word(ada: User):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log(
        "2026-01-05", "- The kitten sleeps on the sofa all day\n- Invoices are sent on Mondays\n- Rain again"
    )
    assert "kitten" in manager.search_memory("where does my cat nap?")[0].chunk_text


@time_machine.travel(NOW, tick=False)
def test_another_owner_changes_no_score_and_is_never_found(memory: MemoryManager, ben: User):
    before = memory.search_memory("Mia adopted a cat", top_k=20)
    other = MemoryManager(ben)
    for n in range(30):
        other.files.append_to_daily_log(date(2026, 1, 1) + timedelta(days=n), f"- Mia adopted cat {n}")
    other.rebuild_index()
    assert memory.search_memory("Mia adopted a cat", top_k=20) == before
    found = {hit.chunk_id for hit in other.search_memory("Mia plays the violin", top_k=100, judged=False)}
    assert set(MemoryIndex.objects.filter(id__in=found).values_list("owner", flat=True)) == {ben.pk}


def test_vectors_written_without_sqlite_vec_are_listed_when_it_is_back(
    ada: User, monkeypatch: pytest.MonkeyPatch
):
    always_choose(monkeypatch)
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-01-05", "- The kitten sleeps\n- Invoices are sent")
    with monkeypatch.context() as without:
        without.setattr(connections["default"], "has_vectors", False)
        assert "kitten" in manager.search_memory("cat nap")[0].chunk_text
        manager.files.append_to_daily_log("2026-01-06", "- A parrot talks")
        assert "parrot" in manager.search_memory("bird")[0].chunk_text
    assert "parrot" in manager.search_memory("bird")[0].chunk_text
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM memory_vectors_384")
        assert cursor.fetchone() == (3,)


def test_terms_that_nearly_every_chunk_holds_still_find(ada: User, monkeypatch: pytest.MonkeyPatch):
    always_choose(monkeypatch)
    monkeypatch.setattr(candidates, "MATCHES", 5)
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-01-05", "\n".join(f"- Project note {n}" for n in range(60)))
    Index(ada).rebuild()
    assert len(manager.search_memory("project note")) == 5


def test_a_long_chat_that_is_left_out_crowds_out_nothing(ada: User, monkeypatch: pytest.MonkeyPatch):
    always_choose(monkeypatch)
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-01-05", "- The kitten naps on the sofa")
    chat = say(ada, *(f"Where does my cat sleep, asked for the time number {n}?" for n in range(260)))
    manager.rebuild_index()
    for has_vectors in (True, False):
        monkeypatch.setattr(connections["default"], "has_vectors", has_vectors)
        hits = manager.search_memory("Where does my cat sleep?", leave_out=source_key(chat.id))
        assert [hit.chunk_text for hit in hits] == ["The kitten naps on the sofa"]
