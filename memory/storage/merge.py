"""Three versions of a text into one: what doesn't collide is merged, what does is shown."""

from dataclasses import dataclass, field

from memory.storage.markdown import newline_of, raw_lines
from memory.storage.matching import LineMatcher


@dataclass(frozen=True, slots=True)
class Conflict:
    """A place that both sides changed, each in its own way; `line` counts from 1 in the base."""

    line: int
    base: str
    mine: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Merge:
    """Pieces in order: text that is settled, or a conflict."""

    pieces: list[str | Conflict] = field(default_factory=list)

    @property
    def conflicts(self) -> list[Conflict]:
        return [piece for piece in self.pieces if isinstance(piece, Conflict)]

    @property
    def text(self) -> str:
        """The merged text; where the sides collide, mine and then theirs, so that nothing is lost."""
        return self.settled("both")

    def settled(self, side: str) -> str:
        """The text with every conflict settled for "mine", "theirs" or "both"."""
        out = []
        for piece in self.pieces:
            if isinstance(piece, str):
                out.append(piece)
            elif side == "both":
                out += [piece.mine, piece.theirs]
            else:
                out.append(piece.mine if side == "mine" else piece.theirs)
        return "".join(out)


@dataclass(frozen=True, slots=True)
class Change:
    """Base lines `start` to `end` became `lines`."""

    start: int
    end: int
    lines: list[str]


def merge(base: str, mine: str, theirs: str) -> Merge:
    """Merge by lines. Two additions at one place both stay: that is how two saves meet."""
    if mine == theirs or base == theirs:
        return Merge([mine])
    if base == mine:
        return Merge([theirs])
    bare = not mine.endswith("\n") and not theirs.endswith("\n")
    lines = raw_lines(_ended(base))
    ours, others = changes(lines, raw_lines(_ended(mine))), changes(lines, raw_lines(_ended(theirs)))
    pieces: list[str | Conflict] = []
    at = 0
    while ours or others:
        left, right, start, end = _next_group(ours, others)
        pieces.append("".join(lines[at:start]))
        pieces.append(_settle(lines, left, right, start, end))
        at = end
    pieces.append("".join(lines[at:]))
    pieces = [piece for piece in pieces if piece != ""]
    if bare and pieces and isinstance(pieces[-1], str):
        pieces[-1] = pieces[-1].removesuffix("\n")
    return Merge(pieces)


def compare(mine: str, theirs: str) -> Merge:
    """Two texts without a common base: what is the same is settled, all else is a conflict."""
    lines = raw_lines(_ended(theirs))
    pieces: list[str | Conflict] = []
    at = 0
    for change in changes(lines, raw_lines(_ended(mine))):
        pieces.append("".join(lines[at : change.start]))
        removed = "".join(lines[change.start : change.end])
        pieces.append(Conflict(change.start + 1, "", "".join(change.lines), removed))
        at = change.end
    pieces.append("".join(lines[at:]))
    return Merge([piece for piece in pieces if piece != ""])


def changes(old: list[str], new: list[str]) -> list[Change]:
    """What turns the old lines into the new ones."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    matcher = LineMatcher(old[head : len(old) - tail], new[head : len(new) - tail])
    return [
        Change(head + i1, head + i2, new[head + j1 : head + j2])
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def with_line_ends_of(original: str, text: str) -> str:
    """`text` (in LF) with the line ends that its unchanged lines have in `original`."""
    raw, newline = raw_lines(original), newline_of(original)
    out: list[str] = []
    at = 0
    for change in changes([line.replace("\r\n", "\n") for line in raw], raw_lines(text)):
        out += raw[at : change.start] + [line.replace("\n", newline) for line in change.lines]
        at = change.end
    return "".join(out + raw[at:])


def _next_group(ours: list[Change], others: list[Change]) -> tuple[list[Change], list[Change], int, int]:
    """Take from both lists the first changes that overlap, or the first change alone."""
    first = min((side[0] for side in (ours, others) if side), key=lambda change: (change.start, change.end))
    start, end = first.start, first.end
    left: list[Change] = []
    right: list[Change] = []
    grew = True
    while grew:
        grew = False
        for side, taken in ((ours, left), (others, right)):
            while side and _touches(side[0], start, end, bool(left or right)):
                change = side.pop(0)
                taken.append(change)
                end, grew = max(end, change.end), True
    return left, right, start, end


def _touches(change: Change, start: int, end: int, begun: bool) -> bool:
    if not begun:
        return change.start == start and change.end == end
    if start == end or change.start == change.end:
        # An addition: only one at the very same place, or inside what the other side rewrote, collides.
        return change.start == change.end == start == end or start < change.start < end
    return change.start < end


def _settle(
    lines: list[str], left: list[Change], right: list[Change], start: int, end: int
) -> str | Conflict:
    mine, theirs = _applied(lines, left, start, end), _applied(lines, right, start, end)
    if not right or mine == theirs:
        return mine
    if not left:
        return theirs
    if start == end:
        own = set(raw_lines(theirs))
        return theirs + "".join(line for line in raw_lines(mine) if line not in own or not line.strip())
    return Conflict(start + 1, "".join(lines[start:end]), mine, theirs)


def _applied(lines: list[str], side: list[Change], start: int, end: int) -> str:
    out, at = [], start
    for change in side:
        out += lines[at : change.start] + change.lines
        at = change.end
    return "".join(out + lines[at:end])


def _ended(text: str) -> str:
    return text + "\n" if text and not text.endswith("\n") else text
