"""How much each entry of MEMORY.md is used: on how many days a message was about it."""

from collections.abc import Iterable

from django.db.models import F

from memory.models import EntryUse
from people.models import User


class EntriesInUse:
    """One user's record. A day counts once: a long chat about one thing weighs no more than a short one."""

    def __init__(self, user: User) -> None:
        self.user = user

    def known(self, words: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """For entries that were of use, by the name of their words: days of use and the last one's number."""
        rows = EntryUse.objects.filter(owner=self.user, words__in=list(words))
        return {
            name: (days, last.toordinal())
            for name, days, last in rows.values_list("words", "days", "last_day")
        }

    def note(self, words: Iterable[str]) -> None:
        """These entries were of use today."""
        today, wanted = self.user.today(), set(words)
        rows = EntryUse.objects.filter(owner=self.user, words__in=wanted)
        known = dict(rows.values_list("words", "last_day"))
        if any(day < today for day in known.values()):
            rows.filter(last_day__lt=today).update(days=F("days") + 1, last_day=today)
        new = [EntryUse(owner=self.user, words=name, last_day=today) for name in wanted - known.keys()]
        if new:
            EntryUse.objects.bulk_create(new, ignore_conflicts=True)
