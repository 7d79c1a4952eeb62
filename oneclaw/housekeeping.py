"""Small tidying tasks of the project itself."""

from django.core.management import call_command


def clear_sessions() -> None:
    """Delete expired browser sessions."""
    call_command("clearsessions")
