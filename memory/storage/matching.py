"""Comparison of lines in time that grows with their number, where difflib's grows with its square."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher

from memory.storage.markdown import bare_lines

# Up to so many lines on both sides together difflib compares them itself.
WHOLE = 1_000
# In a longer text, what lies between two lines that are one of a kind is compared line by line up to this
# length, and beyond it counts as rewritten.
BETWEEN = 200


class LineMatcher(SequenceMatcher[str]):
    """difflib's matcher. Long texts are first cut at lines that occur once on each side (patience diff)."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self.old, self.new = old, new
        self.is_short = len(old) + len(new) <= WHOLE
        # Of a long text difflib need not know anything: even its preparation would be for nothing.
        super().__init__(None, *((old, new) if self.is_short else ((), ())))
        self.a, self.b = old, new

    def get_matching_blocks(self) -> list[Match]:
        if self.is_short:
            return super().get_matching_blocks()
        return joined([*self._blocks(), Match(len(self.old), len(self.new), 0)])

    def _blocks(self) -> Iterator[Match]:
        i = j = 0
        for at, there in [*anchors(self.old, self.new), (len(self.old), len(self.new))]:
            if at < i or there < j:
                continue  # inside what the last anchor grew to
            yield from self._between(i, at, j, there)
            i, j = at, there
            while i < len(self.old) and j < len(self.new) and self.old[i] == self.new[j]:
                i, j = i + 1, j + 1
            yield Match(at, there, i - at)

    def _between(self, i1: int, i2: int, j1: int, j2: int) -> Iterator[Match]:
        """Two stretches without a line of their own: their like ends, and the middle if it is short."""
        tail = 0
        while i2 - tail > i1 and j2 - tail > j1 and self.old[i2 - tail - 1] == self.new[j2 - tail - 1]:
            tail += 1
        i2, j2 = i2 - tail, j2 - tail
        # A line against a line is no match: their like ends are taken off already.
        if i1 < i2 and j1 < j2 and 1 < max(i2 - i1, j2 - j1) <= BETWEEN:
            for i, j, size in SequenceMatcher(None, self.old[i1:i2], self.new[j1:j2]).get_matching_blocks():
                yield Match(i1 + i, j1 + j, size)
        yield Match(i2, j2, tail)


def unified(old: str, new: str, old_name: str, new_name: str, context: int = 3) -> Iterator[str]:
    """The difference of two texts as `diff -u` writes it; nothing if they are the same."""
    before, after = bare_lines(old), bare_lines(new)
    groups = LineMatcher(before, after).get_grouped_opcodes(context)
    for number, group in enumerate(groups):
        if number == 0:
            yield from (f"--- {old_name}", f"+++ {new_name}")
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        yield f"@@ -{span(i1, i2)} +{span(j1, j2)} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[i1:i2])
                continue
            yield from (f"-{line}" for line in before[i1:i2])
            yield from (f"+{line}" for line in after[j1:j2])


def span(start: int, end: int) -> str:
    """Lines by the number of the first and their count, which one line does without."""
    count = end - start
    return f"{start + 1}" if count == 1 else f"{start + bool(count)},{count}"


def anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Where lines stand that occur once on each side, as many as have the same order on both."""
    there = once(new)
    pairs = [(at, there[line]) for line, at in once(old).items() if line in there]
    # The longest rising sequence: `ends` are the lowest last places of one for each length.
    ends: list[int] = []
    held: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(held[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        held[length : length + 1] = [number]
    found = list[tuple[int, int]]()
    number = held[-1] if held else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def once(lines: Sequence[str]) -> dict[str, int]:
    """The lines that occur once, in order, and where."""
    places: dict[str, int] = {}
    again = set[str]()
    for at, line in enumerate(lines):
        if line in places:
            again.add(line)
        places[line] = at
    return {line: at for line, at in places.items() if line not in again}


def joined(blocks: list[Match]) -> list[Match]:
    """Neighbouring blocks as one, empty ones left out but for the last, as difflib has it."""
    out: list[Match] = []
    for block in blocks:
        last = out[-1] if out else None
        if last and (last.a + last.size, last.b + last.size) == (block.a, block.b) and block.size:
            out[-1] = Match(last.a, last.b, last.size + block.size)
        elif block.size or block is blocks[-1]:
            out.append(block)
    return out
