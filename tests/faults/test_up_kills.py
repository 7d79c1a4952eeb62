"""kill -9 of the real tree: web, worker and `up` itself, while a browser chats and memory is written."""

import os
import random
import signal
from collections.abc import Iterator

import pytest

from tests.faults.kills import Killer, killer, seeds
from tests.faults.visitor import Visitor
from tests.running import alive, oneclaw

# A chain of rounds here is a whole `up` with three kills: one in the suite, more in `make soak`.
ROUNDS, SHARE = 5, 10


@pytest.fixture(scope="module")
def hand() -> Iterator[Killer]:
    with killer() as made:
        yield made


@pytest.mark.parametrize("seed", seeds(ROUNDS, share=SHARE))
def test_the_whole_tree_survives_kills(hand: Killer, seed: int) -> None:
    dice = random.Random(seed)
    with hand.installation(f"up-{seed}") as home:
        with oneclaw(home) as running:
            visitor = Visitor(running, home, dice)
            visitor.log_in()
            for words in dice.sample(["oneclaw.server.web", "manage.py worker"], 2):
                visitor.visit(dice.uniform(0.3, 2.0))
                os.kill(dice.choice(running.find(words)), signal.SIGKILL)
                visitor.visit(dice.uniform(0.0, 1.0))
                running.wait_until(lambda: running.says("status") == "ok", 120.0)
            visitor.visit(dice.uniform(0.3, 2.0))
            family = list(running.processes())
            running.kill()
            running.wait_until(lambda: not alive(family))
        problems = hand.inspect(home)
        assert not problems, f"FAULTS_SEED={seed}\n" + "\n".join(problems) + f"\n{running.log[-2000:]}"
