"""kill -9 of the process that takes an archive in: started again, it goes on, and no chat is there twice."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from connect.importing.work import BATCH
from connect.models import Import
from tests import running
from tests.faults.kills import Killer, killer

CHATS = BATCH + 5  # so that it goes on from the middle as well as from the start


@pytest.fixture(scope="module")
def hand() -> Iterator[Killer]:
    with killer() as made:
        yield made


def state(home: Path) -> tuple[str, Counter[str]]:
    """What the import is said to be, and which of its messages are here how often."""
    statuses = running.rows(home, "SELECT status FROM connect_import")
    said = running.rows(home, "SELECT content FROM chat_message WHERE content LIKE 'Imported %'")
    return (statuses[0][0] if statuses else ""), Counter(text for (text,) in said)


def test_a_worker_killed_amid_an_import_goes_on_without_doubles(hand: Killer) -> None:
    with hand.installation("whole") as home:
        whole = hand.ask(do="take_in", folder=str(home), seed="0", chats=CHATS)
        assert whole["status"] == 0, hand.log
        status, expected = state(home)
        assert (status, len(expected), expected.total()) == (Import.Status.DONE, CHATS, CHATS)
    amid = set()
    for number in range(2, 6):
        lines = whole["lines"] * number // 6
        with hand.installation(f"import-{number}") as home:
            ended = hand.ask(do="take_in", folder=str(home), seed="0", chats=CHATS, lines=lines)["status"]
            assert ended == -9, hand.log
            status, here = state(home)
            if status == Import.Status.RUNNING:
                amid.add(here.total())
            problems = hand.inspect(home)
            assert not problems, f"Killed after {lines} lines:\n" + "\n".join(problems)
            if status == Import.Status.RUNNING:
                assert state(home) == (Import.Status.DONE, expected)
    assert any(0 < count < CHATS for count in amid), amid
