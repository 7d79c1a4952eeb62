"""What went wrong at a provider, told apart and put in a sentence: pure functions of status and body."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlsplit

from django.utils import timezone

from chat import errors
from chat.adapters.cleaning import clean
from chat.errors import ModelError

LONGEST_QUOTE = 300
# What is looked at of an error's words: more says no more.
LONGEST_SAID = 4_000
# Seconds: a longer wait is not worth naming.
LONGEST_WAIT = 7 * 24 * 3600.0
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
PICTURES = re.compile(
    r"(not|n't) support[^.]{0,40}(image|vision|multimodal)|(image|vision)[^.]{0,60}(not|only) support"
    r"|not a multimodal|support image input|required for image input|unknown variant .?image_url|mmproj",
    re.I,
)
CODE = re.compile(r"[45][0-9]{2}")
MOST_TAGS = 20
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

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        return bool(pattern.search(self.said))

    @property
    def target(self) -> str:
        """Where a redirect leads: never its path or query, which may repeat what was sent."""
        try:
            place = urlsplit(self.location)
            return f"{place.scheme}://{place.hostname}" if place.hostname else ""
        except ValueError:
            return ""


def read(status: int, headers: Mapping[str, str], body: bytes) -> Fault:
    """The fault in an HTTP answer, whatever shape its body has."""
    text = body.decode("utf-8", "replace").strip()
    html = "html" in headers.get("content-type", "").lower() or text[:1] == "<"
    location = headers.get("location", "")
    wait = seconds(headers.get("retry-after", ""))
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return Fault(status, "" if html else words(text), "", wait, html, location)
    fault = inside(payload, status)
    return Fault(status, fault.message, fault.tags, wait or fault.retry_after, False, location)


def inside(payload: Any, status: int = 200) -> Fault:
    """The fault in a JSON error, as the providers and local servers shape it."""
    if isinstance(payload, list):
        payload = payload[0] if payload else {}
    if not isinstance(payload, dict):
        return Fault(status, words(payload))
    error = payload.get("error", payload)
    if not isinstance(error, dict):
        return Fault(status, words(error))
    message = next((error[name] for name in ("message", "detail", "msg", "error") if error.get(name)), "")
    details = error.get("details") or []
    metadata = error.get("metadata") or {}
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        message = f"{words(message)}: {metadata['raw']}"
    tags = [error.get("type"), error.get("code"), error.get("status"), *_reasons(details)]
    code = words(error.get("code") or error.get("status_code") or "")
    if status == 200 and CODE.fullmatch(code):
        status = int(code)
    tagged = " ".join(words(tag) for tag in tags[:MOST_TAGS] if tag)
    return Fault(status, words(message), tagged[:LONGEST_SAID], _delay(details))


def words(value: Any) -> str:
    """A provider's value as text, cut to a length that anybody would read."""
    if isinstance(value, str):
        return clean(value[:LONGEST_SAID])
    try:
        return clean(json.dumps(value)[:LONGEST_SAID])
    except (ValueError, RecursionError):
        return ""


def _reasons(details: Any) -> Iterable[Any]:
    for detail in details[:MOST_TAGS] if isinstance(details, list) else []:
        if isinstance(detail, dict):
            yield detail.get("reason")
            violations = detail.get("violations")
            for violation in violations[:MOST_TAGS] if isinstance(violations, list) else []:
                yield violation.get("quotaId") if isinstance(violation, dict) else None


def _delay(details: Any) -> float | None:
    """Gemini's RetryInfo: {"retryDelay": "17s"}."""
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            return seconds(detail["retryDelay"].rstrip("s"))
    return None


