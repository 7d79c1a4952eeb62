"""Which rows of an index changed lately: a process that keeps one in memory reads those again, not all."""

from collections.abc import Iterable
from secrets import randbits

from memory.models import IndexChange, IndexState

# So many changes are kept for each owner, and so many rows of one; who is further behind reads everything.
KEPT, MOST_ROWS = 200, 5_000
# Old changes are taken out now and then, not with every new one.
PRUNE_EVERY = 20


def note(owner_id: int, rows: Iterable[int]) -> None:
    """Give the index another stamp, because these rows came, went or are others. Within the same transaction.

    A stamp is a random number, so that the same one always means the same rows: after a transaction that was
    taken back and after a backup that was put back, too.
    """
    changed = sorted(set(rows))
    state = IndexState.objects.filter(owner_id=owner_id)
    while changed:
        before = state.values_list("stamp", flat=True).first()
        if before is None:
            return
        stamp = randbits(62)
        if state.filter(stamp=before).update(stamp=stamp):
            break
    else:
        return
    mine = IndexChange.objects.filter(owner_id=owner_id)
    if len(changed) > MOST_ROWS:
        mine.delete()
        return
    made = IndexChange.objects.create(owner_id=owner_id, before=before, stamp=stamp, rows=changed)
    if made.pk % PRUNE_EVERY == 0:
        last = mine.order_by("-id").values_list("id", flat=True)[KEPT : KEPT + 1].first()
        mine.filter(id__lte=last or 0).delete()


def since(owner_id: int, stamp: int) -> set[int] | None:
    """The rows that changed since the index had this stamp; None where that is no longer known."""
    mine = IndexChange.objects.filter(owner_id=owner_id)
    first = mine.filter(before=stamp).values_list("id", flat=True).first()
    if first is None:
        return None
    return {id for rows in mine.filter(id__gte=first).values_list("rows", flat=True) for id in rows}


def forget(owner_id: int) -> None:
    """After a change of more rows than anybody would list: whoever keeps this index reads it anew."""
    IndexChange.objects.filter(owner_id=owner_id).delete()
    IndexState.objects.filter(owner_id=owner_id).update(stamp=randbits(62))


def forget_all() -> None:
    """After a change of every row: nobody's stamp holds any more."""
    IndexChange.objects.all().delete()
    IndexState.objects.update(stamp=randbits(62))
