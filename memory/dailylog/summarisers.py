"""Summarisers: the chat's own model where it is trusted to write memory, else the user's own sentences."""

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from chat.ask import ask_model
from chat.errors import CONTEXT_TOO_LONG, ModelError
from chat.models import AiModel, Session
from memory import embedding
from memory.dailylog import summary
from memory.dailylog.highlights.highlights import as_bullets, highlights
from memory.dailylog.summary import USER, Said, Summary
from memory.jobs.deadline import Deadline
from memory.jobs.ledger import Cost
from memory.prompts import ANSWER_TOKENS, SMALLEST_PIECE, framed, piece_limit, prompt
from memory.storage import log_entries

CALL_TIMEOUT = 180.0


class NoSummary(Exception):
    """The summariser answered, but with nothing that can be kept."""


class Summariser(Protocol):
    """Makes a summary of what was said; also says how many messages it got through in the time."""

    # Goes into the entry's marker, so that a reader knows how it was made.
    by: str
    # Goes into the ledger.
    name: str

    def summarise(self, said: Sequence[Said], day: date, deadline: Deadline) -> tuple[Summary, int]: ...


class ModelSummariser:
    """A model, asked as often as the length of the conversation needs."""

    by = log_entries.MODEL

    def __init__(self, model: AiModel) -> None:
        self.model = model
        self.name = model.name

    def summarise(self, said: Sequence[Said], day: date, deadline: Deadline) -> tuple[Summary, int]:
        limit = piece_limit(self.model.context_window, summary.PIECE_CHARS)
        while True:
            try:
                return self._in_pieces(said, day, deadline, limit)
            except ModelError as error:
                if error.code != CONTEXT_TOO_LONG or limit <= SMALLEST_PIECE:
                    raise
                limit = max(limit // 2, SMALLEST_PIECE)

    def _in_pieces(
        self, said: Sequence[Said], day: date, deadline: Deadline, limit: int
    ) -> tuple[Summary, int]:
        found, done = list[Summary](), 0
        pieces = list(summary.pieces(said, limit))
        for number, piece in enumerate(pieces, start=1):
            if deadline.left <= 0 and done:
                break
            deadline.renew()
            found.append(self._ask(piece.text, day, deadline, number, len(pieces)))
            done = piece.done
        return summary.merged(found), done

    def _ask(self, text: str, day: date, deadline: Deadline, part: int, part_count: int) -> Summary:
        answer = ask_model(
            self.model,
            prompt("summary", day=day.isoformat(), part=part, part_count=part_count, **framed(text)),
            system=prompt("summary_system"),
            max_tokens=ANSWER_TOKENS,
            timeout=max(1.0, min(CALL_TIMEOUT, deadline.left)),
        )
        if not answer.text.strip():
            raise NoSummary(f"{self.name} returned nothing. It will be retried later.")
        found = summary.parse(answer.text)
        return Summary(found.log, found.facts, Cost(answer.input_tokens, answer.output_tokens))


class HighlightsSummariser:
    """Quotes what the user said. It never finds facts: nothing of it goes to MEMORY.md."""

    by = log_entries.HIGHLIGHTS
    name = "Highlights, without a model"

    def summarise(self, said: Sequence[Said], day: date, deadline: Deadline) -> tuple[Summary, int]:
        own = [message.text for message in said if message.role == USER]
        return Summary(log=as_bullets(highlights(own, embedding.engine().embed_many))), len(said)


def summariser_for(session: Session) -> Summariser:
    """Who writes memory of this chat: its model if that is trusted to, else nobody's words but the user's."""
    model = session.resolve_model()
    return ModelSummariser(model) if model and model.may_write_memory else HighlightsSummariser()
