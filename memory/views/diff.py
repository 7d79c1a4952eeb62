"""Diffs for reading: a few lines around each change, and how many were left out between."""

from dataclasses import dataclass

from memory.storage.markdown import bare_lines
from memory.storage.matching import LineMatcher

CONTEXT = 3
MOST = 2_000  # lines on one page; nobody reads more


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line: kept (" "), added ("+"), removed ("-"), or a gap ("…") of unchanged lines."""

    mark: str
    text: str


def lines(before: str, after: str, context: int = CONTEXT) -> list[DiffLine]:
    """The changes with their surroundings, as many as fit; nothing at all if the texts are the same."""
    old, new = bare_lines(before), bare_lines(after)
    out: list[DiffLine] = []
    last = 0
    for group in LineMatcher(old, new).get_grouped_opcodes(context):
        skipped = group[0][1] - last
        if skipped:
            out.append(DiffLine("…", f"{skipped} unchanged line{'s' if skipped > 1 else ''}"))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                out += [DiffLine(" ", line) for line in old[i1:i2]]
                continue
            out += [DiffLine("-", line) for line in old[i1:i2]]
            out += [DiffLine("+", line) for line in new[j1:j2]]
        last = group[-1][2]
    if out and len(old) > last:
        rest = len(old) - last
        out.append(DiffLine("…", f"{rest} unchanged line{'s' if rest > 1 else ''}"))
    more = len(out) - MOST
    return out if more <= 0 else [*out[:MOST], DiffLine("…", f"{more} more lines of changes are not shown")]
