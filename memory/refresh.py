"""Bringing the index up to date after a write. The write stands whatever happens here (RFC-023)."""

import logging

from people.models import User

logger = logging.getLogger(__name__)


def refresh_index(user: User) -> bool:
    """Index what changed; False if that is left to the next search."""
    try:
        from memory.index import Index

        Index(user).sync()
    except Exception:
        logger.warning("The files are written; indexing them is left to the next search", exc_info=True)
        return False
    return True
