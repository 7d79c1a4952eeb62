"""What the worker does for the chat."""

from chat.attachments import uploads
from chat.replies import temporary
from chat.sessions import search, sessions


def purge_deleted_chats() -> int:
    """Remove chats deleted more than thirty days ago, and their words from the search."""
    count = sessions.purge()
    if count:
        search.prune()
        uploads.tidy()
    return count


def tidy_files() -> int:
    """Remove files that were attached a day ago and never sent, and those of chats that are gone."""
    return uploads.tidy()


def close_temporary_chats() -> int:
    """Delete temporary chats in which nothing was said for a day."""
    return temporary.close_forgotten()
