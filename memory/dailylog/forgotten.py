"""What its owner had forgotten, so that no summary writes it again.

It is recognised by keyed hashes of its terms, never by its text, and by its vector while the embedding model
is the same. A change of the model takes the vectors' help away, not what the hashes know.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.conf import settings

from memory import embedding
from memory.index.terms import query_terms
from memory.models import Forgotten
from memory.storage.entries import entries_of
from memory.storage.markdown import lines_of, text_of, without_mark
from oneclaw import vault
from people.models import User

# Of a forgotten text's terms, this share in another text makes it the same matter; of few terms all.
SHARE, FEW = 0.6, 2
# A longer text may have all terms of a short one by chance: it is the same only if they are this much of it.
SHARE_OF_OTHER = 0.2
MEANING = 0.64  # cosine; other facts about the same people and places came to 0.58 at most
# Words that stand in every fact and say nothing of its matter.
LONGEST_PIECE = 1_000  # so much of a message is kept as a trace
SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n")
EMPTY = frozenset(query_terms("user user's their they requested asked said says talked about told name is"))


def trace_of(user: User, texts: Sequence[str]) -> list[dict[str, Any]]:
    """What to keep of texts that were forgotten."""
    engine = embedding.engine()
    traces = []
    for text, vector in zip(texts, engine.embed_many(texts), strict=True):
        trace: dict[str, Any] = {"terms": sorted(hashes(user, text))}
        if vector is not None:
            packed = base64.b64encode(vector.astype("<f4").tobytes()).decode()
            trace |= {"vector": packed, "model": engine.name}
        if trace["terms"]:
            traces.append(trace)
    return traces


def key_of(user: User) -> bytes:
    """The key of a user's hashes; the installation's own can't be told from it."""
    return hashlib.sha256(f"oneclaw.forgotten:{user.pk}:".encode() + settings.SECRET_KEY.encode()).digest()


def hashes(user: User, text: str, key: bytes | None = None) -> set[str]:
    """A text's terms as nobody can read them without this installation's key, or the one they came with."""
    key = key or key_of(user)
    found = set(query_terms(without_mark(text))) - EMPTY
    return {hmac.new(key, term.encode(), hashlib.sha256).hexdigest()[:20] for term in found}


def among(user: User, texts: Sequence[str]) -> set[str]:
    """Those of the texts that say again what was forgotten."""
    kept = [trace for row in Forgotten.objects.filter(owner=user) for trace in row.traces]
    wanted = [text for text in dict.fromkeys(texts) if text.strip()]
    if not kept or not wanted:
        return set()
    known = [(set(trace["terms"]), trace.get("key", "")) for trace in kept]
    keys = {sealed: own_key(sealed) for sealed in {sealed for _, sealed in known}}
    hashed = {(text, sealed): hashes(user, text, key) for text in wanted for sealed, key in keys.items()}
    found = {text for text in wanted if any(same_terms(each, hashed[text, key]) for each, key in known)}
    rest = [text for text in wanted if text not in found]
    return found | near(kept, rest)


class Register:
    """All that a user had forgotten, read once, to look for it in many long texts.

    What a text must share with something forgotten to be about it is looked at first, so that nearly all
    texts cost no more than their terms; meanings are compared for so many pieces at most.
    """

    def __init__(self, user: User, most_compared: int = 100) -> None:
        self.user, self.left = user, most_compared
        self.kept = [(row.pk, trace) for row in Forgotten.objects.filter(owner=user) for trace in row.traces]
        self.keys = {sealed: own_key(sealed) for sealed in {self._key(trace) for _, trace in self.kept}}
        self.traces = [(pk, frozenset(trace["terms"]), trace) for pk, trace in self.kept]
        self.all = frozenset[str]().union(*(terms for _, terms, _ in self.traces))
        # Hashing is the dear part, and the same words come again and again.
        self.hash = lru_cache(maxsize=50_000)(self._hash)

    def __bool__(self) -> bool:
        return bool(self.kept)

    @staticmethod
    def _key(trace: Mapping[str, Any]) -> str:
        return str(trace.get("key", ""))

    def _hash(self, term: str, sealed: str) -> str:
        key = self.keys[sealed] or key_of(self.user)
        return hmac.new(key, term.encode(), hashlib.sha256).hexdigest()[:20]

    def _hashes(self, text: str, sealed: str) -> set[str]:
        # All terms of a text, however long: it may say it at its end.
        found = {term for part in _portions(text) for term in query_terms(part)} - EMPTY
        return {self.hash(term, sealed) for term in found}

    def names(self, text: str) -> int | None:
        """The request to forget that a text, or a sentence of it, is about."""
        hashed = {sealed: self._hashes(text, sealed) & self.all for sealed in self.keys}
        likely = [
            (pk, terms, trace)
            for pk, terms, trace in self.traces
            if len(terms & hashed[self._key(trace)]) >= min(2, len(terms))
        ]
        if not likely:
            return None
        pieces = _pieces(text)
        for pk, terms, trace in likely:
            sealed = self._key(trace)
            if any(same_terms(set(terms), self._hashes(piece, sealed)) for piece in pieces):
                return pk
        return self._near(likely, pieces)

    def _near(
        self, likely: Sequence[tuple[int, frozenset[str], dict[str, Any]]], pieces: Sequence[str]
    ) -> int | None:
        for pk, terms, trace in likely:
            shared = [
                piece
                for piece in pieces
                if len(piece) <= LONGEST_PIECE
                and len(terms & self._hashes(piece, self._key(trace))) >= min(2, len(terms))
            ][: self.left]
            self.left -= len(shared)
            if near([trace], shared):
                return pk
        return None


