"""Where runs run."""

from uuid import UUID


def start(session_id: UUID) -> None:
    """Begin on the chat's waiting runs."""
