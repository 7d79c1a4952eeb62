"""MemoryCompactor (RFC-049): a backup of MEMORY.md, a draft by a model, then the draft in its place."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from django.utils import timezone

from chat.errors import ModelError
from chat.models import AiModel, Session
from memory.compaction.drafts import Draft, Drafter, Refusal
from memory.compaction.rebase import replay
from memory.compaction.refusals import Comparison
from memory.jobs import claims, ledger, progress
from memory.jobs.deadline import Deadline
from memory.jobs.ledger import FREE, Kind, Outcome, Trigger
from memory.longterm import dates
from memory.longterm.memory import LongTermMemory
from memory.models import Proposal, Revision
from memory.storage.atomic import StorageError
from memory.storage.matching import unified
from oneclaw.masking import cover
from people.models import User

SIZE_THRESHOLD_CHARS = 3_000  # RFC-049 3E
ATTEMPTS = 2
BUDGET = 500.0  # seconds for the model; the worker's own limit is higher
KEY = "compaction"
LABEL, PAGE = "Compacting MEMORY.md", "memory:compaction"


@dataclass(frozen=True, slots=True)
class Compaction:
    """How a compaction ended; `before` and `after` are there whenever the model gave a usable text."""

    outcome: str
    detail: str = ""
    before: str = ""
    after: str = ""
    # Why somebody should look at it before it is written.
    doubt: str = ""
    proposal: Proposal | None = None

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where there is no text to change to."""
        if not self.after:
            return ""
        return "\n".join(unified(self.before, self.after, "MEMORY.md", "MEMORY.md, compacted"))

    @property
    def recorded(self) -> str:
        """The detail that the ledger records."""
        if self.doubt:
            return f"In doubt: {self.doubt} {self.detail}".strip()
        if self.detail:
            return self.detail
        if self.outcome == Outcome.WRITTEN:
            return f"{len(self.before)} → {len(self.after)} characters"
        return "Preview only; nothing was written."


def asked(user: User) -> None:
    """Show it from the moment it is asked for: the worker may be busy with something else."""
    progress.report(user, KEY, LABEL, page=PAGE)


def model_for(user: User) -> AiModel | None:
    """The model of the newest chat (FEAT-049), else the default; only one that may see and write memory."""
    newest = Session.objects.filter(owner=user, deleted_at=None).select_related("agent").first()
    chosen = [newest.resolve_model() if newest else None]
    chosen.append(AiModel.objects.default())
    for model in chosen:
        if model and model.may_keep_memory:
            return model
    return None


