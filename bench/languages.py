"""A paraphrase exam in five languages: is the line found that says it in other words?"""

import tomllib
from datetime import date
from pathlib import Path

from memory.manager import MemoryManager
from people.models import User

EXAM = Path(__file__).with_name("languages.toml")
TOP = 5


def measure() -> dict[str, dict[str, int]]:
    """Right answers among the first five: each language in a memory of its own, then all in one."""
    exam = tomllib.loads(EXAM.read_text(encoding="utf-8"))
    together = MemoryManager(User.objects.create(username="languages"))
    alone = dict[str, MemoryManager]()
    for number, (code, said) in enumerate(exam.items(), 1):
        alone[code] = MemoryManager(User.objects.create(username=f"language-{code}"))
        lines = "\n".join(
            f"- {line}" for line in [*(answer for _, answer in said["asked"]), *said["besides"]]
        )
        for memory in (alone[code], together):
            memory.files.append_to_daily_log(date(2026, 5, number), lines)
    for memory in (*alone.values(), together):
        memory.rebuild_index()
    return {
        code: {
            "asked": len(said["asked"]),
            "own memory": sum(found(alone[code], *pair) for pair in said["asked"]),
            "all in one memory": sum(found(together, *pair) for pair in said["asked"]),
            "own, judged": sum(found(alone[code], *pair, judged=True) for pair in said["asked"]),
        }
        for code, said in exam.items()
    }


def found(memory: MemoryManager, question: str, answer: str, *, judged: bool = False) -> bool:
    hits = memory.search_memory(question, top_k=TOP, judged=judged)
    return any(hit.chunk_text == answer for hit in hits)
