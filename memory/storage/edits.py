"""One change to MEMORY.md's text: put an entry in, replace an exact text, take it out. All pure."""

import re
from bisect import bisect_right
from dataclasses import replace as changed
from itertools import accumulate

from memory.storage.markdown import Line, fence_of, lines_of, list_mark, newline_of, text_of, without_mark
from memory.storage.sections import HEADER, STANDARD_SECTIONS, USER_REQUESTED, find_section

CHECK_BOX = re.compile(r"\A[ \t]*+\[[ xX]\][ \t]*+")
BLANK_START = re.compile(r"\A(?:[ \t]*+\r?\n)++")
# With so many matches nobody asks how many more there are; each costs the length of what is looked for.
MOST_COUNTED = 100
DUPLICATE_LENGTH = 20  # RFC-049 2A: shorter texts are never called duplicates


def as_entry(content: str) -> str:
    """Content as list items and nothing else: no heading, open fence or comment gets out of it."""
    content = content.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip()
    content = content.replace("<!--", "&lt;!--")
    first, *rest = content.split("\n")
    listed = is_listed(first)
    out = [first if listed else f"- {first}"]
    for line in rest:
        keep = not line.strip() or line.startswith(("  ", "\t")) or (listed and is_listed(line))
        out.append(line.rstrip() if keep else f"  {line.rstrip()}")
    return "\n".join(out + _fence_left_open(out))


def requested(content: str) -> str:
    """Content with the mark of what the user asked to remember in so many words (FEAT-049)."""
    mark = str(list_mark(content)) if is_listed(content) else ""
    body = content.removeprefix(mark)
    return content if body.startswith(USER_REQUESTED) else f"{mark}{USER_REQUESTED} {body}"


def is_listed(text: str) -> bool:
    """Whether a text begins with a list mark at the margin, and words after it."""
    mark = list_mark(text)
    return mark is not None and not mark.indent and bool(mark.gap)


def is_bare(line: str) -> bool:
    """Whether nothing is left of a line but its mark, a check box, the mark of a request."""
    words = CHECK_BOX.sub("", without_mark(line)).lstrip(" \t")
    return not words.removeprefix(USER_REQUESTED).strip(" \t")


def insert(text: str, section: str, content: str) -> str:
    """The text with an entry at the end of a section, which is made if it is missing."""
    entry = as_entry(content)
    if not text.strip():
        return structured({section: entry})
    newline = newline_of(text)
    lines = lines_of(text)
    if lines[-1].end == "":
        lines[-1] = changed(lines[-1], end=newline)
    added = [Line(line, newline) for line in entry.split("\n")]
    found = find_section(lines, section)
    if found is None:
        gap = [] if lines[-1].blank else [Line("", newline)]
        return text_of([*lines, *gap, Line(f"## {section}", newline), *added])
    # Before a deeper heading, which would claim the entry for itself.
    deeper = (at for at in range(found.start, found.end) if lines[at].heading)
    at = end = next(deeper, found.end)
    while at > found.start and lines[at - 1].blank:
        at -= 1
    after = [Line("", newline)] if at == end < len(lines) else []
    return text_of([*lines[:at], *added, *after, *lines[at:]])


def structured(entries: dict[str, str]) -> str:
    """A new MEMORY.md with the standard sections (RFC-049 3A)."""
    names = [*STANDARD_SECTIONS, *(name for name in entries if name not in STANDARD_SECTIONS)]
    parts = [HEADER, *(f"## {name}" + (f"\n{entries[name]}" if name in entries else "") for name in names)]
    return "\n\n".join(parts) + "\n"


def append(text: str, content: str) -> str:
    """The text with content at its end, whatever section that is (RFC-013's appendMemory)."""
    content = content.strip()
    if not text.strip():
        return f"{HEADER}\n\n{content}\n"
    newline = newline_of(text)
    end = "" if text.endswith("\n") else newline
    return text + end + content.replace("\r\n", "\n").replace("\n", newline) + newline


def is_duplicate(text: str, content: str) -> bool:
    """RFC-049 2A: the same words are there already, whatever their case and spacing."""
    wanted = normal(without_mark(content.strip()))
    return len(wanted) > DUPLICATE_LENGTH and wanted in normal(text)


def normal(text: str) -> str:
    return " ".join(text.casefold().split())


