"""How alike two entries of memory are: by their words, and by what they mean."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING

from memory import embedding
from memory.embedding.language import is_english
from oneclaw import text as texts

if TYPE_CHECKING:
    import numpy as np

# Two entries without a word in common and below this cosine are not about the same thing. MiniLM gives
# "Is single" and "Married to Tom" 0.23, "Lives in Leeds" and "Has a beagle" 0.18; the second model gives
# "Vive en Sevilla" and "Se mudó a Madrid" 0.27, and unrelated entries in other languages 0.19 at most.
RELATED = 0.22
SMALL_WORD = 3  # letters
STOP = frozenset(
    re.findall(
        r"\S+",
        "a an and are as at be been but by for from had has have he her his i in into is it its me my no not "
        "of on or our she so that the their them they this to us user user's users was we were which who "
        "will with you your also very much lot really "
        # What every note says of its user, in one word or another.
        "all always ask asked asks every like likes now often prefer preferred prefers "
        "some usually want wanted wants",
    )
)


def content_words(text: str) -> list[str]:
    """Folded words without the ones that say nothing; runs without spaces as overlapping pairs."""
    return [word for word in every_word(text) if word not in FOLDED_STOP]


def every_word(text: str) -> list[str]:
    return [stem(word) for word in texts.words(text)]


def stem(word: str) -> str:
    """Plural and third person fold together; more is not needed to tell a merge from a loss."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


FOLDED_STOP = frozenset(stem(word) for word in STOP)


class WordWeights:
    """How much each word says, by how few of the entries have it."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.count = 0
        self.having = Counter[str]()
        self._words: dict[str, frozenset[str]] = {}
        for text in texts:
            self.count += 1
            self.having.update(self.words(text))

    def words(self, text: str) -> frozenset[str]:
        """A text's content words; each text is split once, for entries are compared with each other."""
        return self._words.get(text) or self._words.setdefault(text, frozenset(content_words(text)))

    def of(self, word: str) -> float:
        return math.log((self.count + 1) / max(self.having[word], 1))

    def share(self, text: str, words: Set[str]) -> float:
        """How much of what a text says is said by these words."""
        mine = self.words(text)
        total = sum(self.of(word) for word in mine)
        if total == 0:
            return 1.0 if mine <= words else 0.0
        return sum(self.of(word) for word in mine & words) / total


class Likeness:
    """Compares texts; each is embedded once. Without a model words alone decide."""

    def __init__(self) -> None:
        self._vectors: dict[str, np.ndarray | None] = {}
        # Of the second model, which knows other languages than English.
        self._foreign: dict[str, np.ndarray | None] = {}

    def learn(self, texts: Iterable[str]) -> None:
        """Embed many at once, which is quicker than one by one."""
        new = list(dict.fromkeys(text for text in texts if text not in self._vectors))
        self._vectors |= dict(zip(new, embedding.engine().embed_many(new), strict=True)) if new else {}

    def cosine(self, one: str, other: str) -> float | None:
        """How near their meanings are, by the second model where one is not English; None without a model."""
        if not (is_english(one) and is_english(other)):
            mine, yours = self._abroad(one), self._abroad(other)
            if mine is not None and yours is not None:
                return float(mine @ yours)
        self.learn([one, other])
        mine, yours = self._vectors[one], self._vectors[other]
        return None if mine is None or yours is None else float(mine @ yours)

    def _abroad(self, text: str) -> "np.ndarray | None":
        if text not in self._foreign:
            self._foreign[text] = embedding.engine().second.embed(text)
        return self._foreign[text]

    def related(self, one: str, other: str) -> bool:
        """Whether two texts may be about the same thing at all."""
        shared = set(content_words(one)) & set(content_words(other))
        # Small words are only known in English.
        if is_english(one) and is_english(other):
            if shared:
                return True
        elif any(len(word) > SMALL_WORD or texts.is_paired(word) for word in shared):
            return True
        near = self.cosine(one, other)
        return near is not None and near >= RELATED

    def pairs(self, entries: Sequence[str], least: float) -> list[tuple[int, int]]:
        """Which of them are as near to each other as this, or have the same words in another order."""
        import numpy as np

        self.learn(entries)
        same = dict[frozenset[str], int]()
        found = set[tuple[int, int]]()
        for at, text in enumerate(entries):
            first = same.setdefault(frozenset(every_word(text)), at)
            found |= {(first, at)} if first != at else set()
        abroad = any(not is_english(text) for text in entries)
        vectors = [self._abroad(text) if abroad else self._vectors[text] for text in entries]
        known = [(at, vector) for at, vector in enumerate(vectors) if vector is not None]
        if known:
            places = [at for at, _ in known]
            near = np.stack([vector for _, vector in known])
            for row, column in zip(*np.nonzero(np.triu(near @ near.T >= least, 1)), strict=True):
                found.add((places[int(row)], places[int(column)]))
        return sorted(found)
