"""A paraphrase exam in five languages: is the line found that says it in other words, or in English?"""

import tomllib
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from bench.retrieval.judgement import IDLE
from memory.index import backfill
from memory.manager import MemoryManager
from people.models import User

EXAM = Path(__file__).with_name("languages.toml")
TOP = 5


def measure() -> dict[str, dict[str, int]]:
    """Right answers among the first five: a language by itself, all in one memory, and across two."""
    exam = tomllib.loads(EXAM.read_text(encoding="utf-8"))
    alone = {code: remembering(code, [lines_of(said)]) for code, said in exam.items()}
    together = remembering("all", map(lines_of, exam.values()))
    english = remembering("english", ([line for _, line in said["english"]] for said in exam.values()))
    # The first question in another language has the worker read English lines by the second model too.
    english.search_memory("Welches Haustier habe ich?")
    backfill.embed_for(english.user.pk)
    return {code: marks(said, alone[code], together, english) for code, said in exam.items()}


def marks(
    said: dict[str, Any], alone: MemoryManager, together: MemoryManager, english: MemoryManager
) -> dict[str, int]:
    asked = said["asked"]
    # Question and line of different languages, both ways.
    to_english = [(question, line) for (question, _), (_, line) in zip(asked, said["english"], strict=True)]
    from_english = [(question, line) for (_, line), (question, _) in zip(asked, said["english"], strict=True)]
    return {
        "asked": len(asked),
        "own memory": right(alone, asked),
        "all in one memory": right(together, asked),
        "own, judged": right(alone, asked, judged=True),
        "of English lines": right(english, to_english),
        "the same, judged": right(english, to_english, judged=True),
        "asked in English": right(alone, from_english),
        "in English, judged": right(alone, from_english, judged=True),
        "idle left alone": sum(not alone.search_memory(message) for message in IDLE),
    }


def lines_of(said: dict[str, Any]) -> list[str]:
    return [*(answer for _, answer in said["asked"]), *said["besides"]]


def remembering(name: str, days: Iterable[list[str]]) -> MemoryManager:
    """A memory of these logs, a day each."""
    memory = MemoryManager(User.objects.create(username=f"languages-{name}"))
    for number, lines in enumerate(days, 1):
        memory.files.append_to_daily_log(date(2026, 5, number), "\n".join(f"- {line}" for line in lines))
    memory.rebuild_index()
    return memory


def right(memory: MemoryManager, pairs: Iterable[tuple[str, str]], *, judged: bool = False) -> int:
    """How many questions find their line."""
    return sum(
        any(hit.chunk_text == answer for hit in memory.search_memory(question, top_k=TOP, judged=judged))
        for question, answer in pairs
    )
