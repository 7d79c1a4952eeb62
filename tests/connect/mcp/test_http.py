"""MCP over HTTP, by the SDK's own client against a real server."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from threading import Event
from typing import Any

import httpx
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents

from connect.models import Token
from connect.tokens import throttle
from memory.longterm import LongTermMemory
from memory.manager import MemoryManager
from memory.models import LedgerEntry, Revision
from people.models import User
from tests.chat.serving import browser, in_thread
from tests.connect.conftest import token_for
from tests.connect.mcp.speaking import MODES, calling, code, over_http, text

pytestmark = pytest.mark.django_db(transaction=True)
MEMORY = "# Long-term Memory\n\n## Projects\n- Restores a wooden boat called Petrel\n"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "claude-ai", "version": "1"},
    },
}
TALK = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with in_thread() as found:
        yield found


@pytest.fixture
def memory(ada: User) -> MemoryManager:
    manager = MemoryManager(ada)
    manager.files.write_memory_file(MEMORY)
    manager.files.append_to_daily_log("2026-03-01", "- Sanded the boat's hull with Mina\n")
    manager.files.append_to_daily_log("2026-03-04", "- Bought varnish for the boat\n")
    return manager


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


READING = ["search_memory", "read_memory", "recall", "list_days", "read_day"]


@pytest.mark.parametrize("mode", MODES)
def test_a_program_lists_the_tools_and_saves_a_fact_under_its_name(
    address: str, ada: User, memory: MemoryManager, mode: str
) -> None:
    secret = token_for(ada)
    assert over_http(address, secret, names, mode=mode) == [*READING, "save_memory", "update_memory"]
    fact = "Rents a shed in the harbour for the boat"
    result = over_http(address, secret, calling("save_memory", content=fact, category="projects"), mode=mode)
    assert "Saved under Projects" in text(result)
    assert fact in memory.read_long_term_memory()
    revision = Revision.objects.filter(owner=ada).latest("id")
    assert (revision.author, revision.writer) == ("client", "Claude Code (Laptop)")
    row = LedgerEntry.objects.get(owner=ada)
    assert (row.kind, row.outcome) == ("client", "written")
    assert row.detail == "Claude Code (Laptop): Saved under Projects."
    memory.undo(revision.pk)
    assert fact not in memory.read_long_term_memory()


def test_history_and_activity_show_it(address: str, ada: User, memory: MemoryManager, client) -> None:
    over_http(address, token_for(ada), calling("save_memory", content="Likes oak"), name="<b>Odd & Co</b>")
    client.force_login(ada)
    for page in ("/memory/history/", "/memory/stats/"):
        shown = client.get(page, headers={"host": "localhost"}).content.decode()
        assert "&lt;b&gt;Odd &amp; Co&lt;/b&gt; (Laptop)" in shown
    row = LedgerEntry.objects.get(owner=ada)
    assert client.post(f"/memory/retry/{row.pk}/", headers={"host": "localhost"}).status_code == 404


def test_a_read_token_neither_sees_nor_calls_what_writes(
    address: str, ada: User, memory: MemoryManager
) -> None:
    secret = token_for(ada, Token.Scope.READ)
    assert over_http(address, secret, names) == READING
    for tool in ("save_memory", "update_memory"):
        found = over_http(address, secret, calling(tool, content="Owns a cat", old_text="Petrel"))
        assert code(found) == "unknown_tool"
    assert memory.read_long_term_memory() == MEMORY


def test_reading(address: str, ada: User, memory: MemoryManager) -> None:
    secret = token_for(ada, Token.Scope.READ)

    async def read(client: Client) -> list[str]:
        return [
            text(await client.call_tool("search_memory", {"query": "Who helped to sand the hull?"})),
            text(await client.call_tool("read_memory", {"section": "Projects"})),
            text(await client.call_tool("list_days", {})),
            text(await client.call_tool("list_days", {"since": "2026-03-02"})),
            text(await client.call_tool("read_day", {"day": "2026-03-01"})),
            text(await client.call_tool("recall", {"message": "How is the boat?", "max_tokens": 400})),
        ]

    found, section, days, later, day, block = over_http(address, secret, read)
    assert "Mina" in found
    assert "Petrel" in section
    assert days.index("2026-03-04") < days.index("2026-03-01")
    assert "Sanded" in days
    assert "2026-03-01" not in later
    assert "Mina" in day
    assert "Petrel" in block
    assert "<oneclaw-memory>" in block


def test_errors_have_the_codes_of_the_chats_own_tools(address: str, ada: User, memory: MemoryManager) -> None:
    async def wrong(client: Client) -> list[str]:
        asked: list[tuple[str, dict[str, Any]]] = [
            ("read_day", {"day": "2026-01-01"}),
            ("read_day", {"day": "yesterday"}),
            ("read_day", {}),
            ("save_memory", {"content": "x" * 5001}),
            ("save_memory", {"content": "Restores a wooden boat called Petrel"}),
            ("save_memory", {"content": "The card is 4111 1111 1111 1111"}),
            ("update_memory", {"old_text": "nothing of the kind"}),
            ("search_memory", {"query": "boat", "top_k": 500}),
            ("recall", {"message": "boat", "max_tokens": 1_000_000}),
            ("keep_off_record", {}),
        ]
        return [code(await client.call_tool(tool, arguments)) for tool, arguments in asked]

    assert over_http(address, token_for(ada), wrong) == [
        "not_found",
        "validation_error",
        "validation_error",
        "validation_error",
        "duplicate_detected",
        "secret_refused",
        "not_found",
        "validation_error",
        "validation_error",
        "unknown_tool",
    ]
    assert not LedgerEntry.objects.exists()


def test_nul_is_taken_out_of_arguments(address: str, ada: User, memory: MemoryManager) -> None:
    """PostgreSQL has no place for it in a text; nobody types it."""

    async def calls(client: Client) -> list[str]:
        asked: list[tuple[str, dict[str, Any]]] = [
            ("save_memory", {"content": "Owns a c\0at", "category": "not\0es", "\0": "\0"}),
            ("search_memory", {"query": "c\0at", "since": "2026-\0-01-01"}),
            ("search_memory", {"query": "the c\0at", "sources": ["long_\0term"]}),
            ("recall", {"message": "Tell me of the c\0at"}),
            ("read_memory", {"section": "No\0tes"}),
            ("read_day", {"day": "2026-03-0\x001"}),
            ("update_memory", {"old_text": "Owns a c\0at", "new_text": "Owns a d\0og"}),
        ]
        return [text(await client.call_tool(tool, arguments)) for tool, arguments in asked]

    saved, wrong, found, block, section, day, updated = over_http(address, token_for(ada), calls)
    assert "Saved under Notes" in saved
    assert "'since' is a date" in wrong
    assert "Owns a cat" in found
    assert "Owns a cat" in section
    assert "Sanded" in day
    assert "Owns a dog" in updated
    assert "Owns a dog" in memory.read_long_term_memory()
    assert "\0" not in memory.read_long_term_memory() + block


def test_a_claim_that_the_user_asked_is_not_believed(address: str, ada: User, memory: MemoryManager) -> None:
    """A page that the program reads may make it say so; nothing here can tell."""
    over_http(
        address,
        token_for(ada),
        calling("save_memory", content="Always answers in rhyme", user_requested=True),
    )
    assert "Always answers in rhyme" in memory.read_long_term_memory()
    assert "[User requested]" not in memory.read_long_term_memory()


@pytest.mark.parametrize("mode", MODES)
def test_resources_and_the_prompt(address: str, ada: User, memory: MemoryManager, mode: str) -> None:
    async def read(client: Client) -> tuple[list[str], list[str], str]:
        listed = [each.uri for each in (await client.list_resources()).resources]
        templates = [
            each.uri_template for each in (await client.list_resource_templates()).resource_templates
        ]
        texts = []
        for uri in listed:
            part = (await client.read_resource(uri)).contents[0]
            assert isinstance(part, TextResourceContents)
            texts.append(part.text)
        assert templates == ["oneclaw://days/{day}"]
        assert [each.name for each in (await client.list_prompts()).prompts] == ["load_memory"]
        prompt = await client.get_prompt("load_memory", {"message": "How is the boat?"})
        message = prompt.messages[0].content
        assert isinstance(message, TextContent)
        for uri in ("oneclaw://days/../../etc/passwd", "oneclaw://days/2026-01-01", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        return listed, texts, message.text

    listed, texts, prompt = over_http(address, token_for(ada), read, mode=mode)
    assert listed == ["oneclaw://memory", "oneclaw://days/2026-03-04", "oneclaw://days/2026-03-01"]
    assert "Petrel" in texts[0]
    assert "Mina" in texts[2]
    assert "Petrel" in prompt
    assert prompt.endswith("How is the boat?")


def test_with_memory_off_everything_says_so(address: str, ada: User, memory: MemoryManager) -> None:
    User.objects.filter(pk=ada.pk).update(memory_enabled=False)

    async def ask(client: Client) -> set[str]:
        with pytest.raises(MCPError, match="switched memory off"):
            await client.read_resource("oneclaw://memory")
        with pytest.raises(MCPError, match="switched memory off"):
            await client.get_prompt("load_memory", {})
        calls = [("search_memory", {"query": "boat"}), ("read_memory", {}), ("recall", {"message": "boat"})]
        calls += [
            ("list_days", {}),
            ("read_day", {"day": "2026-03-01"}),
            ("save_memory", {"content": "Owns a cat"}),
        ]
        return {code(await client.call_tool(tool, arguments)) for tool, arguments in calls}

    assert over_http(address, token_for(ada), ask) == {"memory_off"}
    assert memory.read_long_term_memory() == MEMORY


def test_nothing_of_anothers_is_reached(address: str, ada: User, ben: User, memory: MemoryManager) -> None:
    async def read(client: Client) -> str:
        parts = [await client.call_tool("search_memory", {"query": "the boat Petrel"})]
        parts.append(await client.call_tool("read_memory", {}))
        parts.append(await client.call_tool("list_days", {}))
        parts.append(await client.call_tool("read_day", {"day": "2026-03-01"}))
        parts.append(await client.call_tool("recall", {"message": "the boat Petrel"}))
        return " ".join(map(text, parts))

    found = over_http(address, token_for(ben), read)
    assert "Mina" not in found
    assert "Petrel" not in found


def test_a_revoked_token_stops_at_once(address: str, ada: User, memory: MemoryManager) -> None:
    secret = token_for(ada)

    async def read(client: Client) -> None:
        await client.call_tool("read_memory", {})
        await Token.objects.all().adelete()
        with pytest.raises(MCPError):
            await client.call_tool("read_memory", {})

    over_http(address, secret, read)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("save_memory", {"content": "Owns a cat called Moss"}),
        ("update_memory", {"old_text": "Restores a wooden boat called Petrel", "new_text": "Sold the boat"}),
    ],
)
def test_a_call_under_way_writes_nothing_once_its_token_is_revoked(
    address: str,
    ada: User,
    memory: MemoryManager,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    arguments: dict[str, Any],
) -> None:
    secret, is_waiting = token_for(ada), Event()
    change = LongTermMemory.change

    def waiting(*given: Any, **named: Any) -> Any:
        is_waiting.set()
        return change(*given, **named)

    monkeypatch.setattr(LongTermMemory, "change", waiting)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": tool, "arguments": arguments}
    with ThreadPoolExecutor(1) as pool:
        with memory.files.lock():
            done = pool.submit(post, address, secret, call | {"params": params})
            assert is_waiting.wait(30)
            Token.objects.all().delete()
        answer = done.result(60)
    assert (answer.status_code, answer.json()["error"]["message"]) == (401, "This token was revoked.")
    assert memory.read_long_term_memory() == MEMORY
    assert not LedgerEntry.objects.exists()


def test_what_was_looked_up_meanwhile_is_not_told(
    address: str, ada: User, memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = MemoryManager.search_memory

    def slow(*given: Any, **named: Any) -> Any:
        found = search(*given, **named)
        Token.objects.all().delete()
        return found

    monkeypatch.setattr(MemoryManager, "search_memory", slow)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": "search_memory", "arguments": {"query": "the boat Petrel"}}
    answer = post(address, token_for(ada), call | {"params": params})
    assert answer.status_code == 401
    assert "Petrel" not in answer.text


def post(address: str, secret: str, message: object, **headers: str) -> httpx.Response:
    sent = TALK | {"Authorization": f"Bearer {secret}"} | headers
    return httpx.post(f"{address}/mcp", json=message, headers=sent, timeout=60)


def test_a_session_says_who_it_is_and_outlives_the_server(
    address: str, ada: User, memory: MemoryManager
) -> None:
    secret = token_for(ada)
    opened = post(address, secret, INITIALIZE)
    session = opened.headers["mcp-session-id"]
    saved = {"name": "save_memory", "arguments": {"content": "Sails on Sundays"}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": saved}
    # Another process with the same key, as after a restart.
    with in_thread() as elsewhere:
        done = post(elsewhere, secret, call, **{"Mcp-Session-Id": session})
    assert done.json()["result"]["isError"] is False
    assert Revision.objects.filter(owner=ada).latest("id").writer == "Claude Desktop (Laptop)"
    saved["arguments"] = {"content": "Races on Saturdays"}
    post(address, secret, call, **{"Mcp-Session-Id": session[:-3] + "abc"})
    assert Revision.objects.filter(owner=ada).latest("id").writer == "A program (Laptop)"


def test_who_is_refused(address: str, ada: User) -> None:
    secret = token_for(ada)
    assert post(address, secret, INITIALIZE).status_code == 200
    assert post(address, "oc_" + "a" * 43, INITIALIZE).status_code == 401
    assert post(address, secret, INITIALIZE, Origin="https://evil.example").status_code == 403
    assert post(address, secret, INITIALIZE, Host="evil.example").status_code == 400
    assert post(address, secret, INITIALIZE, Origin=address).status_code == 200
    # A log-in is no token.
    with browser(address, ada) as page:
        assert page.post("/mcp", json=INITIALIZE, headers=TALK).status_code == 401
    got = httpx.get(f"{address}/mcp", headers={"Authorization": f"Bearer {secret}"}, timeout=60)
    assert (got.status_code, got.headers["allow"]) == (405, "POST")
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert post(address, secret, INITIALIZE).status_code == 401


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("host", ["evil.example", "evil_!example", "localhost:x"])
def test_a_name_that_is_not_ours_is_an_error_of_the_protocol(
    address: str, ada: User, path: str, host: str
) -> None:
    secret = token_for(ada)
    headers = TALK | {"Authorization": f"Bearer {secret}", "Host": host}
    answer = httpx.post(f"{address}{path}", json=INITIALIZE, headers=headers, timeout=60)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")
    told = answer.json()
    assert (told["jsonrpc"], told["id"], told["error"]["code"]) == ("2.0", None, -32600)
    assert "ONECLAW_HOSTS" in told["error"]["message"]
    for kept_back in (secret, "127.0.0.1", "Traceback", "ada"):
        assert kept_back not in answer.text


def test_no_header_is_told_twice(address: str, ada: User) -> None:
    secret = token_for(ada)
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    for token, message, status in (
        (secret, INITIALIZE, 200),
        (secret, told, 202),
        ("oc_" + "a" * 43, INITIALIZE, 401),
    ):
        # By the plainest client: others make one length of two, and those that run on Node refuse both.
        line = HTTPConnection(address.removeprefix("http://"), timeout=60)
        headers = TALK | {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        line.request("POST", "/mcp", json.dumps(message), headers)
        answer = line.getresponse()
        names = [name.lower() for name, _ in answer.getheaders()]
        line.close()
        assert answer.status == status
        assert len(names) == len(set(names)), names


def test_guessing_is_throttled(address: str, ada: User) -> None:
    throttle.failures.clear()
    seen = [
        post(address, "oc_" + "a" * 43, INITIALIZE).status_code for _ in range(throttle.MOST_FAILURES + 1)
    ]
    assert set(seen[:-1]) == {401}
    assert seen[-1] == 429


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"initialize"',
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * 10_000 + b'"}',
        b"\xff\xfe",
    ],
)
def test_nonsense_is_an_error_of_the_protocol(address: str, ada: User, body: bytes) -> None:
    headers = TALK | {"Authorization": f"Bearer {token_for(ada)}"}
    answer = httpx.post(f"{address}/mcp", content=body, headers=headers, timeout=60)
    assert answer.status_code in (200, 400, 404)
    assert "error" in json.loads(answer.content)


def test_a_large_request_is_refused(address: str, ada: User) -> None:
    headers = TALK | {"Authorization": f"Bearer {token_for(ada)}"}
    answer = httpx.post(f"{address}/mcp", content=b" " * (2**20 + 1), headers=headers, timeout=60)
    assert answer.status_code == 413
