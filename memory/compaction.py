"""MEMORY.md made shorter by a model, with a backup first and every reason to refuse checked (RFC-049)."""

import difflib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils import timezone

from chat.ask import Answer, ask_model
from chat.errors import ModelError
from chat.models import AiModel, Session
from memory import claims, ledger, losses, summary
from memory.answers import file_text, section_text
from memory.claims import Held
from memory.dailylog.summarisers import Time, piece_limit
from memory.disk import StorageError
from memory.edits import normal
from memory.ledger import Kind, Outcome, Trigger
from memory.longterm import LongTermMemory
from memory.models import LedgerEntry, Proposal, Revision
from memory.portions import Portion, joined, portions
from memory.refresh import refresh_index
from memory.replay import replay
from memory.sections import HEADER
from people.models import User

logger = logging.getLogger(__name__)

SIZE_THRESHOLD_CHARS = 3_000  # RFC-049 3E
MAX_INPUT_CHARS = 10_000  # a longer file goes section by section
PART_CHARS = 8_000
MOST_CALLS = 40  # in one run; what is not sent stays as it is
ATTEMPTS = 2
BUDGET = 500.0  # seconds for the model; the worker's own limit is higher
CALL_TIMEOUT = 180.0


class Refused(Exception):
    """The result can't be taken; the message is shown to the user."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """How a compaction ended; `before` and `after` are there whenever the model gave a usable text."""

    outcome: str
    detail: str = ""
    before: str = ""
    after: str = ""
    proposal: Proposal | None = None

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            self.before.splitlines(),
            self.after.splitlines(),
            "MEMORY.md",
            "MEMORY.md, compacted",
            lineterm="",
        )
        return "\n".join(lines)


@dataclass(slots=True)
class Draft:
    """A compacted text on its way: what was asked and what came of it."""

    model: AiModel
    held: Held
    clock: Time = field(default_factory=lambda: Time.of(BUDGET))
    answers: list[Answer] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    @property
    def notes(self) -> str:
        """Which portions stayed as they were, and why."""
        return " ".join(self.kept[:5]) and "Left as they were: " + " ".join(self.kept[:5])

    def ask(self, name: str, text: str, **values: str) -> str:
        self.held.renew()
        answer = ask_model(
            self.model,
            summary.prompt(name, **values, **summary.framed(text)),
            system=summary.prompt("compaction_system"),
            max_tokens=max(1_024, len(text) // 2 + 500),
            timeout=CALL_TIMEOUT,
        )
        self.answers.append(answer)
        if answer.reason == "length":
            raise Refused("The model was cut off before it had said everything.")
        return answer.text


def model_for(user: User) -> AiModel | None:
    """The model of the newest chat (FEAT-049), else the default; only one that may see and write memory."""
    newest = Session.objects.filter(owner=user, deleted_at=None).select_related("agent").first()
    chosen = [newest.resolve_model() if newest else None]
    chosen.append(AiModel.objects.filter(is_default=True, provider__enabled=True).first())
    for model in chosen:
        if model and model.provider.can_write_memory and model.provider.send_memory:
            return model
    return None


class MemoryCompactor:
    """The lock is never held while the model thinks: what lands meanwhile is put into the result."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.long_term = LongTermMemory(user)
        self.files = self.long_term.files

    def compact_if_needed(self, trigger: str = Trigger.MANUAL) -> bool:
        """Compact if MEMORY.md is over its size; was it written?"""
        return self.run_if_needed(trigger).outcome == Outcome.WRITTEN

    def force_compact(self, trigger: str = Trigger.MANUAL) -> bool:
        """Compact whatever the size; was it written?"""
        return self.run(trigger).outcome == Outcome.WRITTEN

    def run_if_needed(self, trigger: str = Trigger.MANUAL) -> Compaction:
        if len(self.long_term.read()) <= SIZE_THRESHOLD_CHARS:
            return Compaction(Outcome.NOTHING, f"MEMORY.md is not over {SIZE_THRESHOLD_CHARS} characters.")
        return self.run(trigger)

    def run(self, trigger: str = Trigger.MANUAL) -> Compaction:
        """Backup, ask, check, write, prune. Never raises: the reason is in the result and the ledger."""
        return self._work(trigger, write=True)

    def dry_run(self) -> Compaction:
        """What a compaction would do, without writing."""
        return self._work(Trigger.MANUAL, write=False)

    def propose(self) -> Compaction:
        """What a compaction would do, kept until its owner says yes or asks for another."""
        return self._work(Trigger.MANUAL, write=False, keep=True)

    def apply(self, proposal: Proposal) -> Compaction:
        """Write a proposal that was said yes to, together with what changed since it was made."""
        if proposal.owner_id != self.user.pk:
            raise ValueError("This proposal belongs to somebody else.")
        row = ledger.start(self.user, Kind.COMPACTION, Trigger.MANUAL)
        try:
            backup = self.files.create_backup()
            if not self._write(proposal.before, proposal.after):
                self._forget_repeat(backup)
                raise Refused("MEMORY.md has changed too much since this was made. Ask for a new one.")
        except Exception as error:
            return self._failed(row, error)
        Proposal.objects.filter(pk=proposal.pk).update(applied_at=timezone.now())
        return self._written(row, proposal.before, proposal.after, [])

    def _work(self, trigger: str, write: bool, keep: bool = False) -> Compaction:
        if not self.long_term.read().strip():
            return Compaction(Outcome.NOTHING, "MEMORY.md is empty.")
        with claims.holding(f"compacting:{self.user.pk}") as held:
            if held is None:
                return Compaction(Outcome.NOTHING, "Another compaction is at work.")
            model = model_for(self.user)
            row = ledger.start(self.user, Kind.COMPACTION, trigger, model_name=model.name if model else "")
            if not self.user.memory_enabled:
                return self._failed(row, Refused("Memory is switched off."))
            if model is None:
                return self._failed(row, Refused("There is no model that may see and write memory."))
            draft = Draft(model, held)
            try:
                before, after = self._rewrite(draft, write)
            except Exception as error:
                return self._failed(row, error, draft.answers)
            if after == before:
                detail = "Nothing to merge: it is as short as it gets."
                self._close(row, Outcome.NOTHING, detail, draft.answers)
                return Compaction(Outcome.NOTHING, detail, before)
            if write:
                return self._written(row, before, after, draft.answers, draft.notes)
            proposal = self._keep(before, after, draft.notes) if keep else None
            self._close(
                row, Outcome.NOTHING, draft.notes or "A look ahead; nothing was written.", draft.answers
            )
            return Compaction(Outcome.NOTHING, draft.notes, before, after, proposal)

    def _keep(self, before: str, after: str, detail: str) -> Proposal:
        Proposal.objects.filter(owner=self.user).delete()
        return Proposal.objects.create(owner=self.user, before=before, after=after, detail=detail)

    def _rewrite(self, draft: Draft, write: bool) -> tuple[str, str]:
        """The text before and after. A change that can't be put into the result starts it over."""
        for _ in range(ATTEMPTS):
            with self.files.lock():
                before = self.long_term.read()
                backup = self.files.create_backup() if write else None
            try:
                after = self._compacted(draft, before)
                if after == before:
                    self._forget_repeat(backup)
                    return before, after
                if not write or self._write(before, after):
                    return before, after
            except Exception:
                self._forget_repeat(backup)
                raise
        self.files.prune_old_backups()
        raise Refused("MEMORY.md kept changing while the model was at work. Nothing was overwritten.")

    def _compacted(self, draft: Draft, text: str) -> str:
        """A text that may replace this one, or Refused."""
        limit = piece_limit(draft.model, MAX_INPUT_CHARS)
        if len(text) <= limit:
            after = file_text(draft.ask("compaction", text), text)
        else:
            after = self._by_section(draft, text, min(PART_CHARS, limit))
        if problem := losses.refusal(text, after):
            raise Refused(problem)
        return text if normal(after) == normal(text) else after

    def _by_section(self, draft: Draft, text: str, limit: int) -> str:
        """Portion by portion; one whose result can't be taken, and what was not sent, stays as it is."""
        sent, out = 0, list[str]()
        for portion in portions(text, limit):
            enough = sent >= MOST_CALLS or draft.clock.left <= 0
            if portion.fixed or portion.entry_count < 2 or enough:
                out.append(portion.text)
                continue
            sent += 1
            out.append(self._one_portion(draft, portion))
        if sent and len(draft.kept) == sent:
            raise Refused(draft.kept[0])
        after = joined(out)
        return after if losses.has_header(after) else f"{HEADER}\n\n{after}"

    def _one_portion(self, draft: Draft, portion: Portion) -> str:
        try:
            answer = section_text(
                draft.ask("compaction_section", portion.text, section=portion.section), portion.text
            )
            problem = (
                losses.Comparison(portion.text, answer).refusal if answer else "The model returned nothing."
            )
        except Refused as error:
            problem = str(error)
        if problem:
            draft.kept.append(f"{portion.section or 'Beginning'}: {problem}")
            return portion.text
        tail = portion.text[len(portion.text.rstrip()) :]
        return answer.rstrip() + tail

    def _write(self, before: str, after: str) -> bool:
        """Replace the file if what happened to it since can be kept; False if not."""
        fits = True

        def put(current: str) -> str:
            nonlocal fits
            text = replay(before, after, current)
            fits = text is not None
            return current if text is None else text

        reason = f"Compacted from {len(before)} to {len(after)} characters"
        self.long_term.change(put, Revision.Author.COMPACTION, reason)
        return fits

    def _forget_repeat(self, backup: str | None) -> None:
        """After a run that wrote nothing: a backup just like the one before it would only push others out."""
        names = self.files.list_backups()
        is_newest = backup and len(names) > 1 and names[0] == backup
        if is_newest and self.files.read_backup(names[0]) == self.files.read_backup(names[1]):
            (self.files.root / names[0]).unlink(missing_ok=True)
        if backup:
            self.files.prune_old_backups()

    def _written(
        self, row: LedgerEntry, before: str, after: str, answers: list[Answer], detail: str = ""
    ) -> Compaction:
        self.files.prune_old_backups()
        self._close(row, Outcome.WRITTEN, detail or f"{len(before)} → {len(after)} characters", answers)
        refresh_index(self.user)
        return Compaction(Outcome.WRITTEN, detail, before, after)

    def _failed(self, row: LedgerEntry, error: Exception, answers: Sequence[Answer] = ()) -> Compaction:
        outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.FAILED
        if isinstance(error, ModelError):
            detail = error.message
        elif isinstance(error, Refused | StorageError):
            detail = str(error)
        else:
            logger.error("A compaction failed", exc_info=error)
            detail = f"Something went wrong: {error or type(error).__name__}. The server's log says more."
        self._close(row, outcome, detail, answers)
        return Compaction(outcome, detail)

    @staticmethod
    def _close(row: LedgerEntry, outcome: str, detail: str, answers: Sequence[Answer]) -> None:
        ledger.finish(
            row,
            outcome,
            detail,
            input_tokens=summary.total(answer.input_tokens for answer in answers),
            output_tokens=summary.total(answer.output_tokens for answer in answers),
        )
