"""kill -9 at random points of everything at once: some rounds here, a thousand in `make soak`.

A round that fails names its seed: `FAULTS_SEED=17 python -m pytest tests/faults/test_kills.py` replays it.
"""

from collections.abc import Iterator

import pytest

from oneclaw.postgres import is_postgres
from tests.faults.kills import CHAIN, Killer, killer, seeds

# On PostgreSQL a round takes longer: a database is made and its backup copied for each.
ROUNDS = 15 if is_postgres() else 50


@pytest.fixture(scope="module")
def hand() -> Iterator[Killer]:
    with killer() as made:
        yield made


@pytest.mark.parametrize("seed", seeds(ROUNDS))
def test_nothing_is_lost_or_doubled_by_kills(hand: Killer, seed: int) -> None:
    assert 0 < hand.chain(seed) <= CHAIN
