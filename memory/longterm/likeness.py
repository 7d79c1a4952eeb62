"""How alike two entries of memory are: by their words, and by what they mean."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from memory import embedding
from oneclaw import text as texts

if TYPE_CHECKING:
    import numpy as np

    Embed = Callable[[Sequence[str]], "list[np.ndarray | None]"]

# Two entries without a word in common and below this cosine are not about the same thing. The bundled model
# gives "Is single" and "Married to Tom" 0.23, and "Lives in Leeds" and "Has a beagle" 0.18.
RELATED = 0.22
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
        for text in texts:
            self.count += 1
            self.having.update(set(content_words(text)))

    def of(self, word: str) -> float:
        return math.log((self.count + 1) / max(self.having[word], 1))

    def share(self, text: str, words: set[str]) -> float:
        """How much of what a text says is said by these words."""
        mine = set(content_words(text))
        total = sum(self.of(word) for word in mine)
        if total == 0:
            return 1.0 if mine <= words else 0.0
        return sum(self.of(word) for word in mine & words) / total


class Likeness:
    """Compares texts; each is embedded once. Without a model words alone decide."""

    def __init__(self, embed: "Embed | None" = None) -> None:
        self._embed = embed or embedding.engine().embed_many
        self._vectors: dict[str, np.ndarray | None] = {}

    def learn(self, texts: Iterable[str]) -> None:
        """Embed many at once, which is quicker than one by one."""
        new = list(dict.fromkeys(text for text in texts if text not in self._vectors))
        self._vectors |= dict(zip(new, self._embed(new), strict=True)) if new else {}

    def cosine(self, one: str, other: str) -> float | None:
        """How near their meanings are; None without a model."""
        self.learn([one, other])
        mine, yours = self._vectors[one], self._vectors[other]
        return None if mine is None or yours is None else float(mine @ yours)

    def related(self, one: str, other: str) -> bool:
        """Whether two texts may be about the same thing at all."""
        if set(content_words(one)) & set(content_words(other)):
            return True
        near = self.cosine(one, other)
        return near is not None and near >= RELATED
