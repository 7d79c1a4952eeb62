"""Chat completions by OpenAI's own client: the owner's models with memory, kept if the token allows it."""

import base64
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import openai
import pytest
from django.urls import reverse
from django.utils import timezone

from chat.attachments import storage
from chat.models import AiModel, Attachment, Message, Provider, Run, Session
from chat.sessions import search
from connect.models import Token
from memory.manager import MemoryManager
from people.models import User
from tests.chat.attachments.made import picture
from tests.chat.conftest import until
from tests.connect.conftest import token_for
from tests.connect.v1.talking import Connect, ask, assistant, one_chat, said, user
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db(transaction=True)
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 20).decode()
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a place",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
}


def test_models_are_listed(connect: Connect, model: AiModel) -> None:
    assert [each.id for each in connect("read").models.list()] == ["scripted-model"]


def test_two_of_a_name_are_told_apart(connect: Connect, model: AiModel, model_server: ModelServer) -> None:
    other = Provider.objects.create(name="Other", kind="openai", base_url=model_server.base_url())
    AiModel.objects.create(provider=other, name=model.name)
    found = [each.id for each in connect().models.list()]
    assert found == [f"{model.provider.name}/scripted-model", "Other/scripted-model"]
    ask(connect(), user("Hi"), model="Other/scripted-model")
    assert one_chat().model.provider == other  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
def test_an_answer_with_memory_in_each_protocol(
    connect: Connect,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
    memory: MemoryManager,
    kind: str,
) -> None:
    make_provider(kind)
    model_server.reply("It needs varnish.", match="boat")
    system: Any = {"role": "system", "content": "Speak like a sailor."}
    found = ask(
        connect(), system, user("How is my boat doing?"), temperature=0.5, max_tokens=99, stop=["END"]
    )
    choice = found.choices[0]
    assert (choice.message.content, choice.finish_reason) == ("It needs varnish.", "stop")
    asked = next(request for request in model_server.asked if "sailor" in request.text)
    assert "Petrel" in asked.text
    assert "<oneclaw-memory>" in asked.text
    chat = one_chat()
    assert said(chat) == [("user", "How is my boat doing?"), ("ai_response", "It needs varnish.")]
    assert chat.via == "Laptop"
    reply = chat.messages.get(type="ai_response")
    assert "off" not in reply.receipt
    assert found.oneclaw["recalled"] >= 1
    assert reply.run is not None
    assert reply.run.status == Run.Status.DONE
    assert found.oneclaw["chat"] == str(chat.pk)


def test_it_is_in_the_list_and_found_and_in_memory(
    connect: Connect, ada: User, model: AiModel, model_server: ModelServer, client: Any
) -> None:
    model_server.reply("The kestrel nests in the old tower.", match="kestrel")
    ask(connect(name="Open WebUI"), user("Where does the kestrel nest?"))
    client.force_login(ada)
    assert "Open WebUI" in client.get("/", headers={"host": "localhost"}).content.decode()
    assert search.find(ada, "kestrel tower")[0].session_id == one_chat().pk
    found = MemoryManager(ada).search_memory("Where is the kestrel's nest?")
    assert any("tower" in hit.chunk_text for hit in found)


