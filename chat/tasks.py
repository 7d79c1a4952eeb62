"""What the worker does for the chat."""

from chat.sessions import search, sessions


def purge_deleted_chats() -> int:
    """Remove chats deleted more than thirty days ago, and their words from the search."""
    count = sessions.purge()
    if count:
        search.prune()
    return count
