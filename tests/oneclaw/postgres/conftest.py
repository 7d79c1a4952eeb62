"""The chat's fixtures, for tests of several processes that answer in one chat."""

from tests.chat.conftest import quiet, session, user

__all__ = ["quiet", "session", "user"]
