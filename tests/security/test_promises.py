"""Each promise in docs/security.md and docs/reliability.md names a test that is there."""

import re

import pytest

from tests.running import ROOT


@pytest.mark.parametrize("page", ["security", "reliability"])
def test_every_promise_names_a_test_that_is_there(page: str) -> None:
    text = (ROOT / f"docs/{page}.md").read_text()
    # Other tables have figures in them.
    tables = re.findall(r"^\| promise \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)`", row)
        assert named, row
        assert all((ROOT / path).is_file() for path in named), row


def test_every_suite_here_is_named() -> None:
    text = (ROOT / "docs/security.md").read_text()
    suites = {path.name for path in (ROOT / "tests/security").glob("test_*.py")} - {"test_promises.py"}
    assert {name for name in suites if name not in text} == set()
