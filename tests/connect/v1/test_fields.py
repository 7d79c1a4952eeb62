"""Fields of a request that reach the model, in whichever protocol, and errors that programs can read."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest

from chat.models import AiModel
from people.models import User
from tests.connect.conftest import token_for
from tests.connect.v1.talking import Connect, ask, one_chat, user
from tests.connect.v1.test_completions import TOOL
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db(transaction=True)
WISHES: dict[str, Any] = {
    "top_p": 0.5,
    "seed": 7,
    "presence_penalty": 0.25,
    "frequency_penalty": -0.5,
    "parallel_tool_calls": False,
}


@pytest.mark.parametrize(
    ("kind", "part", "sent"),
    [
        ("openai", "", WISHES),
        ("anthropic", "", {"top_p": 0.5, "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
        (
            "gemini",
            "generationConfig",
            {"topP": 0.5, "seed": 7, "presencePenalty": 0.25, "frequencyPenalty": -0.5},
        ),
    ],
)
def test_wishes_reach_the_model(
    connect: Connect,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
    kind: str,
    part: str,
    sent: dict[str, Any],
) -> None:
    make_provider(kind)
    ask(connect("read"), user("Is it windy?"), tools=[TOOL], **WISHES)
    body = model_server.asked[-1].json
    assert (body[part] if part else body).items() >= sent.items()


@pytest.mark.parametrize(
    ("kind", "name", "effort", "sent"),
    [
        ("openai", "scripted-model", "high", {"reasoning_effort": "high"}),
        ("anthropic", "claude-opus-4-6", "low", {"output_config": {"effort": "low"}}),
        ("anthropic", "claude-3-7", "low", {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (
            "gemini",
            "gemini-2.5-flash",
            "low",
            {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 1024}}},
        ),
        (
            "gemini",
            "gemini-3-pro",
            "medium",
            {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "high"}}},
        ),
    ],
)
def test_how_much_is_thought_is_the_clients_wish(
    connect: Connect,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
    kind: str,
    name: str,
    effort: str,
    sent: dict[str, Any],
) -> None:
    make_provider(kind)
    AiModel.objects.update(supports_thinking=True, name=name)
    ask(connect("read"), user("Is it windy?"), model=name, reasoning_effort=effort)
    assert model_server.asked[-1].json.items() >= sent.items()


def test_who_wants_no_thought_of_claude_gets_none(
    connect: Connect, make_provider: Callable[..., AiModel], model_server: ModelServer
) -> None:
    make_provider("anthropic")
    AiModel.objects.update(supports_thinking=True)
    ask(connect("read"), user("Is it windy?"), reasoning_effort="none", top_p=0.5, temperature=0.1)
    body = model_server.asked[-1].json
    assert "thinking" not in body
    # Newer models refuse both.
    assert (body["temperature"], "top_p" in body) == (0.1, False)


@pytest.mark.parametrize("field", ["seed", "presence_penalty", "parallel_tool_calls", "reasoning_effort"])
def test_what_a_provider_refuses_is_left_out(
    connect: Connect, model: AiModel, model_server: ModelServer, field: str
) -> None:
    AiModel.objects.update(name=f"without-{field}")
    wishes = WISHES | {"reasoning_effort": "low"}
    for _ in range(2 if field == "reasoning_effort" else 1):
        model_server.error(400, {"error": {"message": f"Unsupported parameter: '{field}'."}}, match="windy")
    found = ask(connect("read"), user("Is it windy?"), model=f"without-{field}", tools=[TOOL], **wishes)
    assert found.choices[0].message.content
    body = model_server.asked[-1].json
    assert field not in body
    assert {"top_p", "frequency_penalty"} <= set(body)


@pytest.mark.parametrize(
    "fields",
    [
        {"top_p": 2},
        {"seed": "x"},
        {"seed": 2**70},
        {"presence_penalty": 3},
        {"frequency_penalty": "much"},
        {"reasoning_effort": "endless"},
        {"parallel_tool_calls": "no"},
        {"max_completion_tokens": 0},
    ],
)
def test_wishes_that_make_no_sense_are_refused(
    connect: Connect, model: AiModel, fields: dict[str, Any]
) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        ask(connect(), user("Hello"), extra_body=fields)
    assert raised.value.code == "invalid_value"


def test_one_model_is_described(connect: Connect, model: AiModel) -> None:
    assert connect("read").models.retrieve("scripted-model").id == "scripted-model"
    with pytest.raises(openai.NotFoundError) as raised:
        connect("read").models.retrieve("nothing")
    assert raised.value.code == "model_not_found"


@pytest.mark.parametrize("path", ["embeddings", "responses", "nothing/of/the/kind", "", "chat/completions/"])
def test_what_is_not_here_is_said_in_json(address: str, ada: User, path: str, quiet: None) -> None:
    headers = {"Authorization": f"Bearer {token_for(ada)}"}
    answer = httpx.post(f"{address}/v1/{path}", json={"input": "Hi"}, headers=headers, timeout=60)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "unknown_url"


def test_the_openai_client_reads_why_there_are_no_embeddings(connect: Connect) -> None:
    with pytest.raises(openai.NotFoundError, match="/v1/chat/completions"):
        connect().embeddings.create(model="default", input="Hi")


@pytest.mark.parametrize(
    ("method", "path", "allowed"), [("GET", "chat/completions", "POST"), ("POST", "models", "GET, HEAD")]
)
def test_another_method_is_refused_in_json(
    address: str, ada: User, method: str, path: str, allowed: str, quiet: None
) -> None:
    headers = {"Authorization": f"Bearer {token_for(ada)}"}
    answer = httpx.request(method, f"{address}/v1/{path}", headers=headers, timeout=60)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert answer.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("megabytes", [33, 101])
def test_too_much_is_refused_in_json(address: str, ada: User, megabytes: int, quiet: None) -> None:
    headers = {"Authorization": f"Bearer {token_for(ada)}", "Content-Type": "application/json"}
    body = b"[" + b" " * (megabytes * 2**20)
    answer = httpx.post(f"{address}/v1/chat/completions", content=body, headers=headers, timeout=120)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "request_too_large"


def test_what_goes_wrong_here_is_said_in_json(
    connect: Connect, model: AiModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr("connect.v1.replying.default_first", broken)
    with pytest.raises(openai.InternalServerError, match="see its log") as raised:
        connect().models.list()
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("path", ["/v1", "/v1/models", "/v1/chat/completions", "/v1/nothing/here"])
@pytest.mark.parametrize("host", ["evil.example", "evil_!example"])
def test_a_name_that_is_not_ours_is_an_error_that_programs_can_read(
    address: str, ada: User, quiet: None, path: str, host: str
) -> None:
    secret = token_for(ada)
    headers = {"Authorization": f"Bearer {secret}", "Host": host}
    answer = httpx.post(f"{address}{path}", json={"messages": []}, headers=headers, timeout=60)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "unknown_host")
    assert "ONECLAW_HOSTS" in error["message"]
    for kept_back in (secret, "127.0.0.1", "Traceback", "ada"):
        assert kept_back not in answer.text


NUL = "a\0b"


@pytest.mark.parametrize("stream", [False, True])
def test_nul_is_taken_out_wherever_it_stands(
    connect: Connect, ada: User, model: AiModel, model_server: ModelServer, stream: bool
) -> None:
    """PostgreSQL has no place for it in a text, nor in JSON."""
    function = {"name": NUL, "arguments": json.dumps({NUL: [NUL]})}
    call: Any = {"id": NUL, "type": "function", "function": function}
    told = [
        {"role": "system", "content": NUL},
        user(NUL),
        {"role": "assistant", "content": NUL, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": NUL, "content": [{"type": "text", "text": NUL}]},
        user(f"{NUL}?"),
    ]
    model_server.tool_calls(("look", {NUL: NUL}), text="c\0d", match="ab")
    answer = ask(connect(), *told, model="scripted\0-model", tools=[TOOL], stream=stream)
    if stream:
        list(answer)
    rows = one_chat().messages.order_by("id")
    found = json.dumps(list(rows.values("content", "tool_call_id", "tool_name", "tool_data")))
    assert "u0000" not in found
    assert {"content": "ab?"} in list(rows.values("content"))
    assert {"tool_data": {"ab": ["ab"]}} in list(rows.values("tool_data"))
    assert {"tool_data": {"ab": "ab"}} in list(rows.values("tool_data"))


def test_nul_in_the_address_or_the_id_of_a_chat_is_no_fault_of_ours(
    address: str, ada: User, quiet: None, model: AiModel
) -> None:
    headers = {"Authorization": f"Bearer {token_for(ada)}"}
    body = {"messages": [user("Hello")], "oneclaw": {"chat": NUL}}
    answer = httpx.post(f"{address}/v1/chat/completions", json=body, headers=headers, timeout=60)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "oneclaw.chat")
    assert httpx.get(f"{address}/v1/models/a%00b", headers=headers, timeout=60).status_code == 404
