"""No pattern of ours takes more than its share of time over a text that was made to be slow.

`re` holds the interpreter while it matches: a pattern that is quadratic in what somebody wrote stops
everybody's pages. The patterns are tried in a process of their own, which can be ended.
"""

import json
import re
import subprocess
import sys

import pytest

from tests.running import ROOT
from tests.security.patterns import Found, find, try_out

SECONDS = 400


def test_every_pattern_is_linear_in_hard_text() -> None:
    try:
        run = subprocess.run(
            [sys.executable, "-m", "tests.security.patterns"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as ended:
        said = (ended.stdout or b"").decode().splitlines()
        pytest.fail(f"It never ended: {said[-1] if said else 'nothing was tried'}")
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    assert [line for line in lines if "slow" in line] == []
    assert lines[0] == {"unseen": []}
    assert lines[-1]["done"] == sum("trying" in line for line in lines) > 80


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+$",
        r"(?m)^\s*>",
        r"<\s*/?\s*memory",
        r"<!-- x.*?-->",
        r"\[\s*x?\s*\]",
        r"\w+@\w+",
    ],
)
def test_a_pattern_that_is_not_linear_is_found_out(pattern: str) -> None:
    # Beside other work a measure may be off; one of a few is right.
    assert any(try_out(Found("here", re.compile(pattern), ("search",))) for _ in range(5))


def test_patterns_are_found_wherever_they_are() -> None:
    found, unseen = find()
    where = {one.where for one in found}
    assert unseen == []
    assert any(place.endswith(".COMMENT") for place in where)  # a name of a module
    assert "memory.index.chunks.BOUNDARIES" in where  # in a tuple
    assert "chat.providers.presets.FAMILIES" in where  # in a dataclass
    assert "memory.dailylog.highlights.cues.signs" in where  # made when first asked
    assert any(place.startswith("memory.dailylog.summary:") for place in where)  # without a name
    uses = {one.where.rpartition(".")[2]: one.uses for one in found}
    assert uses["LIST_MARK"] == ("match",)
