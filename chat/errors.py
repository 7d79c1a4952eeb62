"""The one error that talking to a model can raise, with a sentence its reader can act on."""

from typing import Final

# Codes: stored with the run and the error message, so they stay as they are.
AUTH: Final = "auth"
NOT_FOUND: Final = "not_found"
RATE_LIMIT: Final = "rate_limit"
QUOTA: Final = "quota"
CONTEXT_TOO_LONG: Final = "context_too_long"
TIMEOUT: Final = "timeout"
UNREACHABLE: Final = "unreachable"
CUT: Final = "cut"
BAD_STREAM: Final = "bad_stream"
NOT_JSON: Final = "not_json"
REDIRECT: Final = "redirect"
SERVER: Final = "server"
REFUSED: Final = "refused"
EMPTY: Final = "empty"
BAD_REQUEST: Final = "bad_request"
NO_MODEL: Final = "no_model"
NO_PICTURES: Final = "no_pictures"

BROKEN_OFF: Final = "The connection to the provider was lost before the reply was complete. Try again."


class ModelError(Exception):
    """A model could not answer: `code` for programs, `message` for people, never a key in either."""

    def __init__(self, code: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        # Seconds the provider asked to wait, where it said so.
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type["ModelError"], tuple[str, str, float | None]]:
        """Pickle every field, so that the error arrives whole from another process."""
        return type(self), (self.code, self.message, self.retry_after)

    def __repr__(self) -> str:
        return f"ModelError({self.code!r}, {self.message!r})"
