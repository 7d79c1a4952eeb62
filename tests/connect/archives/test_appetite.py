"""A small archive that is made to fill the memory of its reader, measured in a process of its own."""

import base64
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from connect.archives.values import TOO_LONG, TOO_MANY
from tests.connect import exports
from tests.connect.exports import node
from tests.running import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measures as Linux tells it")
MOST = 160  # MB beyond what the program takes by itself


def read(path: Path) -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, "-m", "tests.connect.archives.appetite", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def packed(path: Path, parts: Iterable[tuple[str, Any]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, value in parts:
            archive.writestr(name, json.dumps(value))
    return path


def noted(key: str, *texts: str) -> dict[str, Any]:
    nodes = [
        node(f"{key}-{number}", f"{key}-{number - 1}" if number else None, "assistant", text, recipient="bio")
        for number, text in enumerate(texts)
    ]
    return exports.conversation(nodes, nodes[-1]["id"], key)


def test_a_bomb_in_parts_is_refused(tmp_path):
    parts = (
        (
            f"conversations-{part:03}.json",
            [noted(f"c{part}", *(f"{number}{'x' * 2**20}" for number in range(10)))],
        )
        for part in range(24)
    )
    found = read(packed(tmp_path / "b.zip", parts))
    assert found["why"] == {"This ZIP unpacks to far more than any text does.": 1}


def test_notes_without_end_are_counted_not_kept(tmp_path):
    """Of words that pack as badly as real ones do."""
    words = base64.b64encode(os.urandom(30_000)).decode()

    def parts() -> Iterable[tuple[str, Any]]:
        for part in range(24):
            long = (f"{part} {number} {words * 25}" for number in range(4))
            short = (f"{part} {number} {words[:1900]}" for number in range(150))
            yield f"conversations-{part:03}.json", [noted(f"c{part}", *long, *short)]

    found = read(packed(tmp_path / "n.zip", parts()))
    assert found["found"]["ForeignMemory"] == 2_000
    assert found["why"] == {TOO_LONG: 24 * 4, TOO_MANY: 24 * 150 - 2_000}
    assert found["megabytes"] < MOST


def test_a_chat_that_is_too_large_is_left_out(tmp_path):
    words = base64.b64encode(os.urandom(600_000)).decode()

    def chat(key: str, count: int, text: str) -> dict[str, Any]:
        nodes = [node(f"{key}{n}", f"{key}{n - 1}", "user", text) for n in range(count)]
        return exports.conversation(nodes, nodes[-1]["id"], key)

    # One such letter makes Python keep four bytes for each.
    chats = [chat("wide", 10, f"🙂{words}"), chat("long", 32, words), chat("large", 22, f"🙂{words}")]
    found = read(packed(tmp_path / "l.zip", [("conversations.json", chats)]))
    assert found["found"]["ForeignChat"] == 1
    assert set(found["why"]) == {"It has more than 24,000,000 characters.", "It is too large."}
    assert found["megabytes"] < MOST