def test_a_stream(connect: Connect, model: AiModel, model_server: ModelServer) -> None:
    model_server.thinking("Let me see.", "One two three.", match="Count")
    chunks = list(ask(connect(), user("Count"), stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "One two three."
    assert "".join(getattr(delta, "reasoning_content", "") or "" for delta in deltas) == "Let me see."
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == [
        "stop"
    ]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens > 0
    assert said(one_chat()) == [("user", "Count"), ("ai_response", "One two three.")]
    assert one_chat().messages.get(type="ai_response").thinking == "Let me see."


def test_no_usage_in_a_stream_that_did_not_ask(connect: Connect, model: AiModel) -> None:
    chunks = list(ask(connect(), user("Count"), stream=True))
    assert all(chunk.usage is None for chunk in chunks)


def test_a_chat_is_known_again_by_its_start(
    connect: Connect, model: AiModel, model_server: ModelServer
) -> None:
    client = connect()
    talk = [user("Hello")]
    for number in range(3):
        model_server.reply(f"Answer {number}", match=talk[-1]["content"])
        answer = ask(client, *talk).choices[0].message.content
        # As clients do: trimmed, and with a system prompt that changes.
        talk += [assistant(f"{answer}\n"), user(f"Question {number}")]
    chat = one_chat()
    assert [text for _, text in said(chat)] == [
        "Hello", "Answer 0", "Question 0", "Answer 1", "Question 1", "Answer 2",
    ]  # fmt: skip


def test_two_chats_with_the_same_start_stay_apart(
    connect: Connect, model: AiModel, model_server: ModelServer
) -> None:
    client = connect()
    start = [user("Hello"), assistant("Hello from the scripted model.")]
    ask(client, start[0])
    Session.objects.update(active_at=timezone.now() - timedelta(hours=1))
    ask(client, start[0])
    ask(client, *start, user("About bees"))
    ask(client, *start, user("About wasps"))
    ask(client, *start, user("About bees"), assistant("Hello from the scripted model."), user("More of bees"))
    found = {tuple(text for kind, text in said(chat) if kind == "user") for chat in Session.objects.all()}
    assert ("Hello", "About bees", "More of bees") in found
    assert not any({"About bees", "About wasps"} <= set(texts) for texts in found)


def test_a_reply_made_again_and_a_message_edited_are_versions(
    connect: Connect, model: AiModel, model_server: ModelServer
) -> None:
    client = connect()
    first = [user("Hello")]
    ask(client, *first)
    first += [assistant("Hello from the scripted model."), user("Sing")]
    model_server.reply("La la", match="Sing")
    ask(client, *first)
    model_server.reply("Lo lo", match="Sing")
    ask(client, *first)
    chat = one_chat()
    assert [text for _, text in said(chat)][-2:] == ["Sing", "Lo lo"]
    again = Message.objects.get(content="Lo lo")
    assert again.version_of == Message.objects.get(content="La la")
    edited = [*first[:2], user("Dance")]
    ask(client, *edited)
    assert [text for kind, text in said(chat) if kind == "user"] == ["Hello", "Dance"]
    assert Message.objects.get(content="Dance").version_of == Message.objects.get(content="Sing")


def test_an_id_names_the_chat(connect: Connect, ada: User, model: AiModel) -> None:
    chat = Session.objects.create(owner=ada, title="On a page")
    for kind, text in (("user", "Hello"), ("ai_response", "Hi there")):
        Message.objects.create(session=chat, type=kind, content=text)
    own = {"oneclaw": {"chat": str(chat.pk)}}
    ask(connect(), user("Hello"), assistant("Hi there"), user("Go on"), extra_body=own)
    ask(connect(), user("Only the newest"), extra_body=own)
    assert [text for kind, text in said(chat) if kind == "user"] == ["Hello", "Go on", "Only the newest"]
    assert Session.objects.count() == 1


def test_anothers_chat_is_not_there(connect: Connect, ben: User, model: AiModel) -> None:
    chat = Session.objects.create(owner=ben, title="Ben's")
    for memory_mode in ("on", "read", "off"):
        own = {"oneclaw": {"chat": str(chat.pk), "memory": memory_mode}}
        with pytest.raises(openai.NotFoundError, match="no such chat"):
            ask(connect(), user("Hello"), extra_body=own)
    assert not chat.messages.exists()


def test_another_users_history_is_not_known(
    connect: Connect, address: str, ben: User, model: AiModel
) -> None:
    ask(connect(), user("Hello"))
    his = connect(secret=token_for(ben))
    ask(his, user("Hello"), assistant("Hello from the scripted model."), user("Mine"))
    assert {chat.owner.username for chat in Session.objects.all()} == {"ada", "ben"}


@pytest.mark.parametrize(
    ("scope", "mode", "recalled"), [("read", None, True), ("write", "read", True), ("write", "off", False)]
)
def test_what_may_not_be_kept_is_not(
    connect: Connect,
    model: AiModel,
    model_server: ModelServer,
    memory: MemoryManager,
    scope: str,
    mode: str | None,
    recalled: bool,
) -> None:
    own = {"oneclaw": {"memory": mode}} if mode else {}
    found = ask(connect(scope), user("How is my boat?"), extra_body=own)
    assert ("Petrel" in model_server.asked[-1].text) is recalled
    assert found.oneclaw["chat"] is None
    assert not Session.objects.exists()
    assert not Message.objects.exists()


def test_with_memory_switched_off_nothing_is_recalled_or_kept(
    connect: Connect, ada: User, model: AiModel, model_server: ModelServer, memory: MemoryManager
) -> None:
    User.objects.filter(pk=ada.pk).update(memory_enabled=False)
    ask(connect(), user("How is my boat?"))
    assert "Petrel" not in model_server.asked[-1].text
    assert not Session.objects.exists()


def test_a_provider_that_gets_no_memory_gets_none(
    connect: Connect, model: AiModel, model_server: ModelServer, memory: MemoryManager
) -> None:
    Provider.objects.update(send_memory=False)
    ask(connect(), user("How is my boat?"))
    assert "Petrel" not in next(request.text for request in model_server.asked if "boat" in request.text)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
def test_tools_are_the_clients(
    connect: Connect,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
    kind: str,
    stream: bool,
) -> None:
    make_provider(kind)
    client = connect()
    model_server.tool_calls(("weather", {"place": "Porto"}), match="weather")
    asked = user("What is the weather in Porto?")
    if stream:
        chunks = list(ask(client, asked, tools=[TOOL], stream=True))
        calls = [call for chunk in chunks for call in (chunk.choices[0].delta.tool_calls or [])]
        assert chunks[-1].choices[0].finish_reason == "tool_calls"
    else:
        found = ask(client, asked, tools=[TOOL])
        calls = found.choices[0].message.tool_calls
        assert found.choices[0].finish_reason == "tool_calls"
    assert [(call.function.name, call.function.arguments) for call in calls] == [
        ("weather", '{"place": "Porto"}')
    ]
    function = {"name": "weather", "arguments": calls[0].function.arguments}
    called: Any = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": calls[0].id, "type": "function", "function": function}],
    }
    result: Any = {"role": "tool", "tool_call_id": calls[0].id, "content": "19 degrees, windy"}
    model_server.reply("Mild and windy.", match="19 degrees")
    found = ask(client, asked, called, result, tools=[TOOL])
    assert found.choices[0].message.content == "Mild and windy."
    kinds = [kind for kind, _ in said(one_chat())]
    assert kinds == ["user", "ai_response", "tool_call", "tool_result", "ai_response"]


FORCED = {"type": "function", "function": {"name": "weather"}}


@pytest.mark.parametrize(
    ("kind", "choice", "sent"),
    [
        ("openai", "none", {"tool_choice": "none"}),
        ("openai", "required", {"tool_choice": "required"}),
        ("openai", FORCED, {"tool_choice": FORCED}),
        ("anthropic", "none", {"tool_choice": {"type": "none"}}),
        ("anthropic", "required", {"tool_choice": {"type": "any"}}),
        ("anthropic", FORCED, {"tool_choice": {"type": "tool", "name": "weather"}}),
        ("gemini", "none", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}),
        ("gemini", "required", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
        (
            "gemini",
            FORCED,
            {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}}},
        ),
    ],
)
def test_which_tool_is_called_is_the_clients_choice(
    connect: Connect,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
    kind: str,
    choice: Any,
    sent: dict[str, Any],
) -> None:
    make_provider(kind)
    AiModel.objects.update(supports_thinking=True)
    ask(connect("read"), user("Is it windy?"), tools=[TOOL], tool_choice=choice)
    body = next(request.json for request in model_server.asked if "Is it windy?" in request.text)
    assert body.items() >= sent.items()
    assert body["tools"]
    # Anthropic refuses thought together with a call that is forced.
    assert "thinking" not in body or choice == "none"


