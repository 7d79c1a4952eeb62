"""An upgrade from any earlier version keeps everything; one that is killed is done by the next start."""

import random
from collections.abc import Iterator

import pytest

from oneclaw.postgres import is_postgres
from tests import running
from tests.faults.kills import Killer, killer

# Forty states are made and updated one after the other, which a busy machine takes minutes for.
pytestmark = pytest.mark.timeout(900)
# On PostgreSQL, where a database takes longer to make: one state in so many.
STEP = 8


@pytest.fixture(scope="module")
def hand() -> Iterator[Killer]:
    with killer() as made:
        yield made


def test_every_earlier_state_is_upgraded_with_all_that_was_in_it(hand: Killer) -> None:
    states: list[list[list[str]]] = hand.ask(do="states", folder=str(hand.folder / "states"))["states"]
    assert len(states) >= 30, hand.log
    states = states[::STEP] if is_postgres() else states
    base = hand.folder / "base"
    for number, targets in enumerate(states):
        own = [f"{app}.{name}" for app, name in targets]
        # The one before, and a few migrations more.
        begun = hand.ask(do="build", folder=str(base), targets=targets, empty=True)
        assert begun["status"] == 0, f"{own}\n{hand.log}"
        home = hand.folder / f"upgrade-{number}"
        running.copy(base, home)
        assert hand.ask(do="build", folder=str(home), targets=targets)["status"] == 0, f"{own}\n{hand.log}"
        problems = hand.ask(do="upgrade", folder=str(home))["problems"]
        assert not problems, f"From {own}:\n" + "\n".join(problems) + f"\n{hand.log}"
        running.remove(home)


def test_an_upgrade_that_is_killed_is_finished_by_the_next_start(hand: Killer) -> None:
    targets = hand.ask(do="states", folder=str(hand.folder / "first"))["states"][0]
    assert hand.ask(do="build", folder=str(hand.folder / "old"), targets=targets)["status"] == 0, hand.log
    home = hand.folder / "whole"
    running.copy(hand.folder / "old", home)
    whole = hand.ask(do="manage", folder=str(home), command=["migrate", "--verbosity", "0"])
    assert whole["status"] == 0, hand.log
    dice = random.Random(11)
    for number in range(2 if is_postgres() else 5):
        home = hand.folder / f"killed-{number}"
        running.copy(hand.folder / "old", home)
        lines = dice.randint(1, whole["lines"])
        told = hand.ask(do="manage", folder=str(home), command=["migrate", "--verbosity", "0"], lines=lines)
        assert told["status"] == -9, (lines, whole, hand.log)
        problems = hand.ask(do="upgrade", folder=str(home))["problems"]
        assert not problems, f"killed after {lines} of {whole['lines']} lines:\n" + "\n".join(problems)
        running.remove(home)
