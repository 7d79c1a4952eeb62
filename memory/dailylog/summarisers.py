"""Summarisers: the chat's own model where it is trusted to write memory, else the user's own sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol

from chat.ask import ask_model
from chat.errors import CONTEXT_TOO_LONG, NO_MODEL, ModelError
from chat.models import AiModel, Provider, Session
from memory import embedding
from memory.dailylog import summary
from memory.dailylog.highlights.highlights import as_bullets, highlights
from memory.dailylog.known import KNOWN_CHARS, KNOWN_LEAST, Known, after, nearest
from memory.dailylog.summary import USER, Fact, Piece, Said, Summary
from memory.jobs.deadline import Deadline
from memory.jobs.ledger import Cost
from memory.longterm.likeness import Likeness
from memory.prompts import ANSWER_TOKENS, SMALLEST_PIECE, framed, piece_limit, prompt
from memory.speech.pasted import own_words
from memory.storage import log_entries
from memory.storage.sections import section_for

CALL_TIMEOUT = 180.0


class NoSummary(Exception):
    """The summariser answered, but with nothing that can be kept."""


class AnswerCut(Exception):
    """The model's answer was cut off: smaller pieces make for shorter answers."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What a summary is made of: what was said on one date, and what was known before."""

    said: Sequence[Said]
    day: date
    known: Known = Known()  # noqa: RUF009  (frozen)
    # The date on which it is written, if that is another.
    today: date | None = None


class Summariser(Protocol):
    """Makes a summary of what was said; also says how many messages it got through in the time."""

    # Goes into the entry's marker, so that a reader knows how it was made.
    by: str
    # Goes into the ledger.
    name: str

    def summarise(self, talk: Talk, deadline: Deadline) -> tuple[Summary, int]: ...


class ModelSummariser:
    """A model, asked as often as the length of the conversation needs."""

    by = log_entries.MODEL

    def __init__(self, model: AiModel) -> None:
        self.model = model
        self.name = model.name
        self.likeness = Likeness()

    def summarise(self, talk: Talk, deadline: Deadline) -> tuple[Summary, int]:
        if not self.model.may_keep_memory:
            talk = replace(talk, known=Known())
        room = piece_limit(self.model.context_window, summary.PIECE_CHARS + KNOWN_CHARS)
        for_known = min(max(len(talk.known.text), KNOWN_LEAST), KNOWN_CHARS, room // 4)
        limit = max(min(summary.PIECE_CHARS, room - for_known), SMALLEST_PIECE)
        while True:
            pieces = list(summary.pieces(talk.said, limit))
            longest = max(len(piece.text) for piece in pieces)
            try:
                return self._in_pieces(talk, pieces, deadline, for_known, longest <= SMALLEST_PIECE)
            except ModelError as error:
                if error.code != CONTEXT_TOO_LONG or limit <= SMALLEST_PIECE:
                    raise
                limit, for_known = max(limit // 2, SMALLEST_PIECE), for_known // 2
            except AnswerCut:
                limit = max(longest // 2, SMALLEST_PIECE)

    def _in_pieces(
        self, talk: Talk, pieces: Sequence[Piece], deadline: Deadline, for_known: int, is_last_try: bool
    ) -> tuple[Summary, int]:
        """Piece by piece; each sees what the ones before it have added."""
        found, done, known = list[Summary](), 0, talk.known
        own = [own_words(message.text) for message in talk.said if message.role == USER]
        for number, piece in enumerate(pieces, start=1):
            if deadline.left <= 0 and done:
                break
            deadline.renew()
            shown = nearest(known, own, for_known, self.likeness)
            values = {"part": number, "part_count": len(pieces), "day": talk.day, "today": talk.today}
            part = self._spoken_of(self._ask(piece.text, shown, deadline, is_last_try, values), own)
            gone = {words for fact in part.facts for words in fact.replaces}
            added = [(fact.text, section_for(fact.category)) for fact in part.facts if fact.text]
            known = after(known, added, gone, talk.day.isoformat())
            found.append(part)
            done = piece.done
        return summary.merged(found), done

    def _spoken_of(self, found: Summary, own: Sequence[str]) -> Summary:
        """Without removals of entries that nothing the user said is about."""

        def is_meant(fact: Fact) -> bool:
            pairs = ((words, text) for words in fact.replaces for text in own if text)
            return bool(fact.text) or any(self.likeness.related(*pair) for pair in pairs)

        kept = tuple(fact for fact in found.facts if is_meant(fact))
        notes = found.notes if kept == found.facts else (*found.notes, summary.UNSAID)
        return replace(found, facts=kept, notes=notes)

    def _ask(
        self, text: str, known: Known, deadline: Deadline, is_last_try: bool, values: dict[str, object]
    ) -> Summary:
        notes = framed(known.text, "notes") if known.notes else None
        answer = ask_model(
            self.model,
            prompt("summary", **values, notes=notes, **framed(text)),
            system=prompt("summary_system"),
            max_tokens=ANSWER_TOKENS,
            timeout=max(1.0, min(CALL_TIMEOUT, deadline.left)),
        )
        if not answer.text.strip():
            raise NoSummary(f"{self.name} returned nothing. It will be retried later.")
        if answer.reason == "length" and not is_last_try:
            raise AnswerCut
        found = summary.parse_cut(answer.text) if answer.reason == "length" else None
        found = found or summary.parse(answer.text, known)
        return replace(found, cost=Cost(answer.input_tokens, answer.output_tokens))


class HighlightsSummariser:
    """Quotes what the user said. It never finds facts: nothing of it goes to MEMORY.md."""

    by = log_entries.HIGHLIGHTS
    name = "Highlights, without a model"

    def summarise(self, talk: Talk, deadline: Deadline) -> tuple[Summary, int]:
        own = [message.text for message in talk.said if message.role == USER]
        return Summary(log=as_bullets(highlights(own, embedding.engine().embed_many))), len(talk.said)


class AbsentSummariser:
    """Stands for a model that is set up and not enabled: nothing is written until there is one."""

    by = log_entries.MODEL
    name = "No model"

    def summarise(self, talk: Talk, deadline: Deadline) -> tuple[Summary, int]:
        raise ModelError(
            NO_MODEL, "No model is enabled, so this chat waits. Enable one in Settings, Providers."
        )


def summariser_for(session: Session) -> Summariser:
    """Who writes memory of this chat: its model if that is trusted to, else nobody's words but the user's.

    Where a provider is set up and no model of it can be used, the chat waits for one.
    """
    model = session.resolve_model()
    if model is None and Provider.objects.exists():
        return AbsentSummariser()
    return ModelSummariser(model) if model and model.may_write_memory else HighlightsSummariser()
