"""Promises in the documentation name tests that are there."""

import re

import pytest

from tests.running import ROOT

NAMED = re.compile(r"tests/[\w/]+\.py")


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_every_named_test_is_there(page) -> None:
    missing = [name for name in NAMED.findall(page.read_text()) if not (ROOT / name).is_file()]
    assert not missing


def test_each_promise_of_reliability_has_a_test() -> None:
    rows = [
        line
        for line in (ROOT / "docs" / "reliability.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith(("| promise", "| what happens", "|---"))
    ]
    assert len(rows) > 10
    assert all(NAMED.search(row.rsplit("|", 2)[1]) for row in rows)