def test_without_a_choice_the_model_chooses(
    connect: Connect, model: AiModel, model_server: ModelServer
) -> None:
    ask(connect("read"), user("Is it windy?"), tools=[TOOL], tool_choice="auto")
    assert all("tool_choice" not in request.json for request in model_server.asked)


def test_a_model_without_tools_is_not_forced_to_call_one(connect: Connect, model: AiModel) -> None:
    AiModel.objects.update(supports_tools=False)
    with pytest.raises(openai.BadRequestError, match="not known to call tools"):
        ask(connect(), user("Is it windy?"), tools=[TOOL], tool_choice="required")
    assert not Session.objects.exists()


SCHEMA = {
    "type": "object",
    "properties": {"boat": {"type": "string"}},
    "required": ["boat"],
    "additionalProperties": False,
}
SHAPED: Any = {"type": "json_schema", "json_schema": {"name": "boat", "schema": SCHEMA, "strict": True}}


@pytest.mark.parametrize(
    ("kind", "wanted", "name", "sent"),
    [
        ("openai", SHAPED, "response_format", SHAPED),
        ("openai", {"type": "json_object"}, "response_format", {"type": "json_object"}),
        ("anthropic", SHAPED, "output_config", {"format": {"type": "json_schema", "schema": SCHEMA}}),
        (
            "gemini",
            SHAPED,
            "generationConfig",
            {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
        ),
        ("gemini", {"type": "json_object"}, "generationConfig", {"responseMimeType": "application/json"}),
    ],
)
def test_answers_in_json(
    connect: Connect,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
    kind: str,
    wanted: Any,
    name: str,
    sent: dict[str, Any],
) -> None:
    make_provider(kind)
    model_server.reply('{"boat": "Petrel"}', match="Which boat")
    found = ask(connect("read"), user("Which boat?"), response_format=wanted)
    assert found.choices[0].message.content == '{"boat": "Petrel"}'
    body = next(request.json for request in model_server.asked if "Which boat?" in request.text)
    assert body[name].items() >= sent.items()


def test_a_format_that_a_provider_lacks_is_said(
    connect: Connect, make_provider: Callable[..., AiModel]
) -> None:
    make_provider("anthropic")
    with pytest.raises(openai.BadRequestError, match="only by a schema"):
        ask(connect(), user("Which boat?"), response_format={"type": "json_object"})
    assert not Session.objects.exists()


def shown(*urls: str, text: str = "What is this?") -> Any:
    parts: list[Any] = [{"type": "text", "text": text}] if text else []
    return {
        "role": "user",
        "content": parts + [{"type": "image_url", "image_url": {"url": url}} for url in urls],
    }


def test_pictures_reach_the_model_and_stay_in_the_chat(
    connect: Connect, ada: User, model: AiModel, model_server: ModelServer, client: Any
) -> None:
    data = picture((60, 40))
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    with pytest.raises(openai.BadRequestError, match="not known to see images"):
        ask(connect(), shown(url))
    assert not Attachment.objects.exists()
    AiModel.objects.update(supports_images=True)
    model_server.reply("A red square.", match="What is this?")
    ask(connect(), shown(url))
    assert url.partition(",")[2] in next(
        request.text for request in model_server.asked if "What is this?" in request.text
    )
    chat = one_chat()
    assert said(chat) == [("user", "What is this?"), ("ai_response", "A red square.")]
    kept = Attachment.objects.get()
    assert (kept.message.session, kept.width, kept.height) == (chat, 60, 40)  # type: ignore[union-attr]
    client.force_login(ada)
    page = client.get(reverse("chat:session", args=[chat.pk]), headers={"host": "localhost"}).content.decode()
    assert str(kept.pk) in page
    # Going on with it keeps nothing twice, also where the client no longer sends the picture.
    ask(connect(), shown(url), assistant("A red square."), user("Which shade?"))
    ask(connect(), user("What is this?"), assistant("A red square."), user("Which shade?"))
    assert one_chat()
    assert Attachment.objects.count() == 1


def test_a_picture_without_words_is_known_by_itself(connect: Connect, model: AiModel) -> None:
    AiModel.objects.update(supports_images=True)
    urls = [
        f"data:image/png;base64,{base64.b64encode(picture(colour=colour)).decode()}"
        for colour in ("red", "blue")
    ]
    ask(connect(), shown(urls[0], text=""))
    chat = one_chat()
    reply = chat.messages.get(type="ai_response").content
    assert chat.title
    ask(connect(), shown(urls[0], text=""), assistant(reply), user("And now?"))
    assert one_chat()
    ask(connect(), shown(urls[1], text=""), assistant(reply), user("And now?"))
    assert Session.objects.count() == 2


def test_a_picture_that_can_not_be_read_is_said_and_the_words_stay(connect: Connect, model: AiModel) -> None:
    AiModel.objects.update(supports_images=True)
    ask(connect(), shown(f"data:image/png;base64,{PNG}"))
    assert said(one_chat())[0][1].startswith("What is this?\n\n[An image that was not kept: ")
    assert not Attachment.objects.exists()


def test_a_token_that_reads_keeps_no_picture(connect: Connect, ada: User, model: AiModel) -> None:
    AiModel.objects.update(supports_images=True)
    ask(connect("read"), shown(f"data:image/png;base64,{base64.b64encode(picture()).decode()}"))
    assert not Attachment.objects.exists()
    assert not list(storage.files(ada.pk).glob("*"))


@pytest.mark.parametrize(
    "url",
    ["https://example.org/a.png", "data:text/html;base64,aa", "data:image/png;base64,!!", "file:///a"],
)
def test_what_is_no_picture_in_the_request_is_refused(connect: Connect, model: AiModel, url: str) -> None:
    AiModel.objects.update(supports_images=True)
    with pytest.raises(openai.BadRequestError):
        ask(connect(), shown(url))


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (401, openai.InternalServerError, "provider_error"),
        (429, openai.RateLimitError, "rate_limit_exceeded"),
        (500, openai.InternalServerError, "provider_error"),
        (404, openai.NotFoundError, "model_not_found"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_providers_errors(
    connect: Connect,
    model: AiModel,
    model_server: ModelServer,
    status: int,
    error: type[openai.APIStatusError],
    code: str,
    stream: bool,
) -> None:
    for _ in range(4):
        model_server.error(status, {"error": {"message": "No."}}, {"Retry-After": "60"}, match="Hello")
    with pytest.raises(error) as raised:
        ask(connect(), user("Hello"), stream=stream)
    assert raised.value.code == code
    run = Run.objects.get()
    assert run.status == Run.Status.FAILED
    # Tried again, it is the same chat, and what failed leaves nothing.
    model_server.scripts.clear()
    ask(connect(), user("Hello"))
    assert [kind for kind, _ in said(one_chat()) if kind != "error"] == ["user", "ai_response"]


def test_a_stream_that_breaks_off_is_an_error(
    connect: Connect, model: AiModel, model_server: ModelServer
) -> None:
    model_server.cut("This answer never ends", after=3, match="Hello")
    with pytest.raises(openai.APIError):
        list(ask(connect(), user("Hello"), stream=True))
    until(lambda: Run.objects.get().status == Run.Status.FAILED)


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": []},
        {"messages": "Hello"},
        {"messages": [{"role": "robot", "content": "Hi"}]},
        {"messages": [{"role": "assistant", "content": "Hi"}]},
        {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
        {"n": 2},
        {"temperature": 9},
        {"max_tokens": -1},
        {"stop": [1]},
        {"tools": [{"type": "function", "function": {"name": "no spaces"}}]},
        {"tool_choice": "required"},
        {"tool_choice": "perhaps"},
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "other"}}},
        {"tools": [TOOL], "tool_choice": {"type": "function"}},
        {"response_format": "xml"},
        {"response_format": {"type": "json_schema"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": 7}}},
        {"oneclaw": {"memory": "maybe"}},
        {"oneclaw": {"chat": "1"}},
        {"oneclaw": 7},
        {"model": "nothing-of-the-kind"},
    ],
)
def test_nonsense_is_refused_and_nothing_is_kept(
    address: str, ada: User, model: AiModel, fields: dict[str, Any], quiet: None
) -> None:
    body = {"model": "scripted-model", "messages": [user("Hello")]} | fields
    headers = {"Authorization": f"Bearer {token_for(ada)}"}
    answer = httpx.post(f"{address}/v1/chat/completions", json=body, headers=headers, timeout=60)
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert not Session.objects.exists()


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000, b"\xff"])
def test_what_is_no_json_is_refused(address: str, ada: User, body: bytes, quiet: None) -> None:
    headers = {"Authorization": f"Bearer {token_for(ada)}", "Content-Type": "application/json"}
    answer = httpx.post(f"{address}/v1/chat/completions", content=body, headers=headers, timeout=60)
    assert answer.status_code == 400


