"""Drafts of a shorter MEMORY.md: a model asked whole or portion by portion, and why its text is refused."""

from dataclasses import dataclass

from chat.ask import ask_model
from chat.models import AiModel
from memory.compaction import refusals
from memory.compaction.parts import Portion, file_text, joined, portions, section_text
from memory.jobs.deadline import Deadline
from memory.jobs.ledger import FREE, Cost
from memory.prompts import framed, piece_limit, prompt
from memory.storage.edits import normal
from memory.storage.sections import HEADER

MAX_INPUT_CHARS = 10_000  # a longer file goes section by section
PART_CHARS = 8_000
MOST_CALLS = 40  # for one draft; what is not sent stays as it is
CALL_TIMEOUT = 180.0
SHOWN = 5  # portions that are named in the notes


class CompactionRefused(Exception):
    """An answer can't be taken; the message is shown to the user."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that may replace the one it was made from; the same text if there is nothing to merge."""

    before: str
    after: str
    # Which portions stayed as they were, and why.
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """No text that may replace the old one, and why."""

    reason: str


class Drafter:
    """A model at work on one compaction. It knows neither files nor the ledger; it counts what it costs."""

    def __init__(self, model: AiModel, deadline: Deadline) -> None:
        self.model = model
        self.deadline = deadline
        self.cost = FREE

    def propose(self, text: str) -> Draft | Refusal:
        """What the model makes of the text, if it may be taken. A ModelError is the caller's."""
        limit = piece_limit(self.model.context_window, MAX_INPUT_CHARS)
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
        notes = "Left unchanged: " + " ".join(kept[:SHOWN]) if kept else ""
        return Draft(text, text if normal(after) == normal(text) else after, notes)

    def _by_section(self, text: str, limit: int, kept: list[str]) -> str:
        """Portion by portion; one whose result can't be taken, and what was not sent, stays as it is."""
        sent, out = 0, list[str]()
        for portion in portions(text, limit):
            enough = sent >= MOST_CALLS or self.deadline.left <= 0
            if portion.fixed or portion.entry_count < 2 or enough:
                out.append(portion.text)
                continue
            sent += 1
            try:
                out.append(self._one_portion(portion))
            except CompactionRefused as error:
                kept.append(f"{portion.section or 'Beginning'}: {error}")
                out.append(portion.text)
        if sent and len(kept) == sent:
            raise CompactionRefused(kept[0])
        after = joined(out)
        return after if refusals.has_header(after) else f"{HEADER}\n\n{after}"

    def _one_portion(self, portion: Portion) -> str:
        answer = self._ask("compaction_section", portion.text, section=portion.section)
        after = section_text(answer, portion.text)
        if not after:
            raise CompactionRefused("The model returned nothing.")
        if problem := refusals.Comparison(portion.text, after).refusal:
            raise CompactionRefused(problem)
        tail = portion.text[len(portion.text.rstrip()) :]
        return after.rstrip() + tail

    def _ask(self, name: str, text: str, **values: str) -> str:
        self.deadline.renew()
        answer = ask_model(
            self.model,
            prompt(name, **values, **framed(text)),
            system=prompt("compaction_system"),
            max_tokens=max(1_024, len(text) // 2 + 500),
            timeout=CALL_TIMEOUT,
        )
        self.cost += Cost(answer.input_tokens, answer.output_tokens)
        if answer.reason == "length":
            raise CompactionRefused("The model's reply was cut off before it was complete.")
        return answer.text
