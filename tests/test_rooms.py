"""Which room may import which: the rule that keeps memory, chat and the project apart."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("oneclaw", "people", "memory", "chat", "localmodel")

# Of chat, memory may know the rows, the one function that asks a model and the error it raises; only here.
ASKING = ("memory.dailylog", "memory.compaction", "memory.tasks", "memory.transcripts")
# Pages and commands may look at the rows, to link an entry to the chat it came from.
LINKING = ("memory.views", "memory.management.")


def may_import(module: str, target: str) -> bool:
    """Whether a module may import another room's module."""
    room, other = module.split(".")[0], target.split(".")[0]
    if room == other or other not in ("memory", "chat"):
        return True
    if room == "oneclaw":
        return module in {"oneclaw.urls", "oneclaw.settings"}
    if room == "chat":
        return target in {"memory.manager", "memory.triggers", "memory.tools"}
    if room == "memory":
        if module in ASKING or module.startswith("memory.dailylog."):
            return target in {"chat.models", "chat.ask", "chat.errors"}
        return module.startswith(LINKING) and target == "chat.models"
    return False


def imports(source: str) -> Iterator[str]:
    """The modules of our rooms that a piece of code imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from memory import manager` names a module, `from memory.manager import X` is in one.
            alone = node.module in ROOMS
            yield from (f"{node.module}.{alias.name}" if alone else node.module for alias in node.names)


def modules() -> list[tuple[str, Path]]:
    files = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    return [(name.removesuffix(".__init__"), file) for name, file in zip(names, files, strict=True)]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    wrong = {
        f"{name} imports {target}"
        for name, file in modules()
        if name.split(".")[0] == room
        for target in imports(file.read_text())
        if not may_import(name, target)
    }
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("memory.search", "from chat.models import Message"),
        ("memory.search", "def later():\n    from chat import models"),
        ("memory.tasks", "import chat.replies"),
        ("memory.views", "from chat.ask import ask_model"),
        ("chat.prompt", "from memory.search import HybridSearchEngine"),
        ("chat.prompt", "from memory import models"),
        ("people.views", "import chat.models"),
        ("oneclaw.health", "from memory.embedding import engine"),
    ],
)
def test_a_forbidden_import_is_seen(module: str, code: str) -> None:
    assert not all(may_import(module, target) for target in imports(code))


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("memory.tasks", "from chat.models import Session"),
        ("memory.compaction", "from chat.ask import ask_model"),
        ("memory.management.commands.memory", "from chat.models import Session"),
        ("chat.prompt", "from memory.manager import MemoryManager"),
        ("chat.views", "from people.models import User"),
        ("oneclaw.urls", "import chat.urls"),
    ],
)
def test_an_allowed_import_is_let_through(module: str, code: str) -> None:
    assert all(may_import(module, target) for target in imports(code))
