"""Search by the index kept in memory: it chooses, the rows it chose are read, and the score is exact.

Words are counted exactly here. Cosines are estimated from a byte a number, so everything that could be among
the best, could lend to them, or could be what they are divided by is scored again by its stored vector.
"""

from datetime import datetime
from typing import TYPE_CHECKING

from memory.embedding.second import second_alone
from memory.index.index import Standing
from memory.index.resident.rows import KINDS, NONE, Outdated, ResidentIndex
from memory.index.resident.vectors import largest
from memory.models import Source
from memory.search import candidates, judgement, lending, scoring
from memory.search.candidates import BY_TIME, Columns, Limits
from memory.search.judgement import Weights
from memory.search.lending import Bests, Groups, Neighbours
from memory.search.question import Question
from memory.search.ranking import OPENS, Parts, best, bonuses, lent_to, scored, summed, telling
from memory.search.results import MemorySearchResult
from memory.search.traits import Traits
from memory.search.traits import cosines as exact_cosines
from people.models import User

if TYPE_CHECKING:
    import numpy as np

# A memory of this many chunks is scored whole. In a larger one, so many are chosen by a guess, and so many by
# their signs or words alone; in a very large one, more by a rougher guess before that.
WHOLE, BY_GUESS, BY_SIGNS, BY_WORDS, BY_HALF = 600, 250, 150, 30, 4_000
# So many of the best bring their neighbours and what else was said in that place on that day.
LENDERS, OF_THE_DAYS, OF_A_DAY = 24, 6, 1_500
# How far an estimated cosine may be off, and how far it is only in an index that is damaged.
OFF, DAMAGED = 0.003, 0.03
# Rows that turn out to be no longer said are left out, and the rest is chosen again, at most so often.
TRIES = 5

# Columns that are not read again, because they are here and decide nothing.
UNREAD = {"terms": "''", "term_count": "0", "created_at": "0"}


class Asked:
    """A question, and what the words and vectors in memory say to it."""

    def __init__(
        self, kept: ResidentIndex, question: Question, index: Standing, now: datetime, limits: Limits
    ) -> None:
        import numpy as np

        self.kept, self.question, self.index, self.now = kept, question, index, now
        self.model = kept.made_by(index.model_name)
        # Which rows may be found; None for all.
        self.allowed = allowed_rows(kept, limits)
        # Estimated cosines, and for which rows there is one already.
        self.cosines = np.zeros(kept.size)
        self.known = np.zeros(kept.size, dtype=bool)
        # Whether rows begin with what the question is about.
        self.opens = kept.opens_with(question.subject.terms)
        # Of every row: BM25, and the share of the question's subject that it holds.
        self.words: np.ndarray
        self.held: np.ndarray
        self.weights: Weights
        self._read_words()

    def _read_words(self) -> None:
        """All postings at once: a term at a time takes longer to begin than to add up."""
        import numpy as np

        kept, chunks, here = self.kept, self.index.chunk_count, self.kept.here
        postings, holding = dict[str, tuple[np.ndarray, np.ndarray]](), dict[str, int]()
        for term in self.question.all_terms:
            rows, counts = kept.words.holding(f"{kept.owner_id}_{term}")
            if here is not None:
                there = here[rows]
                rows, counts = rows[there], counts[there]
            holding[term] = int(rows.size)
            if rows.size:
                postings[term] = rows, counts
        self.weights = judgement.weights(self.question.subject, holding, chunks)
        said = [
            (*postings[term], scoring.idf(chunks, holding[term]))
            for term in self.question.terms
            if holding[term]
        ]
        if said:
            rows = np.concatenate([rows for rows, _, _ in said])
            counts = np.concatenate([counts for _, counts, _ in said])
            worth = scoring.saturated(counts, kept.lengths[rows], self.index.average_length)
            worth *= np.repeat([told for _, _, told in said], [rows.size for rows, _, _ in said])
            self.words = np.bincount(rows, worth, kept.size)
        else:
            self.words = np.zeros(kept.size)
        known = [(postings[term][0], weight) for term, weight in self.weights.known.items()]
        if known and self.weights.whole:
            rows = np.concatenate([rows for rows, _ in known])
            shares = np.repeat([weight for _, weight in known], [rows.size for rows, _ in known])
            self.held = np.bincount(rows, shares, kept.size) / self.weights.whole
        else:
            self.held = np.zeros(kept.size)


