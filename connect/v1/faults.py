"""Errors in the shape that OpenAI's clients understand."""

from collections.abc import Collection
from typing import Any

from chat import errors
from chat.errors import ModelError
from connect.tokens.access import Refused
from connect.tokens.keys import Revoked

# What went wrong with a model: HTTP's status, OpenAI's type and code.
STATUS = {
    errors.RATE_LIMIT: (429, "rate_limit_error", "rate_limit_exceeded"),
    errors.QUOTA: (429, "insufficient_quota", "insufficient_quota"),
    errors.CONTEXT_TOO_LONG: (400, "invalid_request_error", "context_length_exceeded"),
    errors.BAD_REQUEST: (400, "invalid_request_error", "provider_refused"),
    errors.REFUSED: (400, "invalid_request_error", "content_filter"),
    errors.NOT_FOUND: (404, "invalid_request_error", "model_not_found"),
    errors.NO_MODEL: (404, "invalid_request_error", "model_not_found"),
    errors.TIMEOUT: (504, "server_error", "timeout"),
}
OTHER = (502, "server_error", "provider_error")
KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class ApiError(Exception):
    """A request that can't be answered; `param` names the field that is wrong."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.code = code
        self.param = param
        self.headers = headers or {}

    @property
    def body(self) -> dict[str, Any]:
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error}


def of_model(error: ModelError) -> ApiError:
    """What a provider's error is to a client; a wrong key of the owner's is not the client's fault."""
    status, kind, code = STATUS.get(error.code, OTHER)
    wait = {"Retry-After": str(max(1, round(error.retry_after)))} if error.retry_after else {}
    return ApiError(status, error.message, kind=kind, code=code, headers=wait)


def of_refusal(refused: Refused) -> ApiError:
    code = "invalid_api_key" if refused.status == 401 else "rate_limit_exceeded" if refused.wait else None
    return ApiError(
        refused.status,
        refused.message,
        kind=KINDS.get(refused.status, "invalid_request_error"),
        code=code,
        headers=refused.headers,
    )


def revoked() -> ApiError:
    return ApiError(401, str(Revoked()), kind="authentication_error", code="invalid_api_key")


def wrong_method(method: str, path: str, allowed: Collection[str]) -> ApiError:
    message = f"{method} is not possible at {path[:200]}: use {' or '.join(allowed)}."
    return ApiError(405, message, code="method_not_allowed", headers={"Allow": ", ".join(allowed)})


def not_here(method: str, path: str) -> ApiError:
    message = f"There is no {method} {path[:200]} here: OneClaw has /v1/chat/completions and /v1/models."
    return ApiError(404, message, code="unknown_url")


def unknown_host(advice: str) -> ApiError:
    return ApiError(400, advice, code="unknown_host")


def too_large(most: int) -> ApiError:
    return ApiError(413, f"A request can have at most {most // 2**20} MB.", code="request_too_large")