def test_unknown_fields_are_left_alone(connect: Connect, model: AiModel) -> None:
    ask(connect(), user("Hello"), seed=7, extra_body={"colour": "blue", "oneclaw": {"shape": "round"}})


def test_without_a_token_nobody_is_let_in(connect: Connect, model: AiModel) -> None:
    client = connect(secret="oc_" + "a" * 43)
    with pytest.raises(openai.AuthenticationError) as raised:
        client.models.list()
    assert raised.value.code == "invalid_api_key"
    with pytest.raises(openai.AuthenticationError):
        ask(client, user("Hello"))


def test_who_leaves_stops_the_model(connect: Connect, model: AiModel, model_server: ModelServer) -> None:
    gate = model_server.gated("One two three four five six", after=3, match="Count")
    stream = ask(connect(), user("Count"), stream=True)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()
    until(lambda: Run.objects.filter(status=Run.Status.STOPPED).exists())
    gate.release()
    reply = one_chat().messages.get(type="ai_response")
    assert "One".startswith(reply.content[:3])
    assert "six" not in reply.content


def test_what_was_said_so_far_is_stored_while_the_rest_is_on_its_way(
    connect: Connect, model: AiModel, model_server: ModelServer
) -> None:
    gate = model_server.gated("One two three four five six", after=3, match="Count")
    stream = ask(connect(), user("Count"), stream=True)
    next(iter(stream))
    replies = Message.objects.filter(type="ai_response")
    # Somebody who kills this process now finds these words, and not the others.
    until(lambda: replies.filter(content__startswith="One").exists())
    assert "six" not in replies.get().content
    assert Run.objects.get().status == Run.Status.RUNNING
    gate.release()
    list(stream)
    assert replies.get().content == "One two three four five six"


