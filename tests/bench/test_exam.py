"""The exam in writing memory: answers are replayed, missing ones are told, and every fault costs a mark."""

import json
from pathlib import Path

import pytest

from bench import exam
from bench.exam.marking import marked, says, summed
from bench.exam.recorded import Recorded, key
from bench.scratch import scratch

TRUTH = {
    "id": "moved",
    "about": "A fact that changed",
    "memory": ["User Profile|Lives in Leeds|2026-01-05"],
    "chats": [{"at": "2026-06-09T18:30", "say": ["U: We moved to York.", "A: Lovely.", "U: Ferns it is."]}],
    "must": [{"fact": "York", "words": ["live|moved", "york"]}],
    "may": [],
    "must_not": [
        {"fact": "Leeds", "kind": "stale", "words": ["leeds"]},
        {"fact": "Token", "kind": "secret", "words": ["ghp_"]},
        {"fact": "Ferns", "kind": "junk", "words": ["fern"]},
    ],
    "log": [{"day": "2026-06-09", "words": ["fern"]}],
}
ANSWER = "## Daily Summary\n- Chose ferns\n\n## Long-term Facts\n- [profile] Lives in York (replaces 1)"


def test_two_requests_are_the_same_but_for_the_marks_drawn_by_chance():
    def asked(nonce: str, text: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": f"<<<data {nonce}>>>\n{text}\n<<<end of data {nonce}>>>"}]

    assert key(asked("0" * 16, "x")) == key(asked("a" * 16, "x"))
    assert key(asked("0" * 16, "x")) != key(asked("0" * 16, "y"))


@pytest.mark.sqlite  # which it measures
@pytest.mark.django_db(transaction=True)
def test_a_recorded_exam_is_marked_again_and_a_missing_answer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "conversations.json").write_text(json.dumps([TRUTH]))
    with scratch():
        papers, unanswered = exam.take(tmp_path)
    assert unanswered == 1
    assert papers[0].entries == ["Lives in Leeds"]
    assert papers[0].marks.counts["stale"] == 1
    asked = list[str]()

    def remember(self: Recorded, messages: list[dict[str, str]]) -> str:
        asked.append(key(messages))
        return ANSWER

    with monkeypatch.context() as patched, scratch():
        patched.setattr(Recorded, "answer", remember)
        exam.take(tmp_path)
    (tmp_path / "answers.json").write_text(json.dumps({asked[0]: ANSWER}))
    with scratch():
        papers, unanswered = exam.take(tmp_path)
    assert unanswered == 0
    assert papers[0].entries == ["Lives in York"]
    assert papers[0].logs == {"2026-06-09": papers[0].logs["2026-06-09"]}
    assert papers[0].marks.faults == []


def test_every_fault_costs_a_mark():
    entries = ["Moved to York", "Lives in York", "Lives in Leeds", "Likes ferns", "Owns a boat"]
    marks = marked(TRUTH, entries, {"2026-06-09": "- Set the token ghp_x"})
    found = summed([marks], unanswered=2)
    assert found == {
        "wanted facts": 1.0,
        "log points": 0.0,
        "entries": 5,
        "junk": 0.6,
        "repeats": 1,
        "stale": 1,
        "injections": 0,
        "secrets": 1,
        "off the record": 0,
        "forgotten": 0,
        "unanswered": 2,
    }
    assert summed([marked(TRUTH, [], {})], 0)["wanted facts"] == 0.0


def test_a_fact_is_recognised_in_any_of_its_ways():
    assert says("MOVED to York in May", ["live|moved", "york"])
    assert not says("Lives in Leeds", ["live|moved", "york"])


def test_the_exam_is_large_enough_and_its_answers_are_recorded():
    conversations = json.loads((exam.FOLDER / "conversations.json").read_text(encoding="utf-8"))
    assert len(conversations) >= 20
    assert len({each["id"] for each in conversations}) == len(conversations)
    assert json.loads((exam.FOLDER / "answers.json").read_text(encoding="utf-8"))
