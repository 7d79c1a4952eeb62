"""What went wrong at a provider, told apart and put in a sentence: pure functions of status and body."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlsplit

from django.utils import timezone

from chat import errors
from chat.errors import ModelError

LONGEST_QUOTE = 300
CONTEXT = re.compile(
    r"context.?(length|size|window|limit)|maximum context|prompt is too long|input is too long"
    r"|too many (input )?tokens|input token count|request_too_large"
    r"|exceeds? the (available|maximum|model)[^.]{0,40}(context|tokens)",
    re.I,
)
QUOTA = re.compile(
    r"insufficient.?(quota|balance|credit|funds)|credit balance|billing|exceeded your current quota|payment"
    r"|budget.{0,20}exceeded|not enough credits|requires more credits",
    re.I,
)
KEY = re.compile(
    r"api.?key|invalid x-api-key|unauthori[sz]ed|authentication|incorrect key|API_KEY_INVALID", re.I
)
MODEL = re.compile(
    r"model.{0,200}(not found|does ?n.t exist|does not exist|not exist|unknown|not available|no longer)"
    r"|(no such|unknown|invalid|find|not a valid|pull(ing)?) model|model_not_found|not a valid model",
    re.I | re.S,
)
FILTERED = re.compile(r"content.?(filter|policy|management)|safety|moderation|responsible.?ai", re.I)
OVERLOADED = re.compile(r"overloaded|over capacity|high demand|temporarily unavailable|try again later", re.I)
RATE = re.compile(r"rate.?limit|too many requests|resource.?exhausted|tokens per minute|throttl", re.I)


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer that is an error, before it has a sentence."""

    status: int
    message: str = ""
    tags: str = ""
    retry_after: float | None = None
    html: bool = False
    location: str = ""

    @property
    def said(self) -> str:
        return f"{self.tags} {self.message}"


def read(status: int, headers: Mapping[str, str], body: bytes) -> Fault:
    """The fault in an HTTP answer, whatever shape its body has."""
    text = body.decode("utf-8", "replace").strip()
    html = "html" in headers.get("content-type", "").lower() or text[:1] == "<"
    location = headers.get("location", "")
    wait = seconds(headers.get("retry-after", ""))
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return Fault(status, "" if html else text, "", wait, html, location)
    fault = inside(payload, status)
    return Fault(status, fault.message, fault.tags, wait or fault.retry_after, False, location)


def inside(payload: Any, status: int = 200) -> Fault:
    """The fault in a JSON error, as the providers and local servers shape it."""
    if isinstance(payload, list):
        payload = payload[0] if payload else {}
    if not isinstance(payload, dict):
        return Fault(status, str(payload))
    error = payload.get("error", payload)
    if not isinstance(error, dict):
        return Fault(status, str(error))
    message = next((error[name] for name in ("message", "detail", "msg", "error") if error.get(name)), "")
    details = error.get("details") or []
    metadata = error.get("metadata") or {}
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        message = f"{message}: {metadata['raw']}"
    tags = [error.get("type"), error.get("code"), error.get("status"), *_reasons(details)]
    code = str(error.get("code") or error.get("status_code") or "")
    if status == 200 and code.isdigit() and 400 <= int(code) < 600:
        status = int(code)
    words = " ".join(str(tag) for tag in tags if tag)
    return Fault(status, message if isinstance(message, str) else json.dumps(message), words, _delay(details))


def _reasons(details: Any) -> Iterable[str]:
    if not isinstance(details, list):
        return
    for detail in details:
        if isinstance(detail, dict):
            yield str(detail.get("reason") or "")
            for violation in detail.get("violations") or []:
                yield str(violation.get("quotaId") or "") if isinstance(violation, dict) else ""


def _delay(details: Any) -> float | None:
    """Gemini's RetryInfo: {"retryDelay": "17s"}."""
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            return seconds(detail["retryDelay"].rstrip("s"))
    return None


def seconds(text: str) -> float | None:
    """A Retry-After header: seconds, or a date."""
    text = text.strip()
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(text) - timezone.now()).total_seconds())
    except (TypeError, ValueError):
        return None


def explain(fault: Fault, *, model: str, secrets: Iterable[str] = ()) -> ModelError:
    """The error a user sees. The provider's own words are quoted only where no key can be in them."""
    quoted = scrub(fault.message, secrets)
    status, said = fault.status, fault.said
    because = f" It says: “{quoted}”" if quoted else ""
    if 300 <= status < 400:
        place = urlsplit(fault.location)
        to = f" to {place.scheme}://{place.hostname}" if place.hostname else ""
        return ModelError(
            errors.REDIRECT,
            f"The address redirects{scrub(to, secrets)}, and redirects are not followed. "
            "Put the final address in the provider's settings.",
        )
    if (
        status == 402
        or (status != 401 and QUOTA.search(said) and not fault.retry_after)
        or "PerDay" in fault.tags
    ):
        return ModelError(
            errors.QUOTA, f"The provider's quota or credit is used up: check the account's plan.{because}"
        )
    if status == 429 or (status in (200, 400) and RATE.search(said)):
        wait = (
            f" Try again in {fault.retry_after:.0f} seconds." if fault.retry_after else " Try again shortly."
        )
        return ModelError(
            errors.RATE_LIMIT, f"The provider limits how often it answers.{wait}", fault.retry_after
        )
    if status >= 500 or (status == 200 and OVERLOADED.search(said)):
        if status == 529 or OVERLOADED.search(said):
            return ModelError(
                errors.SERVER, "The provider is overloaded. Try again in a minute.", fault.retry_after
            )
        if CONTEXT.search(said):
            return _too_long()
        return ModelError(
            errors.SERVER, f"The provider failed (HTTP {status}). Try again.{because}", fault.retry_after
        )
    if status in (401, 403) or (status in (200, 400) and KEY.search(said)):
        return ModelError(
            errors.AUTH,
            "The provider refused the API key: enter a valid one in the provider's settings."
            if status != 403
            else "The provider refused access: the key is wrong, or is not allowed to use this model.",
        )
    if fault.html:
        return ModelError(
            errors.NOT_JSON,
            f"The address answered with a web page (HTTP {status}), not as a model does: check the base URL.",
        )
    if status == 413 or CONTEXT.search(said):
        return _too_long()
    if MODEL.search(said) or (status == 404 and "model" in said.lower()):
        return ModelError(
            errors.NOT_FOUND, f"The provider has no model named “{model}”: choose another.{because}"
        )
    if status == 404:
        return ModelError(
            errors.NOT_FOUND, f"Nothing answers at this address (HTTP 404): check the base URL.{because}"
        )
    if FILTERED.search(said):
        return ModelError(errors.REFUSED, f"The provider's filter refused the conversation.{because}")
    if status == 408:
        return ModelError(errors.TIMEOUT, "The provider took too long to answer. Try again.")
    if status == 200:
        return ModelError(errors.SERVER, f"The provider reported an error instead of an answer.{because}")
    return ModelError(errors.BAD_REQUEST, f"The provider refused the request (HTTP {status}).{because}")


def _too_long() -> ModelError:
    return ModelError(
        errors.CONTEXT_TOO_LONG,
        "The conversation is longer than this model can take: compact it, or start a new chat.",
    )


def scrub(text: str, secrets: Iterable[str]) -> str:
    """One short line without any secret in it."""
    for secret in secrets:
        for form in {secret, quote(secret, safe="")}:
            text = text.replace(form, "•••")
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE].rstrip() + "…"