def occurrences(text: str, target: str) -> list[tuple[int, int]]:
    """Where a text stands, overlaps included; its line ends match either kind. Of very many, the first."""
    target, plain = target.strip().replace("\r\n", "\n"), text.replace("\r\n", "\n")
    spots = list[tuple[int, int]]()
    at = plain.find(target) if target else -1
    while at >= 0 and len(spots) < MOST_COUNTED:
        spots.append((at, at + len(target)))
        at = plain.find(target, at + 1)
    # Each CR that was left out moves what comes after it.
    ends = [len(part) + 1 for part in text.split("\r\n")]
    moves = list(accumulate(ends))[:-1]
    return [(start + bisect_right(moves, start), end + bisect_right(moves, end)) for start, end in spots]


def replace(text: str, old: str, new: str) -> tuple[str, int]:
    """The text with its one exact match replaced, or taken out; and how many matches there were."""
    spots = occurrences(text, old)
    if len(spots) != 1:
        return text, len(spots)
    start, end = spots[0]
    if not new.strip():
        return take_out(text, start, end), 1
    margin = text[text.rfind("\n", 0, start) + 1 : start]
    new = _fitted(new.strip(), text[start:end], margin).replace("\r\n", "\n")
    return text[:start] + new.replace("\n", newline_of(text)) + text[end:], 1


def _fitted(new: str, old: str, margin: str) -> str:
    """New words shaped as the old ones were: a list item stays one, and no heading slips in."""
    if any(line.heading for line in lines_of(old)):
        return new
    if margin.strip():
        # Inside a line: its mark is there already, further lines go on beneath it.
        if is_bare(margin):
            new = without_mark(new)
        shaped = as_entry(f"- {new}").removeprefix("- ")
        indent = margin[: len(margin) - len(margin.lstrip())]
        return shaped.replace("\n", f"\n{indent}")
    if is_listed(old):
        return as_entry(new if is_listed(new) else f"{list_mark(old)}{new}").replace("\n", f"\n{margin}")
    shaped = as_entry(new)
    return shaped if is_listed(new) else shaped.removeprefix("- ")


def take_out(text: str, start: int, end: int) -> str:
    """Without text[start:end]; a list mark left with nothing goes too, as do blank lines left double."""
    head, tail = text[:start], text[end:]
    if head.endswith((" ", "\t")) and tail[:1] in (" ", "\t"):
        tail = tail[1:]
    line_start = head.rfind("\n") + 1
    words, newline, below = tail.partition("\n")
    if newline and words.endswith("\r"):
        words, newline = words.removesuffix("\r"), "\r\n"
    rest = head[line_start:] + words
    if is_bare(rest):
        return _joined(head[:line_start], _lifted(below, rest))
    return head[:line_start] + rest.rstrip(" \t") + newline + below


def _lifted(below: str, mark: str) -> str:
    """What hung under a list mark that is gone takes its place, instead of hanging under a stranger."""
    indent = len(mark) - len(mark.lstrip())
    if not mark.strip():
        return below
    lines = lines_of(below)
    count = 0
    while count < len(lines) and lines[count].text.startswith((" " * (indent + 2), "\t")):
        count += 1
    if not count:
        return below
    first = lines[0].text
    hanging = len(first) - len(first.lstrip())
    if is_listed(first.lstrip()):
        moved = [changed(line, text=" " * indent + line.text[hanging:]) for line in lines[:count]]
    else:
        moved = [changed(lines[0], text=f"{' ' * indent}- {first.lstrip()}"), *lines[1:count]]
    return text_of([*moved, *lines[count:]])


def _joined(above: str, below: str) -> str:
    """The two halves with at most one blank line between them, and none at either end of the file."""
    rest = BLANK_START.sub("", below)
    body = above.rstrip(" \t\r\n")
    if not body:
        return rest
    gaps = above[len(body) :].count("\n") + below[: len(below) - len(rest)].count("\n")
    if not rest.strip():
        return body + newline_of(above)
    return body + newline_of(above) * min(2, gaps) + rest


def _fence_left_open(lines: list[str]) -> list[str]:
    """The closing marks that the lines need."""
    for line in lines_of("\n".join(lines)):
        fence = None if line.fenced else fence_of(line.text)
        if fence:
            return [f"  {fence}"]
    return []
