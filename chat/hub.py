"""Live runs."""

from uuid import UUID


def stop(run_id: UUID) -> None:
    """Tell a live run to stop."""
