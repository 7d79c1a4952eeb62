"""Questions for a time: its log leads, a day without one says nothing, in the user's own zone."""

from datetime import UTC, datetime

import pytest
import time_machine

from memory.index.sources.chats import source_key
from memory.manager import MemoryManager
from memory.search import engine
from people.models import User
from tests.memory.conftest import say

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 5, 20, 9, tzinfo=UTC)  # a Wednesday


@pytest.fixture
def memory(ada: User) -> MemoryManager:
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log(
        "2026-05-19", "- Painted the shed\n- Called the bank\n- Mia cooked paella"
    )
    manager.files.append_to_daily_log("2026-05-18", "- Wrote the report")
    manager.files.append_to_daily_log("2026-05-12", "- Booked the ferry")
    manager.files.append_to_daily_log("2026-04-07", "- Planted tomatoes")
    manager.files.append_to_daily_log("2025-05-03", "- Met Tom at the fair")
    manager.files.write_memory_file("# Long-term Memory\n\n## Notes\n- Yesterday's papers are kept\n")
    say(ada, "The ferry leaves at nine.", at=datetime(2026, 5, 19, 10, tzinfo=UTC))
    return manager


def found(memory: MemoryManager, question: str, **how: object) -> list[str]:
    return [hit.chunk_text for hit in memory.search_memory(question, 50, **how)]  # type: ignore[arg-type]


@pytest.mark.parametrize("choose", [False, True], ids=["whole", "chosen"])
@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("What did we talk about yesterday?", ["Painted the shed", "Called the bank", "Mia cooked paella"]),
        (
            "Worüber haben wir gestern gesprochen?",
            ["Painted the shed", "Called the bank", "Mia cooked paella"],
        ),
        ("我们昨天聊了什么？", ["Painted the shed", "Called the bank", "Mia cooked paella"]),
        ("What did we do on Monday?", ["Wrote the report"]),
        ("What happened last month?", ["Planted tomatoes"]),
        ("What did we do on 2026-05-12?", ["Booked the ferry"]),
        ("what was said on 3 May 2025?", ["Met Tom at the fair"]),
    ],
)
@time_machine.travel(NOW, tick=False)
def test_the_log_of_the_time_leads(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch, choose: bool, question: str, lines: list[str]
):
    if choose:
        monkeypatch.setattr(engine, "WHOLE", 0)
        monkeypatch.setattr(engine, "WHOLE_A_RESULT", 0)
    assert found(memory, question)[: len(lines)] == lines
    block = memory.get_injection_content(question)
    assert all(line in block for line in lines)


@time_machine.travel(NOW, tick=False)
def test_chats_of_the_day_come_after_its_log_and_nothing_else_comes(memory: MemoryManager):
    assert found(memory, "What did we talk about yesterday?")[3:] == ["The ferry leaves at nine."]
    assert found(memory, "What did we do last week?") == [
        "Painted the shed",
        "Called the bank",
        "Mia cooked paella",
        "Wrote the report",
        "Booked the ferry",
        "The ferry leaves at nine.",
    ]
    hit = memory.search_memory("What did we talk about yesterday?")[0]
    assert (hit.score, hit.dated, hit.lent) == (1.0, 1.0, 0.0)


@time_machine.travel(NOW, tick=False)
def test_a_day_without_a_log_says_nothing(memory: MemoryManager):
    assert found(memory, "What did we talk about on 2 May 2026?") == []
    assert found(memory, "What did we do three days ago?") == []
    assert "Relevant Memories" not in memory.get_injection_content("What did we do three days ago?")


@time_machine.travel(NOW, tick=False)
def test_where_we_left_off_is_the_last_day_that_says_anything(memory: MemoryManager, ada: User):
    assert found(memory, "Where did we leave off?")[:3] == [
        "Painted the shed",
        "Called the bank",
        "Mia cooked paella",
    ]
    chat = say(ada, "Where did we leave off?", at=NOW)
    assert found(memory, "Where did we leave off?") == ["Where did we leave off?"]
    assert "Painted the shed" in found(memory, "Where did we leave off?", leave_out=source_key(chat.id))


@time_machine.travel(datetime(2026, 5, 20, 3, tzinfo=UTC), tick=False)
def test_yesterday_is_the_users_own(memory: MemoryManager, ada: User):
    ada.time_zone = "America/Los_Angeles"
    ada.save()
    assert found(MemoryManager(ada), "What did we do yesterday?")[0] == "Wrote the report"


@time_machine.travel(NOW, tick=False)
def test_a_question_with_a_subject_finds_it_first_in_the_named_time(memory: MemoryManager):
    memory.files.append_to_daily_log("2026-02-02", "- Mia cooked lasagne")
    hits = memory.search_memory("What did Mia cook yesterday?")
    assert [hit.chunk_text for hit in hits[:2]] == ["Mia cooked paella", "Mia cooked lasagne"]
    assert (hits[0].dated, hits[1].dated) == (0.2, 0.0)


@time_machine.travel(NOW, tick=False)
def test_another_owners_day_is_not_found(memory: MemoryManager, ben: User):
    assert MemoryManager(ben).search_memory("What did we talk about yesterday?") == []
    assert MemoryManager(ben).search_memory("Where did we leave off?") == []
