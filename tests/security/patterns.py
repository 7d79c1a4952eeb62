"""Finds every pattern of ours by itself, and texts that would make it slow.

    python -m tests.security.patterns

prints a line of JSON for each pattern before it is tried, so that one that never ends is known by its name,
and one for each text that costs more than in proportion to its length. Patterns are found in the modules
themselves, and in the source where they are used without a name.
"""

import ast
import importlib
import itertools
import json
import os
import pkgutil
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import FunctionType, ModuleType
from typing import Any

import django

from memory.speech import phrases
from tests.security.growth import MOST, growth

PACKAGES = ("chat", "memory", "people", "oneclaw", "connect")
USES = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
EACH = {"subn": "sub", "split": "sub", "findall": "sub", "finditer": "sub"}
# A text of this size takes a linear pattern a millisecond or two, and a quadratic one a second.
LENGTH = 6_000
MOST_TEXTS = 120


@dataclass(frozen=True)
class Found:
    """A pattern, where it is, and how it is used."""

    where: str
    pattern: re.Pattern[str]
    uses: tuple[str, ...]


# Finding


def from_phrases() -> list[re.Pattern[str]]:
    lists = tomllib.loads(Path(phrases.__file__).with_name("phrases.toml").read_text(encoding="utf-8"))
    return [phrases.phrases(name).pattern for name in lists]


def from_words() -> list[re.Pattern[str]]:
    return [re.compile(r"\s++".join(words), re.IGNORECASE) for words in ("ab", "aaaaaaaa")]


def from_contradictions() -> Iterator[re.Pattern[str]]:
    # It reads models, and those want settings.
    from memory.injection import contradictions

    yield from held(contradictions.grammars())


# Modules that build patterns from what they are given: some that they would build.
EXAMPLES = {
    "memory.speech.phrases": from_phrases,
    "memory.storage.corrections": from_words,
    "memory.injection.contradictions": from_contradictions,
}


def modules() -> Iterator[ModuleType]:
    for name in PACKAGES:
        try:
            package = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        yield package
        for info in pkgutil.walk_packages(package.__path__, f"{name}."):
            if ".migrations" not in info.name:
                yield importlib.import_module(info.name)


def held(value: Any, depth: int = 0) -> Iterator[re.Pattern[str]]:
    """The patterns in a value, and in what it holds."""
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth > 4:
        return
    elif isinstance(value, dict):
        for each in [*value.keys(), *value.values()]:
            yield from held(each, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from held(each, depth + 1)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from held(getattr(value, field.name, None), depth + 1)


def called(tree: ast.AST) -> Iterator[tuple[ast.Call, ast.Attribute]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node, node.func


def evaluated(node: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), "<pattern>", "eval"), dict(vars(module)))


def find() -> tuple[list[Found], list[str]]:
    """Every pattern once, with the ways it is used; and places that build one that could not be seen."""
    uses: dict[re.Pattern[str], set[str]] = {}
    places: dict[re.Pattern[str], str] = {}
    unseen: list[tuple[str, ModuleType]] = []
    for module in modules():
        for name, value in list(vars(module).items()):
            for pattern in held(_built(value)):
                places.setdefault(pattern, f"{module.__name__}.{name}")
                uses.setdefault(pattern, set())
        source = Path(module.__file__ or "").read_text()
        for call, function in called(ast.parse(source)):
            place = f"{module.__name__}:{call.lineno}"
            if isinstance(function.value, ast.Name) and function.value.id == "re":
                if function.attr not in (*USES, "compile"):
                    continue
                try:
                    flags = _flags(call, module)
                    pattern = re.compile(evaluated(call.args[0], module), flags)
                except NameError:
                    unseen.append((place, module))
                    continue
                places.setdefault(pattern, place)
                uses.setdefault(pattern, set())
                if function.attr != "compile":
                    uses[pattern].add(function.attr)
            elif function.attr in USES:
                try:
                    held_by = evaluated(function.value, module)
                except Exception:  # a name of the function's own
                    continue
                if isinstance(held_by, re.Pattern):
                    uses.setdefault(held_by, set()).add(function.attr)
    for name, make in EXAMPLES.items():
        for pattern in make():
            places.setdefault(pattern, f"{name}.{make.__name__}")
            uses.setdefault(pattern, set()).add("search")
    found = [Found(places[pattern], pattern, _ways(uses[pattern])) for pattern in places]
    with_patterns = {place.rpartition(".")[0] for place in places.values()}
    return found, [place for place, module in unseen if module.__name__ not in with_patterns]


def _built(value: Any) -> Any:
    """A value, or what a function gives that wants no arguments and says that it makes patterns."""
    function = getattr(value, "__wrapped__", value)
    if not isinstance(function, FunctionType):
        return value
    makes = "Pattern" in str(function.__annotations__.get("return"))
    return value() if makes and not function.__code__.co_argcount else None


def _flags(call: ast.Call, module: ModuleType) -> int:
    at = 1 if getattr(call.func, "attr", "") == "compile" else 99
    given = [word.value for word in call.keywords if word.arg == "flags"] or call.args[at : at + 1]
    return int(evaluated(given[0], module)) if given else 0