def _portions(text: str) -> Iterator[str]:
    """A text in parts of which none has more terms than are taken of one."""
    words = text.split()
    for at in range(0, len(words), 60):
        yield " ".join(words[at : at + 60])


def _pieces(text: str) -> list[str]:
    """A text as it may say something forgotten: whole, by its beginning, by paragraph, by sentence."""
    parts = [text, text[:LONGEST_PIECE], *text.split("\n"), *SENTENCE.split(text)]
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def same_terms(forgotten: set[str], other: set[str]) -> bool:
    shared = len(forgotten & other)
    if not shared or shared < SHARE_OF_OTHER * len(other):
        return False
    return forgotten <= other if len(forgotten) <= FEW else shared >= SHARE * len(forgotten)


def near(kept: list[dict[str, Any]], texts: list[str]) -> set[str]:
    """Those of the texts whose meaning is that of something forgotten."""
    engine = embedding.engine()
    known = [trace["vector"] for trace in kept if trace.get("model") == engine.name]
    if not known or not texts:
        return set()
    import numpy as np

    matrix = np.stack([np.frombuffer(base64.b64decode(vector), dtype="<f4") for vector in known])
    vectors = engine.embed_many(texts)
    return {
        text
        for text, vector in zip(texts, vectors, strict=True)
        if vector is not None and float((matrix @ vector).max()) >= MEANING
    }


def left_of(user: User, body: str) -> str:
    """A log entry's text without the items that say again what was forgotten."""
    items = entries_of(body)
    again = among(user, [item.content for item in items])
    if not again:
        return body
    lines = lines_of(body)
    doomed = {at for item in items if item.content in again for at in range(item.start, item.end)}
    return text_of([line for at, line in enumerate(lines) if at not in doomed]).strip("\n")


def allow(user: User, text: str) -> int:
    """Its owner wants something remembered after all: what kept it forgotten goes; of how many requests."""
    count = 0
    for row in Forgotten.objects.filter(owner=user):
        left = [
            trace
            for trace in row.traces
            if not same_terms(set(trace["terms"]), hashes(user, text, own_key(trace.get("key", ""))))
        ]
        if len(left) < len(row.traces):
            count += 1
            row.traces = left
            row.save(update_fields=["traces"])
    return count


# Leaving the installation, and coming from another: the hashes travel with their key.


def own_key(sealed: str) -> bytes | None:
    """The key that hashes came with; None for those of this installation."""
    try:
        return bytes.fromhex(vault.unseal(sealed)) if sealed else None
    except (ValueError, vault.SecretUnreadable):
        # Nothing fits it any more; meanings still do.
        return b"unreadable"


def exported(user: User) -> list[tuple[str, list[dict[str, Any]]]]:
    """Keys in hexadecimal, each with the traces that were made with it."""
    found = dict[str, list[dict[str, Any]]]()
    for row in Forgotten.objects.filter(owner=user).order_by("id"):
        for trace in row.traces:
            key = (own_key(trace.get("key", "")) or key_of(user)).hex()
            found.setdefault(key, []).append({name: trace[name] for name in trace if name != "key"})
    return list(found.items())


def from_elsewhere(key: str, traces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Such traces as rows keep them: the key is sealed, so that the database alone tells nothing."""
    sealed = vault.seal(bytes.fromhex(key).hex())
    return [{**trace, "key": sealed} for trace in traces]


def digest_of(traces: Sequence[Mapping[str, Any]]) -> str:
    """A name for traces, so that they come only once."""
    terms = sorted(" ".join(trace["terms"]) for trace in traces)
    return hashlib.sha256("\n".join(terms).encode()).hexdigest()
