"""Drafts of a shorter MEMORY.md: a model asked whole or portion by portion, and why its text is refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from chat.ask import ask_model
from chat.models import AiModel
from memory.compaction import refusals, repeats
from memory.compaction.parts import (
    Portion,
    file_text,
    joined,
    portions,
    section_text,
    sorted_into,
    split_dropped,
    with_days,
)
from memory.compaction.refusals import Comparison, Dropped, shortened
from memory.jobs.deadline import Deadline
from memory.jobs.ledger import FREE, Cost
from memory.jobs.progress import Note
from memory.longterm.likeness import Likeness
from memory.prompts import framed, piece_limit, prompt
from memory.storage.edits import normal
from memory.storage.entries import Entry, entries_of
from memory.storage.sections import HEADER

MAX_INPUT_CHARS = 10_000  # a longer file goes section by section
PART_CHARS = 8_000
MOST_CALLS = 40  # for one draft; what is not sent stays as it is
CALL_TIMEOUT = 180.0
SHOWN = 5  # portions, and dropped notes, that are named in the notes


class CompactionRefused(Exception):
    """An answer can't be taken; the message is shown to the user."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that may replace the one it was made from; the same text if there is nothing to merge."""

    before: str
    after: str
    # Which portions stayed as they were, what was dropped, and why.
    notes: str = ""
    # Why its owner should look at it first; empty if it may be written at once.
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """No text that may replace the old one, and why."""

    reason: str


class Drafter:
    """A model at work on one compaction. It knows neither files nor the ledger; it counts what it costs.

    `days` tells when each entry was last said, by its words as memory.longterm.dates names them.
    """

    def __init__(
        self,
        model: AiModel,
        deadline: Deadline,
        days: Mapping[str, date] | None = None,
        today: date | None = None,
    ) -> None:
        self.model = model
        self.deadline = deadline
        self.days = days or {}
        self.today = today
        self.likeness = Likeness()
        self.cost = FREE
        self.calls = 0
        self.dropped = list[Dropped]()
        # Told how many portions of how many are done, where there are several.
        self.note: Note = lambda done, total: None

    def propose(self, text: str) -> Draft | Refusal:
        """What the model makes of the text, if it may be taken. A ModelError is the caller's."""
        limit = piece_limit(self.model.context_window, MAX_INPUT_CHARS)
        self.calls, self.dropped = 0, []
        kept = list[str]()
        try:
            if len(text) <= limit:
                after = file_text(self._ask("compaction", text), text)
            else:
                after = self._by_section(text, min(PART_CHARS, limit), kept)
        except CompactionRefused as error:
            return Refusal(str(error))
        if problem := refusals.refusal(text, after):
            return Refusal(problem)
        if normal(after) == normal(text):
            return Draft(text, text, self._notes(kept))
        return Draft(text, after, self._notes(kept), self._compared(text, after).doubt)

    def _notes(self, kept: list[str]) -> str:
        """What the ledger and the page say of a draft."""
        notes = ["Left unchanged: " + " ".join(kept[:SHOWN])] if kept else []
        if self.dropped:
            told = "; ".join(f"“{shortened(each.text)}” ({each.reason})" for each in self.dropped[:SHOWN])
            more = f"; and {len(self.dropped) - SHOWN} more" if len(self.dropped) > SHOWN else ""
            notes.append(f"Dropped: {told}{more}.")
        return " ".join(notes)

    def _compared(self, before: str, after: str) -> Comparison:
        return Comparison(before, after, self.days, self.dropped, self.likeness)

    def _by_section(self, text: str, limit: int, kept: list[str]) -> str:
        """Portion by portion, then what repeats across them; what can't be taken or sent stays as it is."""
        out, loose, sent = list[str](), list[str](), 0
        parts = portions(text, limit)
        for at, portion in enumerate(parts):
            self.note(at, len(parts))
            if portion.fixed or portion.entry_count < 2 or self._is_enough():
                out.append(portion.text)
                continue
            sent += 1
            try:
                # Entries under no heading are sorted into the sections.
                if portion.section:
                    out.append(self._one_portion(portion))
                else:
                    loose.append(self._unsorted(portion))
            except CompactionRefused as error:
                kept.append(f"{portion.section or 'Beginning'}: {error}")
                out.append(portion.text)
        if sent and len(kept) == sent:
            raise CompactionRefused(kept[0])
        after = joined(out)
        after = after if refusals.has_header(after) else f"{HEADER}\n\n{after}"
        for each in loose:
            after = sorted_into(after, each)
        return self._without_repeats(after, limit)

    def _is_enough(self) -> bool:
        return self.calls >= MOST_CALLS or self.deadline.left <= 0

    def _one_portion(self, portion: Portion) -> str:
        after = self._checked(portion, section_text(self._ask_about(portion), portion.text))
        tail = portion.text[len(portion.text.rstrip()) :]
        return after.rstrip() + tail

    def _unsorted(self, portion: Portion) -> str:
        """The notes of a portion under headings."""
        return self._checked(portion, file_text(self._ask("compaction", portion.text), portion.text))

    def _checked(self, portion: Portion, after: str) -> str:
        if not after:
            raise CompactionRefused("The model returned nothing.")
        compared = self._compared(portion.text, after)
        if problem := compared.refusal or compared.doubt:
            raise CompactionRefused(problem)
        return after

    def _ask_about(self, portion: Portion) -> str:
        return self._ask("compaction_section", portion.text, section=portion.section)

    def _without_repeats(self, text: str, limit: int) -> str:
        """Entries that say the same in different portions: the model sees them side by side."""
        for group in repeats.groups(text, limit, self.likeness):
            if self._is_enough():
                break
            known = repeats.listed(group, self.days)
            answer = self._answer("compaction_repeats", known.text)
            text = self._merged(text, group, repeats.merged(text, answer, known))
        return text

    def _merged(self, before: str, group: list[Entry], after: str) -> str:
        compared = self._compared(before, after)
        # Only what concerns the group: the rest is as it was.
        lost = [line for line in compared.lost if any(line in entry.text for entry in group)]
        return before if compared.refusal or compared.outdated or compared.invented or lost else after

    def _ask(self, name: str, text: str, **values: str) -> str:
        answer, dropped = split_dropped(self._answer(name, with_days(text, self.days), **values))
        there = {normal(entry.content) for entry in entries_of(answer)}
        self.dropped += [each for each in dropped if normal(each.text) not in there]
        return answer

    def _answer(self, name: str, text: str, **values: str) -> str:
        self.deadline.renew()
        self.calls += 1
        answer = ask_model(
            self.model,
            prompt(name, **values, today=self.today, **framed(text)),
            system=prompt("compaction_system"),
            max_tokens=max(1_024, len(text) * 2 // 3 + 700),
            timeout=CALL_TIMEOUT,
        )
        self.cost += Cost(answer.input_tokens, answer.output_tokens)
        if answer.reason == "length":
            raise CompactionRefused("The model's reply was cut off before it was complete.")
        return answer.text