def _ways(uses: set[str]) -> tuple[str, ...]:
    return tuple(sorted({EACH.get(use, use) for use in uses})) or ("fullmatch", "search", "sub")


# Texts that are hard for a pattern


def letters(parsed: Iterable[Any]) -> Iterator[str]:
    """A character for everything that a pattern tells apart."""
    for op, given in parsed:
        if op in (opcodes.LITERAL, opcodes.NOT_LITERAL):
            yield chr(given)
        elif op is opcodes.RANGE:
            yield from map(chr, given)
        elif op is opcodes.CATEGORY:
            yield {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}.get(str(given), "-")
        elif op is opcodes.ANY:
            yield "x"
        else:
            yield from letters(_inside(given))


def _inside(given: Any) -> Iterator[Any]:
    """The operations in an argument of one, however deep."""
    if isinstance(given, parser.SubPattern):
        yield from given
    elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], opcodes._NamedIntConstant):
        yield given
    elif isinstance(given, list | tuple):
        for each in given:
            yield from _inside(each)


def sample(parsed: Iterable[Any], turn: int = 0) -> str:
    """A short text that a pattern matches, or nearly; another turn takes other branches."""
    out = ""
    for op, given in parsed:
        if op is opcodes.LITERAL:
            out += chr(given)
        elif op is opcodes.NOT_LITERAL:
            out += "x" if given != ord("x") else "y"
        elif op is opcodes.ANY:
            out += "x"
        elif op is opcodes.IN:
            out += _member(given, turn)
        elif op is opcodes.BRANCH:
            branches = given[1]
            out += sample(branches[turn % len(branches)], turn)
        elif op is opcodes.SUBPATTERN:
            out += sample(given[-1], turn)
        elif op is opcodes.ATOMIC_GROUP:
            out += sample(given, turn)
        elif op in (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT):
            least, _, body = given
            out += sample(body, turn) * max(least, 1)
    return out


def _member(given: list[Any], turn: int) -> str:
    if given and given[0][0] is opcodes.NEGATE:
        refused = set(letters(given[1:]))
        return next(one for one in "xy-.0 #" if one not in refused)
    known = list(letters(given))
    return known[turn % len(known)] if known else "x"


def beginnings(parsed: Any) -> Iterator[str]:
    """What stands before each repetition of a pattern, and what it repeats."""
    items = list(parsed)
    for at, (op, given) in enumerate(items):
        before = sample(items[:at])
        if op in (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT):
            yield before
            yield from (before + inner for inner in beginnings(given[2]))
        elif op in (opcodes.SUBPATTERN, opcodes.ATOMIC_GROUP):
            body = given[-1] if op is opcodes.SUBPATTERN else given
            yield from (before + inner for inner in beginnings(body))
        elif op is opcodes.BRANCH:
            for branch in given[1]:
                yield from (before + inner for inner in beginnings(branch))


def hard_texts(pattern: re.Pattern[str]) -> list[Callable[[int], str]]:
    """Texts of any length: something it repeats, after what leads there, before what it refuses."""
    parsed = parser.parse(pattern.pattern, pattern.flags)
    known = [*dict.fromkeys([*letters(parsed), " ", "\n", "a", "1"])][:14]
    wholes = [text for turn in range(4) if (text := sample(parsed, turn)) and len(text) < 200]
    starts = [*dict.fromkeys(["", *beginnings(parsed), *wholes])][:10]
    pairs = ["".join(pair) for pair in itertools.permutations(known[:6], 2)]
    pumps = [*dict.fromkeys([*known, *starts[1:], *pairs])]
    ends = ("", "\0", "x!")
    texts = [(start, pump, end) for pump in pumps for start in starts[:4] for end in ends[:2]]
    texts += [(start, pump, ends[2]) for pump in known for start in starts]
    step = max(1, len(texts) // MOST_TEXTS)

    def maker(start: str, pump: str, end: str) -> Callable[[int], str]:
        return lambda size: start + pump * (size // len(pump)) + end

    return [maker(*text) for text in texts[::step] if text[1]]


# Trying


def way(pattern: re.Pattern[str], use: str) -> Callable[[str], object]:
    return (lambda text: pattern.sub("", text)) if use == "sub" else getattr(pattern, use)


def try_out(found: Found) -> dict[str, object] | None:
    """The first text whose cost more than triples when it is twice as long."""
    for use in found.uses:
        take = way(found.pattern, use)
        for make in hard_texts(found.pattern):
            for size in (LENGTH // 100, LENGTH // 10, LENGTH):
                if (times := growth(take, make, size)) > MOST:
                    text = make(size)[:60]
                    return {"slow": found.where, "use": use, "text": text, "size": size, "times": times}
    return None


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
    django.setup()
    found, unseen = find()
    print(json.dumps({"unseen": unseen}), flush=True)
    for one in found:
        print(json.dumps({"trying": one.where, "pattern": one.pattern.pattern, "uses": one.uses}), flush=True)
        if slow := try_out(one):
            print(json.dumps(slow), flush=True)
    print(json.dumps({"done": len(found)}), flush=True)


if __name__ == "__main__":
    main()