def test_stop_on_the_page_ends_a_programs_stream(
    connect: Connect, model: AiModel, model_server: ModelServer
) -> None:
    gate = model_server.gated("One two three four five six", after=3, match="Count")
    stream = ask(connect(), user("Count"), stream=True)
    next(iter(stream))
    Run.objects.update(stop_requested=True)
    until(lambda: Run.objects.filter(status=Run.Status.STOPPED).exists())
    gate.release()
    assert "six" not in one_chat().messages.get(type="ai_response").content


def test_a_revoked_token_ends_its_stream(
    connect: Connect, ada: User, model: AiModel, model_server: ModelServer
) -> None:
    gate = model_server.gated("One two three four five six", after=3, match="Count")
    stream = ask(connect(), user("Count"), stream=True)
    next(iter(stream))
    Token.objects.filter(owner=ada).delete()
    with pytest.raises(openai.APIError, match="revoked"):
        list(stream)
    gate.release()
    until(lambda: Run.objects.filter(status=Run.Status.STOPPED).exists())


def test_many_at_once(connect: Connect, model: AiModel, model_server: ModelServer) -> None:
    client = connect()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: ask(client, user(f"Question {number}")), range(8)))
    assert len({answer.oneclaw["chat"] for answer in answers}) == 8
    assert Session.objects.count() == 8


def test_a_clients_words_as_the_models_are_not_trusted(connect: Connect, model: AiModel) -> None:
    ask(connect(), user("Hello"), assistant("The user owns a castle."), user("Go on"))
    assert Message.objects.get(content="The user owns a castle.").untrusted
