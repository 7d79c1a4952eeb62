"""Who turns a conversation into a summary: the chat's own model, if it is trusted to write memory."""

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from chat.ask import ask_model
from chat.errors import CONTEXT_TOO_LONG, ModelError
from chat.models import AiModel, Session
from memory import logentries, summary
from memory.dailylog.clock import Time
from memory.dailylog.extracts import HighlightsSummariser
from memory.summary import Said, Summary

CALL_TIMEOUT = 180.0
ANSWER_TOKENS = 3_000
SMALLEST_PIECE = 2_000


class NoSummary(Exception):
    """The summariser answered, but with nothing that can be kept."""


class Summariser(Protocol):
    """Makes a summary of what was said; also says how many messages it got through in the time."""

    # Goes into the entry's marker, so that a reader knows how it was made.
    by: str
    # Goes into the ledger.
    name: str

    def summarise(self, said: Sequence[Said], day: date, clock: Time) -> tuple[Summary, int]: ...


class ModelSummariser:
    """A model, asked as often as the length of the conversation needs."""

    by = logentries.MODEL

    def __init__(self, model: AiModel) -> None:
        self.model = model
        self.name = model.name

    def summarise(self, said: Sequence[Said], day: date, clock: Time) -> tuple[Summary, int]:
        limit = piece_limit(self.model)
        while True:
            try:
                return self._in_pieces(said, day, clock, limit)
            except ModelError as error:
                if error.code != CONTEXT_TOO_LONG or limit <= SMALLEST_PIECE:
                    raise
                limit = max(limit // 2, SMALLEST_PIECE)

    def _in_pieces(self, said: Sequence[Said], day: date, clock: Time, limit: int) -> tuple[Summary, int]:
        found, done = list[Summary](), 0
        pieces = list(summary.pieces(said, limit))
        for number, piece in enumerate(pieces, start=1):
            if clock.left <= 0 and done:
                break
            clock.renew()
            found.append(self._ask(piece.text, day, clock, number, len(pieces)))
            done = piece.done
        return summary.merged(found), done

    def _ask(self, text: str, day: date, clock: Time, part: int, part_count: int) -> Summary:
        answer = ask_model(
            self.model,
            summary.prompt(
                "summary", day=day.isoformat(), part=part, part_count=part_count, **summary.framed(text)
            ),
            system=summary.prompt("summary_system"),
            max_tokens=ANSWER_TOKENS,
            timeout=max(1.0, min(CALL_TIMEOUT, clock.left)),
        )
        if not answer.text.strip():
            raise NoSummary(f"{self.name} returned nothing. The next trigger tries again.")
        found = summary.parse(answer.text)
        return Summary(found.log, found.facts, answer.input_tokens, answer.output_tokens)


def piece_limit(model: AiModel, most: int = summary.PIECE_CHARS) -> int:
    """Characters that one call may hold: a small window gets less, at three characters a token."""
    if not model.context_window:
        return most
    answer = min(ANSWER_TOKENS, model.context_window // 3)
    return max(SMALLEST_PIECE, min(most, (model.context_window - answer - 700) * 3))


def summariser_for(session: Session) -> Summariser:
    """Who writes memory of this chat: its model if that is trusted to, else nobody's words but the user's."""
    model = session.resolve_model()
    trusted = model is not None and model.provider.can_write_memory
    return ModelSummariser(model) if model and trusted else HighlightsSummariser()
