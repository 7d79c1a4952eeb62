"""Made text and vectors: an index of any size without waiting for the model to read it all."""

import random
from datetime import timedelta
from itertools import accumulate

from django.db import transaction
from django.utils import timezone

from memory.embedding import engine
from memory.embedding.language import small_words
from memory.index import changes, engines, vectors, writer
from memory.index.backfill import kind
from memory.index.index import Index
from memory.index.terms import marked, terms
from memory.models import IndexState, MemoryIndex, Source
from people.models import User

VOCABULARY = 20_000
# So many texts are really embedded; the other vectors are these with noise.
READ = 200
BATCH = 1000
# With the chats of a day beside its log, as the development conversations have them.
CHUNKS_A_DAY = 30


class Text:
    """Sentences whose n-th most common word is n times as rare as the first, as in real text."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)  # noqa: S311
        letters = "bcdfghklmnprstvz"
        vowels = "aeiou"
        self.words = [
            "".join(self.random.choice(letters) + self.random.choice(vowels) for _ in range(2 + n % 3))
            for n in range(VOCABULARY)
        ]
        # English is what it stands for: another language's small words would have a second model read it too.
        _, elsewhere = small_words()
        self.words = [f"{word}ly" if word in elsewhere else word for word in self.words]
        # Added up once: adding up twenty thousand takes longer than choosing twenty.
        self.weights = list(accumulate(1 / (n + 10) for n in range(VOCABULARY)))

    def sentence(self, length: int = 20) -> str:
        return (
            " ".join(self.random.choices(self.words, cum_weights=self.weights, k=length)).capitalize() + "."
        )

    def question(self) -> str:
        return " ".join(self.random.choices(self.words, cum_weights=self.weights, k=6)) + "?"


def fill(user: User, size: int, text: Text) -> None:
    """Rows, terms and vectors for `size` chunks of logs, written straight into the tables.

    The logs are there too, if almost empty: each search looks whether one has changed.
    """
    import numpy as np

    chance = np.random.default_rng(1)
    read = [
        vector
        for vector in engine().embed_many([text.sentence() for _ in range(min(READ, size))])
        if vector is not None
    ]
    kept = np.array(read)
    index = Index(user)
    index.state()
    now = timezone.now()
    for start in range(0, size, BATCH):
        noise = chance.normal(size=(min(BATCH, size - start), kept.shape[1])) * 0.05
        near = kept[chance.integers(len(kept), size=len(noise))] + noise
        near = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype("float32")
        made = []
        for number, vector in enumerate(near, start):
            said = text.sentence()
            found = terms(said)
            day = now - timedelta(days=number // CHUNKS_A_DAY)
            made.append(
                MemoryIndex(
                    owner=user,
                    source_type=Source.DAILY_LOG,
                    source_key=f"daily/{day.date()}.md",
                    source_date=day.date(),
                    position=number,
                    chunk_text=said,
                    text_hash=str(number),
                    terms=marked(user.pk, found),
                    term_count=len(found),
                    embedding=vectors.to_bytes(vector),
                    embedded_by=kind(),
                    created_at=day,
                )
            )
        with transaction.atomic():
            MemoryIndex.objects.bulk_create(made)
            engines.fulltext().add([(row.id, row.terms) for row in made])
            engines.vectors().put(
                user.pk, [(row.id, row.source_type, row.source_date, near[at]) for at, row in enumerate(made)]
            )
    for number in range(-(-size // CHUNKS_A_DAY)):
        index.files.storage.append_to_daily_log((now - timedelta(days=number)).date(), "- A day.")
    writer.recount(user.pk)
    changes.forget(user.pk)
    seen = index.files.present().digest
    IndexState.objects.filter(owner=user).update(model_name=kind(), files_seen=seen)
