"""Summaries: a conversation in pieces for the model, and a forgiving reading of what it answers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory.jobs.ledger import FREE, Cost
from memory.prompts import BULLET, FENCE, unfenced

PIECE_CHARS = 24_000  # of conversation in one call
LOG_CHARS = 8_000  # of one answer's summary
FACTS = 20  # of one answer
FACT_CHARS = 500
CATEGORIES = ("profile", "preferences", "interests", "workflow", "projects", "notes")

DAILY = re.compile(r"^[\s>*_#]*daily[ -]+summary\b[\s*_:]*", re.IGNORECASE)
FACTUAL = re.compile(r"^[\s>*_#]*long[ -]*term[ -]+facts?\b[\s*_:]*", re.IGNORECASE)
NOTHING = re.compile(
    r"[\s\-*•_(\[]*(?:none|nothing|n/?a)\b[\s.!)\]*_]*(?:to (?:add|report|note)[\s.!]*)?", re.I
)
CATEGORY = re.compile(r"^\[\s*(\w[\w -]{0,29}?)\s*\]\s*:?\s*")
BOX = re.compile(r"^\[\s*[xX]?\s*\]\s*")
REQUESTED = re.compile(r"^(?:[\s*_\"'`]*user\s+requested\s*:\s*)+", re.IGNORECASE)


USER, ASSISTANT = "User", "Assistant"


@dataclass(frozen=True, slots=True)
class Said:
    """One message as the writer sees it; its role is USER or ASSISTANT."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Text for one call, and how many messages are told in full up to its end."""

    text: str
    done: int


@dataclass(frozen=True, slots=True)
class Fact:
    text: str
    category: str = "notes"


@dataclass(frozen=True, slots=True)
class Summary:
    """What one or more answers came to."""

    log: str = ""
    facts: tuple[Fact, ...] = ()
    cost: Cost = FREE


def pieces(messages: Iterable[Said], limit: int = PIECE_CHARS) -> Iterator[Piece]:
    """The conversation in pieces of at most `limit` characters; long messages are cut, never dropped."""
    held, size, done = list[str](), 0, 0
    for number, message in enumerate(messages):
        for text in turns(message, limit):
            if held and size + len(text) + 1 > limit:
                yield Piece("\n".join(held), done)
                held, size = [], 0
            held.append(text)
            size += len(text) + 1
        done = number + 1
    if held:
        yield Piece("\n".join(held), done)


def turns(message: Said, limit: int) -> Iterator[str]:
    """A message with every line quoted, so that its text can't pass for another turn or a heading."""
    room = max(limit - 40, 200)
    mark, held, size = f"[{message.role}]", list[str](), 0
    for line in message.text.replace("\0", "").splitlines() or [""]:
        for start in range(0, max(len(line), 1), room - 2):
            part = f"> {line[start : start + room - 2]}".rstrip()
            if held and size + len(part) + 1 > room:
                yield "\n".join([mark, *held])
                mark, held, size = f"[{message.role}, continued]", [], 0
            held.append(part)
            size += len(part) + 1
    yield "\n".join([mark, *held])


def parse(answer: str) -> Summary:
    """RFC-013's two sections, however the model wrote them; prose without them is all summary."""
    lines = [line for line in unfenced(answer).split("\n") if not FENCE.match(line)]
    daily = next((at for at, line in enumerate(lines) if is_heading(line, DAILY)), None)
    start = 0 if daily is None else daily + 1
    factual = next((at for at in range(start, len(lines)) if is_heading(lines[at], FACTUAL)), None)
    if daily is None and factual is None:
        return Summary(log=log_text(lines))
    summary = lines[start:factual] if daily is not None else []
    if daily is not None and (rest := DAILY.sub("", lines[daily]).strip()):
        summary = [rest, *summary]
    facts = [] if factual is None else [FACTUAL.sub("", lines[factual]), *lines[factual + 1 :]]
    return Summary(log=log_text(summary), facts=facts_in(facts))


def is_heading(line: str, pattern: re.Pattern[str]) -> bool:
    """`## Daily Summary`, `**Daily summary:**` or the bare words; not a sentence that begins with them."""
    match = pattern.match(line)
    if not match or line.lstrip().startswith(">"):
        return False
    rest = line[match.end() :].strip()
    return line.lstrip().startswith("#") or not rest or NOTHING.fullmatch(rest) is not None


def log_text(lines: Sequence[str]) -> str:
    text = "\n".join(lines).strip()
    if NOTHING.fullmatch(text):
        return ""
    if len(text) > LOG_CHARS:
        text = text[:LOG_CHARS].rsplit("\n", 1)[0].rstrip() or text[:LOG_CHARS]
        text += "\n- … (the summary was cut here)"
    return text


def facts_in(lines: Iterable[str]) -> tuple[Fact, ...]:
    """One fact a bullet; a heading ends the section, and lines under a bullet belong to it."""
    found = list[str]()
    open_bullet = False
    for line in lines:
        if line.lstrip().startswith("#"):
            break
        if BULLET.match(line):
            found.append(BULLET.sub("", line))
            open_bullet = True
        elif not line.strip():
            open_bullet = False
        elif open_bullet and line[:1].isspace():
            found[-1] += " " + line.strip()
        else:
            found.append(line)
            open_bullet = True
    facts = (fact for text in found if (fact := to_fact(text)))
    return tuple(dict.fromkeys(facts))[:FACTS]


def to_fact(text: str) -> Fact | None:
    """One line of plain text with its category; nothing in it can hide or claim the user's protection."""
    text = " ".join(re.sub(r"<!--.*?(?:-->|$)", "", text).split())
    text = BOX.sub("", text)
    match, category = CATEGORY.match(text), "notes"
    if match:
        name = match[1].lower()
        category = next((known for known in CATEGORIES if known.startswith(name.split()[-1][:7])), "notes")
        text = text[match.end() :]
    # Only what the user asked to keep may say so: compaction never removes it (FEAT-049).
    text = REQUESTED.sub("", BULLET.sub("", text)).strip().strip("-").strip()
    if not text or NOTHING.fullmatch(text) or not any(sign.isalnum() for sign in text):
        return None
    if len(text) > FACT_CHARS:
        text = text[:FACT_CHARS].rsplit(" ", 1)[0] + " …"
    return Fact(text, category)


def merged(parts: Sequence[Summary]) -> Summary:
    """Several answers as one entry; a line said twice stands once."""
    seen, lines = set[str](), list[str]()
    for part in parts:
        for line in part.log.split("\n"):
            key = " ".join(line.split()).casefold()
            if key and key in seen:
                continue
            seen.add(key)
            lines.append(line)
    facts = tuple(dict.fromkeys(fact for part in parts for fact in part.facts))
    return Summary(
        re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(),
        facts,
        sum((part.cost for part in parts), FREE),
    )
