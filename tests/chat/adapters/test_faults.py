"""Every way a provider can fail, told apart, in a sentence, and without the key."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from chat.adapters import faults, http
from chat.errors import ModelError
from chat.models import AiModel, Provider
from oneclaw import vault
from tests.chat.adapters.exchanges import KINDS, SECRET, answer, failure, request_to, text_of
from tests.modelserver import ModelServer


def body(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


GEMINI_QUOTA = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
}
ANSWERS = [
    (401, body("Incorrect API key provided"), "auth"),
    (403, body("no access to this"), "auth"),
    (400, body("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"), "auth"),
    (401, {"type": "error", "error": {"type": "authentication_error", "message": "bad x-api-key"}}, "auth"),
    (404, body("The model `gpt-x` does not exist", code="model_not_found"), "not_found"),
    (404, {"error": "model 'llama9' not found, try pulling it first"}, "not_found"),
    (400, body("no-such is not a valid model ID"), "not_found"),
    (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-x"}}, "not_found"),
    (404, body("Not Found"), "not_found"),
    (402, body("This request requires more credits"), "quota"),
    (429, body("You exceeded your current quota", type="insufficient_quota"), "quota"),
    (429, body("Resource exhausted", status="RESOURCE_EXHAUSTED", details=[GEMINI_QUOTA]), "quota"),
    (400, body("Your credit balance is too low to access the Anthropic API"), "quota"),
    (400, body("maximum context length is 8192", code="context_length_exceeded"), "context_too_long"),
    (400, body("prompt is too long: 210000 tokens > 200000 maximum"), "context_too_long"),
    (
        400,
        body("input length and `max_tokens` exceed context limit: 171000 + 32000 > 200000"),
        "context_too_long",
    ),
    (400, body("The input token count (1100000) exceeds the maximum"), "context_too_long"),
    (400, body("the request exceeds the available context size"), "context_too_long"),
    (413, body("Request too large", type="request_too_large"), "context_too_long"),
    (400, body("The response was filtered", code="content_filter"), "refused"),
    (408, body("Request timed out"), "timeout"),
    (400, body("'messages' must be an array"), "bad_request"),
    (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request"),
    (418, b"plain words", "bad_request"),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("status", "said", "code"), ANSWERS)
async def test_an_error_is_told_apart_and_not_tried_again(
    kind: str, status: int, said: Any, code: str, model_server: ModelServer
) -> None:
    model_server.error(status, said)
    error, events = await failure(request_to(kind, model_server))
    assert (error.code, events) == (code, [])
    assert error.message.endswith((".", "”"))
    assert len(model_server.asked) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_a_passing_fault_is_tried_again(kind: str, status: int, model_server: ModelServer) -> None:
    model_server.error(status, b"<html>Bad gateway", {"Content-Type": "text/html"})
    model_server.error(status, body("busy"))
    model_server.reply("Here I am")
    assert text_of(await answer(request_to(kind, model_server))) == "Here I am"
    assert len(model_server.asked) == 3


@pytest.mark.parametrize(("status", "code"), [(429, "rate_limit"), (503, "server")])
async def test_tries_are_bounded(status: int, code: str, model_server: ModelServer) -> None:
    for _ in range(9):
        model_server.error(status)
    error, _ = await failure(request_to("openai", model_server))
    assert error.code == code
    assert len(model_server.asked) == 1 + http.MOST_RETRIES


async def test_a_short_wait_that_the_provider_asks_for_is_kept(model_server: ModelServer) -> None:
    model_server.error(429, headers={"Retry-After": "0.05"})
    assert text_of(await answer(request_to("openai", model_server)))
    assert len(model_server.asked) == 2


async def test_a_long_wait_is_the_users(model_server: ModelServer) -> None:
    model_server.error(429, headers={"Retry-After": "3600"})
    error, _ = await failure(request_to("openai", model_server))
    assert (error.code, error.retry_after) == ("rate_limit", 3600)
    assert "3600 seconds" in error.message
    assert len(model_server.asked) == 1


async def test_geminis_own_way_of_asking_for_a_wait_is_read(model_server: ModelServer) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "47s"}]
    model_server.error(429, body("You exceeded your current quota, check billing", details=details))
    error, _ = await failure(request_to("gemini", model_server))
    assert (error.code, error.retry_after) == ("rate_limit", 47)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_broken_connection_is_an_error_after_what_came(kind: str, model_server: ModelServer) -> None:
    model_server.cut("One two three", after={"openai": 2, "anthropic": 5, "gemini": 2}[kind])
    error, events = await failure(request_to(kind, model_server))
    assert (error.code, text_of(events)) == ("cut", "One two")
    assert len(model_server.asked) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_that_ends_without_an_end_is_cut(kind: str, model_server: ModelServer) -> None:
    model_server.raw(b": hello\n\n")
    error, events = await failure(request_to(kind, model_server))
    assert (error.code, events) == ("cut", [])


@pytest.mark.parametrize("kind", KINDS)
async def test_silence_is_a_timeout(kind: str, model_server: ModelServer) -> None:
    model_server.hang()
    error, _ = await failure(request_to(kind, model_server, silence=0.2))
    assert error.code == "timeout"


@pytest.mark.parametrize("kind", KINDS)
async def test_silence_in_mid_word_keeps_the_word(kind: str, model_server: ModelServer) -> None:
    model_server.hang("Once upon a time there was a model", after=5)
    error, events = await failure(request_to(kind, model_server, silence=0.2))
    assert error.code == "timeout"
    assert text_of(events).startswith("Once upon")


async def test_a_whole_answer_has_a_deadline(model_server: ModelServer) -> None:
    model_server.reply("word " * 200, delay=0.02)
    error, events = await failure(request_to("openai", model_server, deadline=0.3))
    assert error.code == "timeout"
    assert events


async def test_the_deadline_holds_for_waits_between_tries(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "FIRST_WAIT", 60)
    model_server.error(503)
    error, _ = await failure(request_to("openai", model_server, deadline=5))
    assert error.code == "server"


async def test_nobody_at_the_address(model_server: ModelServer) -> None:
    request = request_to("openai", model_server)
    model_server.close()
    error, _ = await failure(request)
    assert error.code == "unreachable"


@pytest.mark.parametrize("url", ["http://no-such-host.invalid/v1", "ftp://127.0.0.1/v1", "nonsense"])
async def test_an_address_that_leads_nowhere(url: str, model_server: ModelServer) -> None:
    error, _ = await failure(request_to("openai", model_server, base_url=url))
    assert error.code == "unreachable"


async def test_http_where_https_was_meant(model_server: ModelServer) -> None:
    url = model_server.base_url().replace("http:", "https:")
    error, _ = await failure(request_to("openai", model_server, base_url=url))
    assert error.code == "unreachable"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [200, 404])
async def test_a_web_page_is_not_an_answer(kind: str, status: int, model_server: ModelServer) -> None:
    model_server.html(status)
    error, _ = await failure(request_to(kind, model_server))
    assert error.code == "not_json"
    assert "Check the provider's address" in error.message


@pytest.mark.parametrize("kind", KINDS)
async def test_a_redirect_is_not_followed(kind: str, model_server: ModelServer) -> None:
    model_server.redirect(f"{model_server.url}/v1/elsewhere?key={SECRET}")
    error, _ = await failure(request_to(kind, model_server))
    assert error.code == "redirect"
    assert "redirects to http://127.0.0.1, and" in error.message
    assert SECRET not in error.message
    assert len(model_server.requests) == 1


STREAMED = [
    (b'data: {"error": {"message": "The server had an error", "type": "server_error"}}\n\n', "server"),
    (b'data: {"error": {"message": "Invalid API key", "code": 401}}\n\n', "auth"),
    (b'data: {"error": {"message": "prompt is too long", "code": 400}}\n\n', "context_too_long"),
    (b"data: {half\n\n", "bad_stream"),
    (b'data: "just words"\n\n', "bad_stream"),
    (b"data: <html>\n\n", "not_json"),
    (b'data: {"choices": 7, "candidates": 7, "type": "message_start"}\n\n', "bad_stream"),
    (b"data: " + b"[" * 100_000 + b"\n\n", "bad_stream"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("raw", "code"), STREAMED)
async def test_a_stream_that_holds_no_answer(
    kind: str, raw: bytes, code: str, model_server: ModelServer
) -> None:
    for _ in range(1 + http.MOST_RETRIES):
        model_server.raw(raw)
    error, events = await failure(request_to(kind, model_server))
    assert (error.code, events) == (code, [])


@pytest.mark.parametrize("kind", KINDS)
async def test_two_hundred_with_an_error_inside(kind: str, model_server: ModelServer) -> None:
    model_server.raw(b'{"type": "error", "error": {"message": "model not found: x"}}', "application/json")
    error, _ = await failure(request_to(kind, model_server))
    assert error.code == "not_found"


@pytest.mark.parametrize("kind", KINDS)
async def test_two_hundred_with_something_else_inside(kind: str, model_server: ModelServer) -> None:
    model_server.raw(b'{"status": "ok"}', "application/json")
    error, _ = await failure(request_to(kind, model_server))
    assert error.code == "bad_stream"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
async def test_ten_megabytes_without_a_newline_are_refused(
    kind: str, content_type: str, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "LONGEST_ANSWER", 9 * 1024 * 1024)
    model_server.raw(b"data: " + b"x" * 10 * 1024 * 1024, content_type)
    error, _ = await failure(request_to(kind, model_server))
    assert error.code == "bad_stream"


async def test_an_endless_answer_is_stopped(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "LONGEST_ANSWER", 5_000)
    model_server.reply("word " * 500)
    error, events = await failure(request_to("openai", model_server))
    assert error.code == "bad_stream"
    assert events


@pytest.mark.parametrize("kind", KINDS)
async def test_the_key_is_in_no_error_repr_or_log(
    kind: str, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    request = request_to(kind, model_server)
    assert SECRET not in repr(request)
    for status in (400, 401, 404, 409):
        model_server.error(status, body(f"bad key {SECRET} in ?key={SECRET}"))
        error, _ = await failure(request)
        assert SECRET not in repr(error) + str(error)
        assert error.__suppress_context__ or error.__context__ is None
    assert SECRET in str(model_server.last.headers)
    assert SECRET not in model_server.last.path
    assert SECRET not in caplog.text


@pytest.mark.parametrize("key", ["sk-ключ", "sk-a\nb", "two words"])
async def test_a_key_that_no_header_can_carry(key: str, model_server: ModelServer) -> None:
    error, _ = await failure(request_to("anthropic", model_server, key=key))
    assert error.code == "auth"
    assert key not in error.message


def test_a_key_is_sealed_masked_and_readable(db: None) -> None:
    provider = Provider(name="P", kind="openai", base_url="http://127.0.0.1:1/v1")
    provider.set_key(f" {SECRET}\n")
    assert provider.key() == SECRET
    assert provider.masked_key == "••••wxyz"
    assert SECRET not in provider.sealed_key + repr(provider) + str(vars(provider))
    provider.set_key("short")
    assert provider.masked_key == "••••"
    provider.set_key("")
    assert (provider.sealed_key, provider.masked_key) == ("", "")


def test_a_key_sealed_elsewhere_is_an_error_that_says_so(
    make_provider: Callable[..., AiModel], settings: Any
) -> None:
    model = make_provider()
    settings.SECRET_KEY = "another"
    with pytest.raises(vault.SecretUnreadable):
        model.provider.key()
    assert model.provider.masked_key == "unreadable"
    from chat.ask import ask_model

    with pytest.raises(ModelError) as caught:
        ask_model(model, "Hi")
    assert caught.value.code == "auth"
    assert "enter it again" in caught.value.message


def test_a_redirect_to_nonsense_is_still_a_redirect() -> None:
    for location in ("http://[::1", "", "/login"):
        error = faults.explain(faults.Fault(302, location=location), model="m")
        assert (error.code, "redirects, and" in error.message) == ("redirect", True)


def test_a_date_is_a_wait_too() -> None:
    assert faults.seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert faults.seconds("12") == 12
    assert faults.seconds("soon") is None
