"""What MEMORY.md already says, as a numbered list for a summariser, and whom its numbers mean."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memory.longterm import dates
from memory.longterm.likeness import Likeness, content_words
from memory.storage.markdown import without_comments
from memory.storage.sections import USER_REQUESTED
from oneclaw.masking import mask
from people.models import User

KNOWN_CHARS = 8_000  # of the list in one call
KNOWN_LEAST = 1_000  # kept free for it: later pieces see what earlier ones have added
NOTE_CHARS = 500  # of one entry; of a longer one the model sees only the beginning, so it can't replace it
NUMBER_DIGITS = 6
COMPARED = 40  # messages by which entries are chosen when there are too many for one call
MOST_COMPARED = 1_000  # entries whose meanings are compared; of more, those that share most words


@dataclass(frozen=True, slots=True)
class Note:
    """An entry as the summariser sees it."""

    content: str
    section: str
    day: str = ""

    @property
    def is_request(self) -> bool:
        return self.content.startswith(USER_REQUESTED)

    @property
    def line(self) -> str:
        """One line, whatever the entry is; what the user asked for says so."""
        words = " ".join(mask(without_comments(self.content)).removeprefix(USER_REQUESTED).split())
        marks = [f"last said {self.day}"] if self.day else []
        marks += ["asked for in so many words"] if self.is_request else []
        return f"[{self.section or 'Notes'}] {cut(words)}" + (f" ({'; '.join(marks)})" if marks else "")

    @property
    def is_whole(self) -> bool:
        """Whether the model sees all of it: of what it doesn't see it can't say what holds."""
        return len(" ".join(self.content.split())) <= NOTE_CHARS and mask(self.content) == self.content


def cut(words: str) -> str:
    return words if len(words) <= NOTE_CHARS else words[:NOTE_CHARS].rsplit(" ", 1)[0] + " …"


@dataclass(frozen=True, slots=True)
class Known:
    """The entries that a model is shown; their numbers count from one."""

    notes: tuple[Note, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(f"{number}. {note.line}" for number, note in enumerate(self.notes, start=1))

    def get(self, number: int) -> Note | None:
        return self.notes[number - 1] if 0 < number <= len(self.notes) else None


def known_to(user: User, text: str) -> Known:
    """Everything that a text of MEMORY.md says, with the days on which it was said."""
    return Known(
        tuple(
            Note(
                each.entry.content,
                each.entry.section,
                each.said.day.isoformat() if each.said else "",
            )
            for each in dates.dated(user, text)
        )
    )


def nearest(known: Known, said: Sequence[str], room: int, likeness: Likeness) -> Known:
    """As much of it as there is room for: what is nearest to what was said."""
    if len(known.text) <= room:
        return known
    words = [text[:NOTE_CHARS] for text in said if text.strip()][-COMPARED:]
    if len(known.notes) > MOST_COMPARED:
        common = frozenset(content_words("\n".join(words)))
        shared = [len(common.intersection(content_words(note.content))) for note in known.notes]
        best = sorted(range(len(shared)), key=lambda at: -shared[at])[:MOST_COMPARED]
        known = Known(tuple(known.notes[at] for at in sorted(best)))
    likeness.learn([*words, *(note.content for note in known.notes)])

    def near(note: Note) -> float:
        found = (likeness.cosine(note.content, text) for text in words)
        return max((each for each in found if each is not None), default=0.0)

    chosen, size = set[int](), 0
    for at in sorted(range(len(known.notes)), key=lambda at: -near(known.notes[at])):
        size += len(known.notes[at].line) + 6
        if size > room:
            break
        chosen.add(at)
    return Known(tuple(note for at, note in enumerate(known.notes) if at in chosen))


def after(known: Known, added: Iterable[tuple[str, str]], gone: Collection[str], day: str) -> Known:
    """The list once these have gone and those, each with its section, have come: for the next piece."""
    kept = [note for note in known.notes if note.is_request or note.content not in gone]
    return Known((*kept, *(Note(content, section, day) for content, section in added)))


def numbers_in(text: str) -> Iterable[int]:
    """The numbers that a model wrote, in whatever way it separated them."""
    digits = "".join(sign if sign.isdecimal() else " " for sign in text).split()
    return (int(each) for each in digits if len(each) <= NUMBER_DIGITS)
