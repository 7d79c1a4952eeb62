"""The comparison with other stores: what it needs beyond OneClaw may be missing, and it says so."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from bench.peers import page
from bench.peers.stores import OpenClaw
from tests.bench.test_bench import CONVERSATION

ROWS: list[dict[str, Any]] = [
    {"store": "OneClaw", "version": "1", "R@5": 0.7, "MRR@5": 0.5, "characters": 500, "ms": 3.0},
    {"store": "a <peer>", "version": "2", "R@5": 0.6, "MRR@5": 0.6, "characters": 400, "ms": 1.0},
    {"store": "another", "version": "", "fault": "not installed: another"},
]


def test_the_best_of_each_column_is_bold_whoever_it_is():
    table = page.table(ROWS, 12)
    assert "| OneClaw | 1 | **0.7** | 0.5 | 500 | 3.0 |" in table
    assert "| a <peer> | 2 | 0.6 | **0.6** | 400 | **1.0** |" in table
    assert "| another | – | not installed: another |" in table
    assert table.endswith("Best recall: OneClaw. Quickest: a <peer>.")


def test_table_and_plot_go_into_the_page(tmp_path: Path):
    there = tmp_path / "retrieval.md"
    there.write_text(f"Before\n{page.MARKS[0]}\nold\n{page.MARKS[1]}\nAfter\n")
    page.write(there, ROWS, 12)
    page.write(there, ROWS, 12)
    text = there.read_text()
    assert text.startswith("Before\n")
    assert text.endswith("After\n")
    assert "old" not in text
    assert text.count("12 questions") == 1
    assert "a &lt;peer&gt; (0.6)" in (tmp_path / page.PLOT).read_text()
    there.write_text("No place")
    with pytest.raises(ValueError, match="no place"):
        page.write(there, ROWS, 12)


def test_sqlite_joins_words_and_vectors(tmp_path: Path):
    vectors = np.eye(3, dtype=np.float32)
    store = OpenClaw(tmp_path, ["a red bicycle", "a grey cat", "the nine o'clock train"], vectors)
    assert store.ask("cat", vectors[0], 2) == [0, 1]
    assert store.ask("nine train", vectors[2], 1) == [2]


@pytest.mark.sqlite  # which it measures
@pytest.mark.django_db(transaction=True)
def test_a_run_needs_no_other_store_to_be_installed(tmp_path: Path):
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([CONVERSATION]))
    out = StringIO()
    call_command("peers", "--locomo", str(file), stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("2 questions")
    assert any(line.startswith("| OneClaw |") for line in lines)
    assert any(line.startswith("| sqlite-vec + FTS5 (OpenClaw) | sqlite-vec ") for line in lines)
