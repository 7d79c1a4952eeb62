"""The summariser of last resort: no model is trusted with memory, so the user's own words are quoted."""

from collections.abc import Sequence
from datetime import date

from memory import logentries
from memory.dailylog.clock import Time
from memory.summary import Said, Summary

USER = "User"


class HighlightsSummariser:
    """Quotes what the user said. It never finds facts: nothing of it goes to MEMORY.md."""

    by = logentries.HIGHLIGHTS
    name = "Highlights, without a model"

    def summarise(self, said: Sequence[Said], day: date, clock: Time) -> tuple[Summary, int]:
        # numpy and the embedding model are only loaded where they are needed.
        from memory import embedding
        from memory.highlights import as_bullets, highlights

        own = [message.text for message in said if message.role == USER]
        return Summary(log=as_bullets(highlights(own, embedding.engine().embed_many))), len(said)