def seconds(text: str) -> float | None:
    """A Retry-After header: seconds, or a date."""
    text = text.strip()[:100]
    try:
        wait = float(text) if text else None
    except ValueError:
        try:
            wait = (parsedate_to_datetime(text) - timezone.now()).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return None
    return None if wait is None or wait != wait or wait > LONGEST_WAIT else max(0.0, wait)


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of fault: how it is known, its code, and the sentence for it."""

    applies: Callable[[Fault], bool]
    code: str
    # May name {status}, {model}, {target}, {wait} and {because}, which quotes the provider.
    sentence: str
    # Whether the error carries the wait that the provider asked for.
    waits: bool = False


TOO_LONG = "This chat is too long for the model: summarise earlier messages, or start a new chat."
# The first rule that applies is the answer: what is certain by status comes before what is read from words.
RULES = (
    Rule(
        lambda fault: 300 <= fault.status < 400,
        errors.REDIRECT,
        "The address redirects{target}, and redirects are not followed. "
        "Enter the final address in the provider's settings.",
    ),
    # A quota that comes back by itself is a rate limit: its provider says how long to wait.
    Rule(
        lambda fault: (
            fault.status == 402
            or "PerDay" in fault.tags
            or (fault.status != 401 and not fault.retry_after and fault.mentions(QUOTA))
        ),
        errors.QUOTA,
        "The provider's quota or credit is used up: check the account's plan.{because}",
    ),
    Rule(
        lambda fault: fault.status == 429 or (fault.status in (200, 400) and fault.mentions(RATE)),
        errors.RATE_LIMIT,
        "The provider's rate limit was reached. Try again {wait}.",
        waits=True,
    ),
    Rule(
        lambda fault: (
            fault.status == 529
            or ((fault.status == 200 or fault.status >= 500) and fault.mentions(OVERLOADED))
        ),
        errors.SERVER,
        "The provider is overloaded. Try again in a minute.",
        waits=True,
    ),
    # Local servers say so with a status of 500, OpenRouter with 404.
    Rule(
        lambda fault: fault.status not in (401, 403) and fault.mentions(PICTURES),
        errors.NO_PICTURES,
        "{model} can't see pictures. Choose a model that can, or start a new chat without them.{because}",
    ),
    Rule(lambda fault: fault.status >= 500 and fault.mentions(CONTEXT), errors.CONTEXT_TOO_LONG, TOO_LONG),
    Rule(
        lambda fault: fault.status >= 500,
        errors.SERVER,
        "The provider returned an error (HTTP {status}). Try again.{because}",
        waits=True,
    ),
    Rule(
        lambda fault: fault.status == 403,
        errors.AUTH,
        "The provider denied access: the key is wrong or not allowed to use this model.",
    ),
    Rule(
        lambda fault: fault.status == 401 or (fault.status in (200, 400) and fault.mentions(KEY)),
        errors.AUTH,
        "The provider rejected the API key: enter a valid one in the provider's settings.",
    ),
    Rule(
        lambda fault: fault.html,
        errors.NOT_JSON,
        "Check the provider's address: it returned a web page (HTTP {status}), not a model's reply.",
    ),
    Rule(lambda fault: fault.status == 413 or fault.mentions(CONTEXT), errors.CONTEXT_TOO_LONG, TOO_LONG),
    Rule(
        lambda fault: fault.mentions(MODEL) or (fault.status == 404 and "model" in fault.said.lower()),
        errors.NOT_FOUND,
        "The provider has no model named “{model}”: choose another.{because}",
    ),
    Rule(
        lambda fault: fault.status == 404,
        errors.NOT_FOUND,
        "Check the provider's address: nothing was found there (HTTP 404).{because}",
    ),
    Rule(
        lambda fault: fault.mentions(FILTERED),
        errors.REFUSED,
        "The provider's content filter blocked this chat.{because}",
    ),
    Rule(
        lambda fault: fault.status == 408,
        errors.TIMEOUT,
        "The provider took too long to reply. Try again.",
    ),
    Rule(
        lambda fault: fault.status == 200,
        errors.SERVER,
        "The provider returned an error instead of a reply.{because}",
    ),
    Rule(
        lambda fault: True,
        errors.BAD_REQUEST,
        "The provider rejected the request (HTTP {status}).{because}",
    ),
)


def explain(fault: Fault, *, model: str, secrets: Iterable[str] = ()) -> ModelError:
    """The error a user sees. The provider's own words are quoted only where no key can be in them."""
    rule = next(rule for rule in RULES if rule.applies(fault))
    quoted = scrub(fault.message, secrets)
    sentence = rule.sentence.format(
        status=fault.status,
        model=model,
        target=f" to {scrub(fault.target, secrets)}" if fault.target else "",
        wait=f"in {fault.retry_after:.0f} seconds" if fault.retry_after else "shortly",
        because=f" It says: “{quoted}”" if quoted else "",
    )
    return ModelError(rule.code, sentence, fault.retry_after if rule.waits else None)


def scrub(text: str, secrets: Iterable[str]) -> str:
    """One short line without any secret in it, fit to be stored."""
    text = clean(text)
    for secret in secrets:
        for form in {secret, quote(secret, safe="")}:
            text = text.replace(form, "•••")
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE].rstrip() + "…"
