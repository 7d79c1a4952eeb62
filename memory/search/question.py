"""A question as a search needs it: its terms, what it is about, its vector."""

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from memory.index.terms import query_terms
from memory.search.languages import Subject, named, subject_of
from memory.search.times import Times, times_of

if TYPE_CHECKING:
    import numpy as np

# A follow-up names at most one thing of its own: "and in binary?", "what about Tom?".
FOLLOW_UP_TERMS = 1
# So much of the message before says what a follow-up is about.
PREVIOUS = 500


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked. `judged` asks for silence where nothing fits."""

    text: str
    terms: tuple[str, ...]
    subject: Subject
    times: Times
    judged: bool = True
    # Its vector for each length that stored vectors have; none without a model.
    vectors: "dict[int, np.ndarray]" = field(default_factory=dict)

    @property
    def all_terms(self) -> tuple[str, ...]:
        """Those that are scored, and those that are judged by: in dense scripts these may differ."""
        return tuple(dict.fromkeys(self.terms + self.subject.terms))

    @property
    def is_idle(self) -> bool:
        """Nothing in it that memory could know of."""
        return self.judged and not self.subject.terms and not self.times


def understood(text: str, today: date, previous: str = "", *, judged: bool = True) -> Question:
    """The question on the user's own date, with the message before it where it is a mere follow-up."""
    times = times_of(text, today)
    subject = subject_of(times.rest if times else text)
    if times.asks_for_a_time:
        return Question(text, tuple(query_terms(text)), subject, times, judged)
    if previous.strip() and len(subject.terms) <= FOLLOW_UP_TERMS and not subject.is_courtesy:
        before = previous.strip()[-PREVIOUS:]
        subject = subject_of(f"{before}\n{times.rest if times else text}")
        text = f"{before}\n{text}"
    return Question(text, tuple(query_terms(text)), named(subject, text), times, judged)
