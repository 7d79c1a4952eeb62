"""Exports of other programs, made in their real shapes: what each test needs of one, and a year of chats."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SPRING = datetime(2026, 4, 11, 9, 30, tzinfo=UTC)


def seconds(when: datetime) -> float:
    return when.timestamp()


# ChatGPT


def node(
    key: str,
    parent: str | None,
    role: str,
    text: str | None = "",
    when: datetime | float | None = SPRING,
    *,
    content: Mapping[str, Any] | None = None,
    **message: Any,
) -> dict[str, Any]:
    """A node of `mapping`; without a text it is the empty root."""
    at = seconds(when) if isinstance(when, datetime) else when
    body = {
        "id": key,
        "author": {"role": role, "name": message.pop("name", None), "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": dict(content) if content else {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "end_turn": None,
        "weight": 1.0,
        "metadata": message.pop("metadata", {}),
        "recipient": "all",
        "channel": None,
        **message,
    }
    return {
        "id": key,
        "message": None if text is None and content is None else body,
        "parent": parent,
        "children": [],
    }


def conversation(
    nodes: Sequence[dict[str, Any]], current: str, key: str = "c1", title: str = "Trip to Ghent", **more: Any
) -> dict[str, Any]:
    mapping = {each["id"]: each for each in nodes}
    for each in nodes:
        if each["parent"] in mapping:
            mapping[each["parent"]]["children"].append(each["id"])
    return {
        "title": title,
        "create_time": seconds(SPRING),
        "update_time": seconds(SPRING + timedelta(hours=1)),
        "mapping": mapping,
        "moderation_results": [],
        "current_node": current,
        "plugin_ids": None,
        "conversation_id": key,
        "conversation_template_id": None,
        "gizmo_id": None,
        "is_archived": False,
        "default_model_slug": "gpt-5-2",
        "id": key,
        **more,
    }


def branching(key: str = "c1") -> dict[str, Any]:
    """A question asked twice, an answer made again, hidden system messages, thoughts, a tool."""
    return conversation(
        [
            node("root", None, "system", None),
            node("sys", "root", "system", "", None, metadata={"is_visually_hidden_from_conversation": True}),
            node(
                "ctx",
                "sys",
                "assistant",
                content={
                    "content_type": "model_editable_context",
                    "model_set_context": "1. [2025-03-01]. Keeps two hens called Ada and Bo.\n"
                    "2. [2026-02-10]. Is allergic to hazelnuts.",
                },
            ),
            node("u1", "ctx", "user", "Where should we eat in Ghent?"),
            node("a1", "u1", "assistant", "Try the Graslei.", metadata={"model_slug": "gpt-4o"}),
            node(
                "u1b",
                "ctx",
                "user",
                "Where should we eat in Ghent with children?",
                SPRING + timedelta(minutes=2),
            ),
            node(
                "th",
                "u1b",
                "assistant",
                content={
                    "content_type": "thoughts",
                    "thoughts": [{"summary": "Thinking of places", "content": "Children like waffles."}],
                },
            ),
            node(
                "recap",
                "th",
                "assistant",
                content={"content_type": "reasoning_recap", "content": "Thought for 8s"},
            ),
            node(
                "call",
                "recap",
                "assistant",
                content={"content_type": "code", "language": "unknown", "text": "search('waffles ghent')"},
                recipient="web",
            ),
            node(
                "out",
                "call",
                "tool",
                content={"content_type": "execution_output", "text": "Mokabon, Max"},
                name="web",
            ),
            node(
                "a2",
                "out",
                "assistant",
                "Max makes waffles\ue200cite\ue202turn0search1\ue201 on Goudenleeuwplein.",
                SPRING + timedelta(minutes=3),
                metadata={"model_slug": "gpt-5-2"},
            ),
            node("u2", "a2", "user", "Is it open on Mondays?", SPRING + timedelta(minutes=4)),
            node("a3", "u2", "assistant", "No, closed.", SPRING + timedelta(minutes=5)),
            node("a3b", "u2", "assistant", "Yes, from nine.", SPRING + timedelta(minutes=6)),
        ],
        "a3b",
        key,
    )


def plain(key: str, title: str, *turns: str, when: datetime = SPRING) -> dict[str, Any]:
    """Questions and answers in turn."""
    nodes, before = [node("root", None, "system", None)], "root"
    for number, text in enumerate(turns):
        name = f"{key}-{number}"
        role = "assistant" if number % 2 else "user"
        nodes.append(node(name, before, role, text, when + timedelta(minutes=number)))
        before = name
    return conversation(nodes, before, key, title, create_time=seconds(when))


def chatgpt(path: Path, conversations: Sequence[Mapping[str, Any]], *, parts: int = 0) -> Path:
    """The ZIP: one conversations.json, or numbered files as newer exports have."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if parts:
            size = -(-len(conversations) // parts)
            for number in range(parts):
                some = conversations[number * size : (number + 1) * size]
                archive.writestr(f"conversations-{number:03}.json", json.dumps(some))
        else:
            archive.writestr("conversations.json", json.dumps(conversations))
        archive.writestr("user.json", json.dumps({"id": "user-1", "email": "ada@example.org"}))
        archive.writestr(
            "message_feedback.json", json.dumps([{"id": "f", "rating": "thumbs_up", "content": "{}"}])
        )
        archive.writestr("chat.html", "<html><script>var jsonData = []</script></html>")
    return path


# Claude


def claude(path: Path) -> Path:
    def message(
        number: int, sender: str, text: str, content: list[Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        return {
            "uuid": f"m{number}",
            "text": text,
            "content": content or [{"type": "text", "text": text, "citations": []}],
            "sender": sender,
            "created_at": f"2025-11-03T10:0{number}:00.123456Z",
            "updated_at": f"2025-11-03T10:0{number}:00.123456Z",
            "attachments": [],
            "files": [],
            **more,
        }

    conversations = [
        {
            "uuid": "claude-1",
            "name": "Sourdough",
            "summary": "",
            "created_at": "2025-11-03T10:00:00.123456Z",
            "updated_at": "2025-11-03T10:09:00.123456Z",
            "account": {"uuid": "acc"},
            "chat_messages": [
                message(
                    1,
                    "human",
                    "How long should my rye dough rest?",
                    attachments=[
                        {
                            "file_name": "recipe.txt",
                            "file_type": "txt",
                            "extracted_content": "500 g rye, 10 g salt",
                        }
                    ],
                    files=[{"file_name": "dough.jpg"}],
                ),
                message(
                    2,
                    "assistant",
                    "Twelve hours.",
                    [
                        {"type": "thinking", "thinking": "Rye is slow.", "summaries": []},
                        {
                            "type": "tool_use",
                            "id": "t1",
                            "name": "web_search",
                            "input": {"query": "rye rest"},
                        },
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "name": "web_search",
                            "content": [{"type": "text", "text": "10 to 14 hours"}],
                            "is_error": False,
                        },
                        {"type": "text", "text": "Twelve hours."},
                    ],
                ),
            ],
        },
        {"uuid": "claude-empty", "name": "", "chat_messages": []},
    ]
    memories = [
        {
            "conversations_memory": "**Work context**\n\nBakes bread on Sundays.\n\n- Lives in Utrecht",
            "project_memories": {"p1": "Wants to sell at the market."},
            "account_uuid": "acc",
        }
    ]
    projects = [
        {"uuid": "p1", "name": "Bakery", "description": "A stall for bread", "docs": [{"filename": "a.md"}]}
    ]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(conversations))
        archive.writestr("memories.json", json.dumps(memories))
        archive.writestr("projects.json", json.dumps(projects))
        archive.writestr("users.json", json.dumps([{"uuid": "acc", "full_name": "Ada"}]))
    return path


# Open WebUI


def open_webui() -> list[dict[str, Any]]:
    reply = (
        '<details type="reasoning" done="true" duration="4">\n<summary>Thought for 4 seconds</summary>\n'
        "&gt; Oslo is cold.\n&gt; Ask the tool.\n</details>\n"
        '<details type="tool_calls" done="true" id="call_1" name="get_weather" '
        'arguments="&quot;{\\&quot;city\\&quot;: \\&quot;Oslo\\&quot;}&quot;" '
        'result="&quot;minus four&quot;" files="">\n<summary>Tool Executed</summary>\n</details>\n'
        "It is minus four in Oslo."
    )
    messages = {
        "u": {
            "id": "u",
            "parentId": None,
            "childrenIds": ["a", "b"],
            "role": "user",
            "content": "How cold is it in Oslo?",
            "timestamp": 1767000000,
        },
        "a": {
            "id": "a",
            "parentId": "u",
            "childrenIds": [],
            "role": "assistant",
            "content": "Quite cold.",
            "model": "llama3.2",
            "timestamp": 1767000010,
        },
        "b": {
            "id": "b",
            "parentId": "u",
            "childrenIds": [],
            "role": "assistant",
            "content": reply,
            "model": "qwen3",
            "timestamp": 1767000020,
        },
    }
    return [
        {
            "id": "owui-1",
            "user_id": "x",
            "title": "Weather",
            "chat": {
                "title": "Weather",
                "models": ["qwen3"],
                "history": {"messages": messages, "currentId": "b"},
                "messages": [],
                "timestamp": 1767000000000,
            },
            "updated_at": 1767000020,
            "created_at": 1767000000,
            "share_id": None,
            "archived": False,
            "pinned": True,
            "meta": {},
        }
    ]


def open_webui_memories() -> list[dict[str, Any]]:
    return [
        {
            "id": "1",
            "user_id": "x",
            "content": "Rides a blue bicycle",
            "updated_at": 1767000000,
            "created_at": 1766000000,
        }
    ]


# LibreChat


def librechat(*, recursive: bool = False) -> dict[str, Any]:
    nobody = "00000000-0000-0000-0000-000000000000"
    ask = {
        "messageId": "l1",
        "parentMessageId": nobody,
        "conversationId": "libre-1",
        "sender": "User",
        "isCreatedByUser": True,
        "text": "Which river runs through Bonn?",
        "createdAt": "2025-06-01T08:00:00.000Z",
    }
    first = {
        "messageId": "l2",
        "parentMessageId": "l1",
        "sender": "GPT",
        "isCreatedByUser": False,
        "text": "The Main.",
        "model": "gpt-4o",
        "createdAt": "2025-06-01T08:00:05.000Z",
    }
    second = {
        "messageId": "l3",
        "parentMessageId": "l1",
        "sender": "GPT",
        "isCreatedByUser": False,
        "text": "",
        "content": [
            {"type": "think", "think": "Bonn lies on the Rhine."},
            {
                "type": "tool_call",
                "tool_call": {"id": "k", "name": "maps", "args": '{"city": "Bonn"}', "output": "Rhine"},
            },
            {"type": "text", "text": "The Rhine."},
        ],
        "createdAt": "2025-06-01T08:00:09.000Z",
    }
    messages = [{**ask, "children": [first, second]}] if recursive else [ask, first, second]
    return {
        "conversationId": "libre-1",
        "endpoint": "openAI",
        "title": "Rivers",
        "exportAt": "10:00:00 GMT+0200",
        "branches": True,
        "recursive": recursive,
        "options": {"model": "gpt-4o"},
        "messages": messages,
    }


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return whole.getvalue()