def search(
    user: User,
    kept: ResidentIndex,
    question: Question,
    top_k: int,
    limits: Limits,
    index: Standing,
    now: datetime,
) -> list[MemorySearchResult]:
    """The best chunks for a question; Outdated where the database has to be asked instead."""
    import numpy as np

    asked = Asked(kept, question, index, now, limits)
    for _ in range(TRIES):
        rows = choose(asked, top_k)
        if not rows.size:
            return []
        found = candidates.read(user, kept.ids[rows].tolist(), limits, known=UNREAD)
        there = np.searchsorted(kept.ids, found.id if found else ())
        if found and there.size == rows.size:
            traits = traits_of_rows(asked, there)
            exact = exact_cosines(found, question.vectors, index.model_name)
            if np.abs(exact - traits.cosines).max(initial=0.0) > DAMAGED:
                raise Outdated("Its vectors are not those of the database.")
            traits = with_cosines(traits, found, asked, exact)
            found = found._replace(created_at=traits.created.tolist())
            return best(found, traits, scored(traits, asked.weights, question, now), question, top_k)
        # Said no more, or gone since: they must not decide what the others are divided by, either.
        if asked.allowed is None:
            asked.allowed = np.ones(kept.size, dtype=bool)
        asked.allowed[np.setdiff1d(rows, there)] = False
    raise Outdated("Too many of its rows are said no more.")


def allowed_rows(kept: ResidentIndex, limits: Limits) -> "np.ndarray | None":
    """Which rows are there and within the limits; None for all."""
    import numpy as np

    parts = list[np.ndarray]()
    if kept.here is not None:
        parts.append(kept.here)
    if limits.sources:
        parts.append(np.isin(kept.kinds, [KINDS[Source(source)] for source in limits.sources]))
    if limits.since or limits.until:
        # What has no date is left out between dates.
        first = limits.since.toordinal() if limits.since else 1
        parts.append(kept.days >= first)
    if limits.until:
        parts.append(kept.days <= limits.until.toordinal())
    if limits.leave_out and (source := kept.source_number(limits.leave_out)) != NONE:
        parts.append(kept.sources != source)
    return np.logical_and.reduce(parts) if parts else None


def choose(asked: Asked, top_k: int) -> "np.ndarray":
    """The rows whose exact scores decide: the best by estimate, and all that their scores hang on."""
    import numpy as np

    rows = candidate_rows(asked, top_k)
    if not rows.size:
        return rows
    traits = traits_of_rows(asked, rows)
    parts = scored(traits, asked.weights, asked.question, asked.now)
    chosen: np.ndarray = rows[deciding(traits, parts, top_k)]
    return chosen


