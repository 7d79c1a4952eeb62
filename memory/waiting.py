"""An alias of `memory.index.backfill.embed_for`: the first version queued it by this module's name."""

from memory.index.backfill import embed_for

__all__ = ["embed_for"]