class MemoryCompactor:
    """The lock is never held while the model thinks: what lands meanwhile is put into the result.

    Nothing here raises: why it came to nothing is in the result and in the ledger.
    """

    def __init__(self, user: User) -> None:
        self.user = user
        self.long_term = LongTermMemory(user)
        self.files = self.long_term.files

    def compact_if_needed(self, trigger: str = Trigger.MANUAL) -> bool:
        """Compact MEMORY.md if it is over its size; returns whether it was written."""
        return self.run_if_needed(trigger).outcome == Outcome.WRITTEN

    def force_compact(self, trigger: str = Trigger.MANUAL) -> bool:
        """Compact MEMORY.md whatever its size; returns whether it was written."""
        return self.run(trigger).outcome == Outcome.WRITTEN

    def may_be_needed(self) -> bool:
        """Whether MEMORY.md may be over its size, without reading it: no character has less than a byte."""
        try:
            return self.files.memory_path.stat().st_size > SIZE_THRESHOLD_CHARS
        except FileNotFoundError:
            return False

    def run_if_needed(self, trigger: str = Trigger.MANUAL) -> Compaction:
        if len(self.long_term.read()) <= SIZE_THRESHOLD_CHARS:
            return Compaction(Outcome.NOTHING, f"MEMORY.md is not over {SIZE_THRESHOLD_CHARS} characters.")
        return self.run(trigger)

    def run(self, trigger: str = Trigger.MANUAL, *, even_in_doubt: bool = False) -> Compaction:
        """Backup, ask, check, write, prune; a doubtful result only for somebody who wants it so."""
        return self._with_drafter(trigger, lambda drafter: self._rewrite(drafter, even_in_doubt))

    def dry_run(self) -> Compaction:
        """What a compaction would do, without writing."""
        return self._with_drafter(Trigger.MANUAL, self._look_ahead)

    def propose(self) -> Compaction:
        """Draft a compaction and keep it until its owner accepts it or asks for another."""
        return self._with_drafter(Trigger.MANUAL, self._offer)

    def apply(self, proposal: Proposal) -> Compaction:
        """Write an accepted proposal, together with what has changed since it was made."""
        if proposal.owner_id != self.user.pk:
            raise ValueError("This proposal belongs to somebody else.")
        return self._recorded(Trigger.MANUAL, lambda: self._accept(proposal))

    def _with_drafter(self, trigger: str, work: Callable[[Drafter], Compaction]) -> Compaction:
        """Work that needs a model, by one process at a time."""
        if not self.long_term.read().strip():
            progress.finished(self.user, KEY)
            return Compaction(Outcome.NOTHING, "MEMORY.md is empty.")
        with claims.holding(claims.compacting(self.user)) as held:
            if held is None:
                return Compaction(Outcome.NOTHING, "Another compaction is running.")
            model = model_for(self.user)
            drafter = self._drafter(model, Deadline.of(BUDGET, held.renew)) if model else None

            def trusted_work() -> Compaction:
                if not self.user.memory_enabled:
                    return Compaction(Outcome.REFUSED, "Memory is switched off.")
                if drafter is None:
                    return Compaction(Outcome.REFUSED, "No model is allowed to read and write memory.")
                self.files.must_be_whole()
                return work(drafter)

            with progress.shown(self.user, KEY, LABEL, page=PAGE) as note:
                if drafter:
                    drafter.note = note
                return self._recorded(trigger, trusted_work, drafter)

    def _drafter(self, model: AiModel, deadline: Deadline) -> Drafter:
        days = {
            dates.words_of(each.entry.text): each.said.day
            for each in dates.dated(self.user, self.long_term.read())
            if each.said
        }
        return Drafter(model, deadline, days, self.user.today())

    def _recorded(
        self, trigger: str, work: Callable[[], Compaction], drafter: Drafter | None = None
    ) -> Compaction:
        """Work with its row in the ledger, which is opened and closed here and nowhere else."""
        name = drafter.model.name if drafter else ""
        row = ledger.start(self.user, Kind.COMPACTION, trigger, model_name=name)
        try:
            result = work()
        except Exception as error:
            result = Compaction(Outcome.FAILED, ledger.reason(error, ModelError, StorageError))
        ledger.finish(row, result.outcome, result.recorded, drafter.cost if drafter else FREE)
        return result

    def _rewrite(self, drafter: Drafter, even_in_doubt: bool) -> Compaction:
        """The draft into the file. A change that can't be put into it starts it over."""
        for _ in range(ATTEMPTS):
            with self.files.lock():
                text = self.long_term.read()
                backup = self.files.create_backup()
            written = False
            try:
                found = self._drafted(drafter, text)
                if isinstance(found, Compaction):
                    return found
                if found.doubt and not even_in_doubt:
                    # Nobody looks at it: in doubt nothing is written.
                    return Compaction(Outcome.REFUSED, found.doubt)
                written = self._put(found)
            finally:
                if not written:
                    self._forget_repeat(backup)
            if written:
                return Compaction(Outcome.WRITTEN, found.notes, found.before, found.after, found.doubt)
        return Compaction(
            Outcome.REFUSED, "MEMORY.md kept changing while the model was working. Nothing was overwritten."
        )

    def _look_ahead(self, drafter: Drafter) -> Compaction:
        found = self._drafted(drafter, self.long_term.read())
        if isinstance(found, Compaction):
            return found
        return Compaction(Outcome.NOTHING, found.notes, found.before, found.after, found.doubt)

    def _offer(self, drafter: Drafter) -> Compaction:
        seen = self._look_ahead(drafter)
        if not seen.after:
            return seen
        Proposal.objects.filter(owner=self.user).delete()
        proposal = Proposal.objects.create(
            owner=self.user, before=seen.before, after=seen.after, detail=seen.detail, doubt=seen.doubt
        )
        return replace(seen, proposal=proposal)

    def _accept(self, proposal: Proposal) -> Compaction:
        backup = self.files.create_backup()
        if not self._put(Draft(proposal.before, proposal.after)):
            self._forget_repeat(backup)
            return Compaction(
                Outcome.REFUSED, "MEMORY.md has changed too much since this was proposed. Compact it again."
            )
        Proposal.objects.filter(pk=proposal.pk).update(applied_at=timezone.now())
        return Compaction(Outcome.WRITTEN, "", proposal.before, proposal.after)

    @staticmethod
    def _drafted(drafter: Drafter, text: str) -> Draft | Compaction:
        """A draft that changes something, or how the compaction ended without one."""
        covered = cover(text)
        found = drafter.propose(covered.text)
        if isinstance(found, Refusal):
            return Compaction(Outcome.REFUSED, found.reason)
        if found.after == found.before:
            return Compaction(Outcome.NOTHING, "Nothing to merge: it can't get any shorter.", text)
        after = covered.uncovered(found.after)
        if after is None:
            return Compaction(
                Outcome.REFUSED, "A secret in MEMORY.md would have been lost, so nothing changed."
            )
        return replace(found, before=text, after=after)

    def _put(self, draft: Draft) -> bool:
        """Replace the file by the draft if what happened to it since can be kept; False if not."""
        fits = True

        def put(current: str) -> str:
            nonlocal fits
            text = replay(draft.before, draft.after, current)
            fits = text is not None
            return current if text is None else text

        reason = f"Compacted from {len(draft.before)} to {len(draft.after)} characters"
        self.long_term.change(put, Revision.Author.COMPACTION, reason)
        if fits:
            self._date_merged(draft)
            self.files.prune_old_backups()
        return fits

    def _date_merged(self, draft: Draft) -> None:
        """An entry made of others was last said when the latest of them was."""
        said = {each.entry.content: each.said for each in dates.dated(self.user, draft.before) if each.said}
        days = {dates.words_of(content): saying.day for content, saying in said.items()}
        compared = Comparison(draft.before, draft.after, days)
        came = {new: compared.entry_of(line) for new, line in compared.inherited().items()}
        dates.note(
            self.user, {new: said[old.content] for new, old in came.items() if old and old.content in said}
        )

    def _forget_repeat(self, backup: str | None) -> None:
        """After a run that wrote nothing: a backup just like the one before it would only push others out."""
        names = self.files.list_backups()
        is_newest = backup and len(names) > 1 and names[0] == backup
        if is_newest and self.files.read_backup(names[0]) == self.files.read_backup(names[1]):
            (self.files.root / names[0]).unlink(missing_ok=True)
        if backup:
            self.files.prune_old_backups()
