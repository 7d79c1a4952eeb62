"""Lending: a hit gains by good hits beside it and by its day's best, in a memory of any size."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
import time_machine
from django.db import connections

from memory.manager import MemoryManager
from memory.search import candidates, engine
from memory.search.lending import Groups, Neighbours
from people.models import User
from tests.memory.conftest import say
from tests.memory.search.test_engine import QUESTIONS, always_choose, filled
from tests.memory.search.wordvectors import use_word_vectors

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_the_best_within_two_places_of_the_same_source_lends():
    scores = np.array([1.0, 0.1, 0.2, 0.3, 0.8])
    sources = np.array([1, 1, 1, 1, 2])
    days = np.array([7, 7, 7, 7, 7])
    beside = Neighbours(Groups.of(sources, days, np.array([1, 2, 3, 4, 5]))).beside(scores)
    assert beside.tolist() == [0.2, 1.0, 1.0, 0.2, 0.0]
    # In any order, and with places that were not read between them.
    beside = Neighbours(Groups.of(sources, days, np.array([9, 1, 7, 6, 8]))).beside(scores)
    assert beside.tolist() == [0.2, 0.0, 1.0, 0.2, 0.0]
    alone = Neighbours(Groups.of(np.array([1]), np.array([7]), np.array([1])))
    assert alone.beside(np.array([1.0])).tolist() == [0.0]


def test_the_best_of_the_same_source_and_day_lends():
    scores = np.array([1.0, 0.5, 0.4, 0.3, 0.2])
    sources, days = np.array([1, 1, 1, 2, 2]), np.array([7, 7, 8, 0, 0])
    neighbours = Neighbours(Groups.of(sources, days, np.array([1, 5, 6, 1, 9])))
    assert neighbours.best_of(scores, neighbours.talks).tolist() == [1.0, 1.0, 0.4, 0.3, 0.2]
    expected = [0.5, 0.5 + 0.3 * 0.4, 0.2 + 0.3 * 0.5, 0.15, 0.1]
    assert neighbours.bests(scores).lent.tolist() == pytest.approx(expected)


def test_the_best_of_a_day_lends_a_little_to_its_other_sources():
    scores, sources = np.array([1.0, 0.5, 0.5]), np.array([1, 2, 3])
    neighbours = Neighbours(Groups.of(sources, np.array([7, 7, 8]), np.array([1, 1, 1])))
    assert neighbours.bests(scores).lent.tolist() == pytest.approx([0.5, 0.4 * 0.5 + 0.1 * 1.0, 0.5 * 0.5])


@pytest.mark.django_db
@time_machine.travel(NOW, tick=False)
def test_the_line_after_a_good_one_comes_before_a_like_line_elsewhere(ada: User):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-02-01", "- Went to Lisbon by train\n- Stayed with Eva for a week")
    manager.files.append_to_daily_log("2026-02-02", "- Stayed with Tom for a week")
    hits = manager.search_memory("Who did I stay with for a week in Lisbon?")
    texts = [hit.chunk_text for hit in hits]
    assert texts.index("Stayed with Eva for a week") < texts.index("Stayed with Tom for a week")
    eva = next(hit for hit in hits if "Eva" in hit.chunk_text)
    whole = (0.3 * eva.bm25_score + 0.7 * eva.vector_score + 0.2 * eva.held) * eva.decay
    assert eva.score == pytest.approx(whole + eva.dated + eva.lent + eva.told)
    assert eva.lent > 0.4 * eva.score / 2


@pytest.mark.django_db
@pytest.mark.parametrize("has_vectors", [True, False], ids=["sqlite-vec", "numpy"])
@time_machine.travel(NOW, tick=False)
def test_the_top_five_of_chosen_candidates_are_those_of_all(
    ada: User, monkeypatch: pytest.MonkeyPatch, has_vectors: bool
):
    use_word_vectors(monkeypatch)
    manager = filled(ada)
    chat = say(ada, "Hello.", "Hi.", at=NOW - timedelta(days=2))
    # Another chat goes on meanwhile: neighbours are counted in their own chat.
    say(ada, "The violin needs a new string.", at=NOW - timedelta(days=2))
    say(ada, "It was in spring.", "With Mia, in Lisbon.", session=chat, at=NOW - timedelta(days=2))
    questions = [*QUESTIONS, "What was with Mia in Lisbon in spring?"]
    whole = [manager.search_memory(question, judged=False) for question in questions]
    always_choose(monkeypatch)
    monkeypatch.setattr(candidates, "MOST_BY_VECTOR", 60)
    monkeypatch.setattr(candidates, "BY_TERMS", 40)
    monkeypatch.setattr(connections["default"], "has_vectors", has_vectors)
    for question, expected in zip(questions, whole, strict=True):
        chosen = manager.search_memory(question, judged=False)
        # Which of the hits without any likeness comes fifth is chance.
        good = [hit for hit in expected if hit.score - hit.lent > (expected[0].score - expected[0].lent) / 4]
        assert [hit.score for hit in chosen][: len(good)] == pytest.approx([hit.score for hit in good]), (
            question
        )


@pytest.mark.django_db
def test_neighbours_of_the_best_are_read_where_they_were_not_chosen(
    ada: User, monkeypatch: pytest.MonkeyPatch
):
    use_word_vectors(monkeypatch)
    always_choose(monkeypatch)
    manager = MemoryManager(ada)
    lines = [f"- Filler {n} of nothing" for n in range(40)]
    lines[20:22] = ["- Zebra crossing painted", "- Took nine hours"]
    manager.files.append_to_daily_log("2026-02-01", "\n".join(lines))
    manager.rebuild_index()
    monkeypatch.setattr(candidates, "by_vector", lambda *_: [])
    hits = {hit.chunk_text: hit for hit in manager.search_memory("zebra crossing", judged=False)}
    assert hits["Took nine hours"].lent > 0.6
    assert "Filler 30 of nothing" not in hits
    monkeypatch.setattr(engine, "LENDERS", 1)
    assert "Took nine hours" in {
        hit.chunk_text for hit in manager.search_memory("zebra crossing", judged=False)
    }


@pytest.mark.django_db
@time_machine.travel(NOW, tick=False)
def test_a_named_month_lifts_what_was_then(ada: User):
    manager = MemoryManager(ada)
    for month in (3, 5, 8):
        manager.files.append_to_daily_log(date(2025, month, 4), "- Mia ran a half marathon")
    hits = manager.search_memory("Which race did Mia run in May?")
    assert hits[0].source_date == "2025-05-04"
    assert [round(hit.dated, 2) for hit in hits] == [0.10, 0.0, 0.0]