def candidate_rows(asked: Asked, top_k: int) -> "np.ndarray":
    """Everything in a small memory; of a larger one the best by a guess, with their neighbours."""
    import numpy as np

    kept, allowed = asked.kept, asked.allowed
    there = kept.size if allowed is None else int(np.count_nonzero(allowed))
    if there <= WHOLE:
        return np.arange(kept.size) if allowed is None else np.flatnonzero(allowed)
    words = asked.words if allowed is None else np.where(allowed, asked.words, 0.0)
    about, is_whole = guessed_cosines(asked), True
    for block in kept.vectors.values():
        is_whole = is_whole and not block.is_halved
    guess, rows, chosen = guessed_scores(asked, None, words, about), None, np.zeros(kept.size, dtype=bool)
    if not is_whole:
        # Marked and looked up again: sorting them takes ten times as long.
        chosen[largest(guess, max(BY_HALF, 4 * top_k))] = True
        chosen[largest(about, BY_HALF // 4)] = True
        rows = np.flatnonzero(chosen)
        chosen[:] = False
        words, about = words[rows], guessed_again(asked, rows)
        guess = guessed_scores(asked, rows, words, about)
    chosen[among(rows, largest(guess, max(BY_GUESS, 2 * top_k)))] = True
    # What all are divided by must be among them.
    chosen[among(rows, largest(about, BY_SIGNS))] = True
    chosen[among(rows, largest(words, BY_WORDS))] = True
    chosen[of_the_times(asked)] = True
    if allowed is not None:
        chosen &= allowed
    return with_neighbours(asked, chosen, top_k)


def among(rows: "np.ndarray | None", places: "np.ndarray") -> "np.ndarray":
    """The rows at these places of some, or of all."""
    return places if rows is None else rows[places]


def with_neighbours(asked: Asked, chosen: "np.ndarray", top_k: int) -> "np.ndarray":
    """The chosen rows, what stands beside the best of them, and what else was said there on those days."""
    import numpy as np

    kept, rows = asked.kept, np.flatnonzero(chosen)
    own = guessed_scores(asked, rows, asked.words[rows], cosines_of(asked, rows))
    lenders = rows[np.argsort(-own)[: max(LENDERS, top_k // 2)]]
    chosen[kept.beside(lenders, lending.NEAR)] = True
    chosen[same_day(kept, lenders[: max(OF_THE_DAYS, top_k // 8)])] = True
    return np.flatnonzero(chosen if asked.allowed is None else chosen & asked.allowed)


def guessed_scores(
    asked: Asked, rows: "np.ndarray | None", words: "np.ndarray", cosines: "np.ndarray"
) -> "np.ndarray":
    """About the scores of rows, or of all: good enough to choose by."""
    kept, question = asked.kept, asked.question
    most, nearest = words.max(initial=0.0), cosines.max(initial=0.0)
    guess: np.ndarray = words * ((scoring.BM25_WEIGHT + scoring.HELD_WEIGHT) / most if most > 0 else 0.0)
    if nearest > 0:
        guess += cosines * (scoring.VECTOR_WEIGHT / nearest)
    guess[asked.opens if rows is None else asked.opens[rows]] += OPENS
    if question.times.periods:
        guess += bonuses(kept.days if rows is None else kept.days[rows], question.times)
    if rows is None and asked.allowed is not None:
        guess[~asked.allowed] = 0.0
    return guess


def guessed_cosines(asked: Asked) -> "np.ndarray":
    """About the cosines of all rows, by their signs."""
    import numpy as np

    kept, about = asked.kept, np.zeros(asked.kept.size, dtype=np.float32)
    for size, vector in asked.question.vectors.items():
        if block := kept.vectors.get(size):
            found, rows = block.by_signs(vector), block.rows.filled
            if block.in_order and not block.left and rows.size == about.size:
                about = found
                continue
            if block.left:
                found, rows = found[rows >= 0], rows[rows >= 0]
            about[rows] = found
    return only_right(asked, about, None)


def guessed_again(asked: Asked, rows: "np.ndarray") -> "np.ndarray":
    """The same for some rows, by all of their signs."""
    import numpy as np

    about = np.zeros(rows.size, dtype=np.float32)
    for size, vector in asked.question.vectors.items():
        if block := asked.kept.vectors.get(size):
            slots = asked.kept.slots(rows, size)
            having = np.flatnonzero(slots >= 0)
            about[having] = block.by_all_signs(slots[having], vector)
    return only_right(asked, about, rows)


def only_right(asked: Asked, about: "np.ndarray", rows: "np.ndarray | None") -> "np.ndarray":
    """Without rows that may not be found, and those whose vectors another model made."""
    if asked.kept.models > 1:
        makers = asked.kept.makers if rows is None else asked.kept.makers[rows]
        about[makers != asked.model] = 0.0
    if asked.allowed is not None:
        about[~(asked.allowed if rows is None else asked.allowed[rows])] = 0.0
    return about


def of_the_times(asked: Asked) -> "np.ndarray":
    """Rows of the times that the question names, the newest first if they are too many."""
    import numpy as np

    days, found = asked.kept.days, list[np.ndarray]()
    for period in asked.question.times.periods:
        within = (days >= period.first.toordinal()) & (days <= period.last.toordinal())
        if asked.allowed is not None:
            within &= asked.allowed
        rows = np.flatnonzero(within)
        if rows.size > BY_TIME:
            is_chat = asked.kept.kinds[rows] != KINDS[Source.DAILY_LOG]
            rows = rows[np.lexsort((-days[rows], is_chat))[:BY_TIME]]
        found.append(rows)
    return np.concatenate(found) if found else np.empty(0, dtype=int)


def same_day(kept: ResidentIndex, rows: "np.ndarray") -> "np.ndarray":
    """What else these rows' sources say of the same days, up to a bound."""
    import numpy as np

    found, total = [rows], 0
    for source in dict.fromkeys(kept.sources[rows[kept.days[rows] > 0]].tolist()):
        there = kept.rows_of(source)
        total += there.size
        if total > OF_A_DAY:
            break
        found.append(there)
    there = np.concatenate(found)
    # The same source may be there for another of its days.
    days = kept.sources[there].astype(np.int64) << 32 | kept.days[there]
    asked = kept.sources[rows].astype(np.int64) << 32 | kept.days[rows]
    return there[np.isin(days, asked)]


def traits_of_rows(asked: Asked, rows: "np.ndarray") -> Traits:
    """The traits of rows, with estimated cosines."""
    kept, question = asked.kept, asked.question
    return Traits(
        words=asked.words[rows],
        held=asked.held[rows],
        cosines=cosines_of(asked, rows),
        by_second=estimated(asked, rows, second_alone(question.vectors)),
        waits=kept.makers[rows] != asked.model,
        created=kept.created[rows],
        evergreen=kept.kinds[rows] == KINDS[Source.LONG_TERM],
        days=kept.days[rows],
        groups=Groups(*kept.groups(rows)),
        opens=asked.opens[rows],
        asks=kept.asks[rows],
    )


def with_cosines(traits: Traits, found: Columns, asked: Asked, exact: "np.ndarray") -> Traits:
    second = second_alone(asked.question.vectors)
    by_second = exact_cosines(found, second, asked.index.model_name) if second else traits.by_second
    return traits._replace(cosines=exact, by_second=by_second)


def cosines_of(asked: Asked, rows: "np.ndarray") -> "np.ndarray":
    """Estimated cosines with the question; those of a row are estimated once."""

    new = rows[~asked.known[rows]]
    asked.cosines[new] = estimated(asked, new, asked.question.vectors)
    asked.known[new] = True
    found: np.ndarray = asked.cosines[rows]
    return found


def estimated(asked: Asked, rows: "np.ndarray", vectors: "dict[int, np.ndarray]") -> "np.ndarray":
    """Nearly the cosines of rows with the question's vector of their length."""
    import numpy as np

    kept, found = asked.kept, np.zeros(rows.size)
    if not rows.size:
        return found
    for size, vector in vectors.items():
        if block := kept.vectors.get(size):
            if kept.is_whole(block, asked.model):
                return sound(block.cosines(rows, vector))
            slots = slots_of(asked, rows, size)
            having = np.flatnonzero(slots >= 0)
            found[having] = sound(block.cosines(slots[having], vector))
    return found


def sound(cosines: "np.ndarray") -> "np.ndarray":
    """Cosines without those of damaged vectors, which may be anything."""
    cosines[~(abs(cosines) <= 1.001 + OFF)] = 0.0
    return cosines


def slots_of(asked: Asked, rows: "np.ndarray", size: int) -> "np.ndarray":
    """Where rows have their vectors of a length by the model that is searched; -1 for none."""
    slots = asked.kept.slots(rows, size)
    slots[asked.kept.makers[rows] != asked.model] = NONE
    return slots


def deciding(traits: Traits, parts: Parts, top_k: int) -> "np.ndarray":
    """Where those stand that may be among the best, that lend to them, or that all are divided by."""
    import numpy as np

    own, neighbours = parts.own, traits.neighbours
    bests = neighbours.bests(own)
    scores = summed(parts, lent_to(own, bests), telling(parts, traits))
    nearest = float(traits.cosines.max(initial=0.0))
    # An error of the cosine as an error of a score, and of what is lent with it.
    off = scoring.VECTOR_WEIGHT * OFF / nearest if nearest > OFF else 0.0
    margin = 2 * off * (1 + lending.MOST)
    least = np.partition(scores, -top_k)[-top_k] - margin if top_k < scores.size else 0.0
    wanted = (own > 0) & (scores >= least)
    chosen = wanted | lenders_of(neighbours, bests, own, wanted, 2 * off)
    for part, error in (
        (traits.cosines, OFF),
        (traits.by_second, OFF),
        (parts.words, 0.0),
        (parts.held, 0.0),
    ):
        most = part.max(initial=0.0)
        if most > 0:
            first = np.flatnonzero(part >= most - 2 * error)
            chosen[first if error else first[:1]] = True
    return np.flatnonzero(chosen)


def lenders_of(
    neighbours: Neighbours, bests: Bests, own: "np.ndarray", wanted: "np.ndarray", off: float
) -> "np.ndarray":
    """Which rows may be the best beside a wanted one, or of its day."""
    import numpy as np

    lends = np.zeros(own.size, dtype=bool)
    for groups, first in ((neighbours.talks, bests.talk), (neighbours.days, bests.day)):
        asked = np.zeros(int(groups.max(initial=0)) + 1, dtype=bool)
        asked[groups[wanted]] = True
        lends |= asked[groups] & (own >= first - off)
    pairs = np.flatnonzero(wanted[neighbours.ones])
    one, other = neighbours.ones[pairs], neighbours.others[pairs]
    lends[other[own[other] >= bests.beside[one] - off]] = True
    found: np.ndarray = lends & (own > 0)
    return found
