"""The history of MEMORY.md from another OneClaw, where there is none yet: two can't be made one."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from connect.archives.values import Kind, PastChange, Skipped
from connect.models import Import, Imported
from memory.longterm import revisions
from memory.models import Revision
from people.models import User

MOST_CHARACTERS = 16_000_000
MARK = " (imported)"
OWN = "MEMORY.md has a history of its own here, and two can't be made one."


@dataclass(slots=True)
class History:
    """Changes as they come, the newest of them kept within bounds."""

    changes: deque[PastChange] = field(default_factory=deque)
    size: int = 0

    def add(self, change: PastChange) -> None:
        self.changes.append(change)
        self.size += len(change.after)
        while len(self.changes) > settings.MEMORY_REVISIONS or self.size > MOST_CHARACTERS:
            self.size -= len(self.changes.popleft().after)

    def would_come(self, user: User, by: Import) -> tuple[int, list[Skipped]]:
        """How many changes there is room for here, or why there is none."""
        if not self.changes or _came(user).exists():
            return 0, []
        if _others(user, by).exists():
            return 0, [Skipped("History of MEMORY.md", OWN)]
        return len(self.changes), []

    def bring(self, user: User, by: Import) -> tuple[int, list[Skipped]]:
        """Put the changes before the import's own, which is the first one here."""
        count, skipped = self.would_come(user, by)
        first = Revision.objects.filter(owner=user, session_id=by.id, before="").first()
        if not count or first is None:
            return 0, skipped
        with transaction.atomic():
            # Made anew, so that it is the latest by its number too.
            first.delete()
            made = Revision.objects.bulk_create(self._rows(user))
            first.pk = None
            first.save(force_insert=True)
            names = {change.key: row.pk for change, row in zip(self.changes, made, strict=True)}
            for change in self.changes:
                if change.undone_by in names:
                    Revision.objects.filter(pk=names[change.key]).update(undone_by=names[change.undone_by])
            Imported.objects.bulk_create(
                Imported(
                    owner=user,
                    by=by,
                    kind=Kind.ONECLAW,
                    what=Imported.What.CHANGE,
                    foreign_id=change.key,
                    last_message=names[change.key],
                )
                for change in {each.key: each for each in self.changes}.values()
            )
        revisions.prune(user)
        return count, skipped

    def _rows(self, user: User) -> list[Revision]:
        chats, left, rows = _chats(user, {change.chat for change in self.changes}), "", list[Revision]()
        for change in self.changes:
            before = left if change.before is None else change.before
            author = change.author if change.author in Revision.Author.values else Revision.Author.OUTSIDE
            rows.append(
                Revision(
                    owner=user,
                    author=author,
                    by=_marked(change.writer or Revision.Author(author).label),
                    reason=change.reason,
                    before=before,
                    after=change.after,
                    after_digest=revisions.digest(change.after),
                    size=len(before) + len(change.after),
                    session_id=chats.get(change.chat),
                    created_at=change.at or timezone.now(),
                )
            )
            left = change.after
        return rows


def _marked(writer: str) -> str:
    return writer if writer.endswith(MARK) else f"{writer[:100]}{MARK}"


def _chats(user: User, names: set[str]) -> Mapping[str, UUID | None]:
    """What the chats of changes are called here."""
    rows = Imported.objects.filter(owner=user, kind=Kind.ONECLAW, what=Imported.What.CHAT)
    return dict(rows.filter(foreign_id__in=names - {""}).values_list("foreign_id", "session_id"))


def _came(user: User) -> models.QuerySet[Imported]:
    return Imported.objects.filter(owner=user, what=Imported.What.CHANGE)


def _others(user: User, by: Import) -> models.QuerySet[Revision]:
    return Revision.objects.filter(owner=user).exclude(session_id=by.id, before="")


def take_back(user: User, by: Import) -> None:
    """Before anything else is undone: nothing of it was written here, so nothing of it is to be undone."""
    rows = _came(user).filter(by=by)
    Revision.objects.filter(owner=user, pk__in=rows.values("last_message")).delete()
    rows.delete()
