"""Small tidying tasks of the project itself."""

from importlib import import_module

from django.conf import settings


def clear_sessions() -> None:
    """Delete expired browser sessions."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
