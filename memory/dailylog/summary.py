"""Summaries: a conversation in pieces for the model, and a forgiving reading of what it answers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memory.dailylog.known import Known, Note, numbers_in
from memory.jobs.ledger import FREE, Cost
from memory.prompts import BULLET, FENCE, unfenced
from memory.speech.orders import gives_orders
from memory.speech.pasted import parts_of

PIECE_CHARS = 24_000  # of conversation in one call
LOG_CHARS = 8_000  # of one answer's summary
FACTS = 20  # of one answer
FACT_CHARS = 500
CATEGORIES = ("profile", "preferences", "interests", "workflow", "projects", "notes")

DAILY = re.compile(r"^[\s>*_#]*daily[ -]+summary\b[\s*_:]*", re.IGNORECASE)
FACTUAL = re.compile(r"^[\s>*_#]*long[ -]*term[ -]+facts?\b[\s*_:]*", re.IGNORECASE)
# "None", "None at this time.", "No new facts" and their like, in the languages that models answer in.
NOTHING = re.compile(
    r"[\s\-*•_(\[]*+"
    r"(?:(?:there (?:is|are|was|were) )?(?:none|nothing|no)\b|n/?a\b|keine?\b|nichts\b|ningun[oa]?\b|nada\b"
    r"|aucune?\b|rien\b|nessun[oa]?\b|niente\b|nenhum[a]?\b|нет\b|ничего\b|无|無|没有|沒有|なし|特になし"
    r"|ありません|없음)"
    r"(?:[ \t]*+(?:(?:new|neuen?|nuevos?|nouveaux?|neues|нового|lasting|long-term|relevant|further|additional"
    r"|other|at this time|at the moment|at present|for now|so far|as yet|yet|today|here|found|identified"
    r"|mentioned|given|stated|were|was|to (?:add|report|note|store|save|record)|worth (?:keeping|noting)"
    r"|in this (?:conversation|chat|part)|from this (?:conversation|chat)|facts?|information|entries|entry"
    r"|updates?|changes?|fakten|hechos|faits|фактов)\b|新的|新增|事实|新しい|事実))*+"
    r"[\s.!。)\]*_]*+",
    re.IGNORECASE,
)
CATEGORY = re.compile(r"^\[\s*(\w[\w -]{0,29}?)\s*\]\s*:?\s*")
BOX = re.compile(r"^\[\s*+(?:[xX]\s*+)?+\]\s*+")
# "(replaces 3, 17)", "(removes 5)", "(again 2)": what a fact does to the notes that the model was shown.
REFERENCE = re.compile(
    r"[(\[][ \t]*+(replac(?:es?|ing)|remov(?:es?|ing)|deletes?|again|confirms?)\b[ \t:]*+"
    r"((?:notes?\b|#|\d|[ \t,;&]|and\b)++)[)\]]",
    re.IGNORECASE,
)
REQUESTED = re.compile(r"^(?:[\s*_\"'`]*user\s+requested\s*:\s*)+", re.IGNORECASE)


PARAGRAPH = re.compile(r"\n[ \t>]*+\n")
LEFT_OUT = "[…]"
FEW_REMOVED, MOST_REMOVED = 3, 0.3  # entries, and their share, that one answer may remove
UNKNOWN_NUMBER = "The model referred to entries that don't exist; what it said of them was added instead."
CUT = "The model's answer was cut off; what was complete has been kept, and nothing was replaced or removed."
UNSAID = "The model wanted to remove an entry that this chat doesn't speak of; it was kept."
SWEPT = "The model wanted to remove {} of {} entries at once; none was removed."
USER, ASSISTANT = "User", "Assistant"


@dataclass(frozen=True, slots=True)
class Said:
    """One message as the writer sees it; its role is USER or ASSISTANT."""

    role: str
    text: str
    # Said in a play, by a character.
    played: bool = False
    # Names of what came with it. What a file says is nobody's word, so it is not told.
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """Text for one call, and how many messages are told in full up to its end."""

    text: str
    done: int


@dataclass(frozen=True, slots=True)
class Fact:
    """Something to remember, the entries whose place it takes, or, without a text, entries to remove."""

    text: str
    category: str = "notes"
    # The words of those entries; where they stand is looked up when the fact is written.
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """What one or more answers came to."""

    log: str = ""
    facts: tuple[Fact, ...] = ()
    cost: Cost = FREE
    # Entries that were said again, by their words.
    again: tuple[str, ...] = ()
    # What of the answers was not taken, in sentences for the user.
    notes: tuple[str, ...] = ()


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
    room = max(limit - 60, 200)
    for mark, text in voices(message):
        held, size = list[str](), 0
        for line in text.replace("\0", "").splitlines() or [""]:
            for start in range(0, max(len(line), 1), room - 2):
                part = f"> {line[start : start + room - 2]}".rstrip()
                if held and size + len(part) + 1 > room:
                    yield "\n".join([f"[{mark}]", *held])
                    mark, held, size = f"{mark.removesuffix(', continued')}, continued", [], 0
                held.append(part)
                size += len(part) + 1
        yield "\n".join([f"[{mark}]", *held])


def voices(message: Said) -> Iterator[tuple[str, str]]:
    """Whose words a message holds, part by part: its writer's, a character's, or pasted ones."""
    mark = f"{message.role}, in a role" if message.played else message.role
    if message.role != USER:
        yield mark, message.text
        return
    for part in parts_of(message.text):
        if not part.pasted:
            if part.text.strip():
                yield mark, part.text.strip("\n")
        elif text := without_orders(part.text).strip("\n"):
            yield f"{USER}, pasted", text
    if message.files:
        yield f"{USER}, attached files named", without_orders("\n".join(message.files))


def without_orders(pasted: str) -> str:
    """Pasted text without what it tells an assistant or a memory to do; the rest of it was still read."""
    paragraphs = list[str]()
    for paragraph in PARAGRAPH.split(pasted):
        if not gives_orders(paragraph):
            paragraphs.append(paragraph)
            continue
        lines = paragraph.splitlines()
        kept = [LEFT_OUT if gives_orders(line) else line for line in lines]
        # An order that no line holds alone runs over several.
        rest = "\n".join(kept) if LEFT_OUT in kept else LEFT_OUT
        paragraphs.append(LEFT_OUT if gives_orders(rest) else rest)
    return "\n\n".join(paragraphs)


def parse(answer: str, known: Known = Known()) -> Summary:  # noqa: B008  (frozen)
    """RFC-013's two sections, however the model wrote them; prose without them is all summary.

    `known` is what the model was shown: its numbers mean nothing else.
    """
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
    return replace(read_facts(items_of(facts), known), log=log_text(summary))


def parse_cut(answer: str) -> Summary:
    """Of an answer that was cut off, the lines that are whole. It may add but neither replace nor remove."""
    found = parse(answer.rstrip().rpartition("\n")[0])
    return replace(found, facts=tuple(fact for fact in found.facts if fact.text), notes=(CUT,))


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


def items_of(lines: Iterable[str]) -> list[str]:
    """One item a bullet; a heading ends the section, and lines under a bullet belong to it."""
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
    return found


def read_facts(items: Iterable[str], known: Known, most_removed: float = MOST_REMOVED) -> Summary:
    """Additions, replacements, removals and what was said again."""
    facts, again, notes = list[Fact](), list[str](), list[str]()
    for item in items:
        targets, lost = list[Note](), False
        verbs = [found[1].casefold() for found in REFERENCE.finditer(item)]
        for found in REFERENCE.finditer(item):
            named = [known.get(number) for number in numbers_in(found[2])]
            lost = lost or None in named
            targets += [note for note in named if note]
        if lost:
            notes.append(UNKNOWN_NUMBER)
        text = REFERENCE.sub("", item)
        if any(verb.startswith(("remov", "delet")) for verb in verbs):
            # What else stands there is the reason.
            facts += [Fact("", replaces=tuple(note.content for note in targets))] if targets else []
        elif any(verb.startswith(("again", "confirm")) for verb in verbs):
            again += [note.content for note in targets]
        elif fact := to_fact(text):
            whole = tuple(note.content for note in targets if note.is_whole)
            facts.append(replace(fact, replaces=whole))
    kept, refused = without_sweep(list(dict.fromkeys(facts))[:FACTS], known, most_removed)
    return Summary(facts=kept, again=tuple(dict.fromkeys(again)), notes=tuple(dict.fromkeys(notes + refused)))


def without_sweep(facts: Sequence[Fact], known: Known, most: float) -> tuple[tuple[Fact, ...], list[str]]:
    """Without removals if they would leave little: no talk ends most of what is known."""
    gone = {words for fact in facts if not fact.text for words in fact.replaces}
    if len(gone) <= max(FEW_REMOVED, len(known.notes) * most):
        return tuple(facts), []
    return tuple(fact for fact in facts if fact.text), [SWEPT.format(len(gone), len(known.notes))]


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
    return Summary(
        re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(),
        tuple(dict.fromkeys(fact for part in parts for fact in part.facts)),
        sum((part.cost for part in parts), FREE),
        tuple(dict.fromkeys(words for part in parts for words in part.again)),
        tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )
