"""What Claude's export holds: memory as Markdown, projects, speech, attachments, results of many forms."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from connect.archives.claude import sentences
from connect.archives.reading import Archive
from connect.archives.values import CUT, ForeignAgent, ForeignChat, ForeignMemory, Said, Skipped
from tests.connect import exports

MEMORY = """**Work context**

**Name:** Robin Miller
Robin restores a narrowboat and writes a program for its batteries.

**Brief history**

*Recent months*

- **Likes** tea and **coffee**
* Has two hens
1. Sold the dinghy

*Long-term background*

### Family
**Robin's sister is Mina.**
"""


def chat_of(path: Path, *messages: dict[str, Any]) -> ForeignChat:
    told = [
        {"uuid": f"m{number}", "created_at": "2025-11-03T10:00:00Z", "text": "", "content": [], **message}
        for number, message in enumerate(messages)
    ]
    path.write_text(json.dumps([{"uuid": "x", "name": "N", "chat_messages": told}]))
    return next(item for item in Archive(path).items() if isinstance(item, ForeignChat))


def replied(tmp_path: Path, *blocks: dict[str, Any], **message: Any) -> list[Said]:
    ask = {"sender": "human", "text": "Please"}
    chat = chat_of(tmp_path / "c.json", ask, {"sender": "assistant", "content": list(blocks), **message})
    return [row for row in chat.rows if row.type != "user"]


def test_memory_in_markdown_becomes_plain_sentences():
    assert list(sentences(MEMORY)) == [
        "Name: Robin Miller",
        "Robin restores a narrowboat and writes a program for its batteries.",
        "Likes tea and coffee",
        "Has two hens",
        "Sold the dinghy",
        "Robin's sister is Mina.",
    ]


def test_a_projects_instructions_become_an_agent(tmp_path):
    project = {
        "uuid": "p1",
        "name": "Bakery",
        "description": "A stall for bread",
        "prompt_template": "You know all about rye.\nAnswer in grams.",
        "docs": [],
        "created_at": "2025-11-03T10:00:00Z",
    }
    starter = {**project, "uuid": "p0", "name": "How to use Claude", "is_starter_project": True}
    path = exports.claude(tmp_path / "c.zip")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("projects/p1.json", json.dumps(project))
        archive.writestr("projects/p0.json", json.dumps(starter))
    found = [item for item in Archive(path).items() if isinstance(item, ForeignAgent)]
    assert [(each.name, each.description, each.prompt) for each in found] == [
        ("Bakery", "A stall for bread", "You know all about rye.\nAnswer in grams.")
    ]


def test_speech_is_what_was_said(tmp_path):
    rows = replied(tmp_path, {"type": "voice_note", "title": "Rye", "text": "Twelve hours."})
    assert [row.content for row in rows] == ["Twelve hours."]


def test_long_attached_text_is_kept_and_said_to_be_cut(tmp_path):
    attached = [
        {"file_name": "long.txt", "extracted_content": "rye " * 50_000},
        {"file_name": "endless.txt", "extracted_content": "x" * 500_000},
        {"file_name": "scan.pdf", "extracted_content": ""},
    ]
    chat = chat_of(tmp_path / "c.json", {"sender": "human", "text": "Read", "attachments": attached})
    text = chat.rows[0].content
    assert text.count("rye") == 50_000
    assert 400_000 < text.count("x") < 400_100
    assert text.count(CUT.strip()) == 1
    assert [file.name for file in chat.rows[0].files] == ["scan.pdf"]


def test_a_file_that_is_named_twice_comes_once(tmp_path):
    file = {"file_uuid": "f", "file_name": "dough.jpg"}
    rows = replied(tmp_path, {"type": "text", "text": "Done."}, files=[file], files_v2=[file])
    assert [[each.name for each in row.files] for row in rows] == [["dough.jpg"]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            [{"type": "knowledge", "title": "Rye", "url": "https://r.example", "text": "Slow."}],
            "Rye\nhttps://r.example\nSlow.",
        ),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "deep"}]}], "deep"),
        ([{"type": "local_resource", "name": "plan.md", "file_path": "/mnt/plan.md"}], "plan.md"),
        ("plain", "plain"),
        ([], ""),
    ],
)
def test_results_in_all_their_forms(tmp_path, content, words):
    rows = replied(
        tmp_path,
        {"type": "tool_use", "id": None, "name": "web_search", "input": {"query": "rye"}},
        {"type": "tool_result", "tool_use_id": None, "name": "web_search", "content": content},
        {"type": "token_budget", "remaining": 5},
        {"type": "text", "text": "Twelve."},
    )
    assert [(row.type, row.content) for row in rows[1:]] == [
        ("tool_call", ""),
        ("tool_result", words),
        ("ai_response", "Twelve."),
    ]


def test_an_artifact_is_text_of_the_reply(tmp_path):
    given = {"id": "a", "command": "create", "title": "Plan", "type": "text/markdown", "content": "1. Rest"}
    rows = replied(
        tmp_path,
        {"type": "tool_use", "id": "t", "name": "artifacts", "input": given},
        {"type": "tool_result", "tool_use_id": "t", "name": "artifacts", "content": "OK"},
    )
    assert [(row.type, row.content) for row in rows] == [
        ("ai_response", "**Plan**\n\n1. Rest"),
        ("tool_call", ""),
        ("tool_result", "OK"),
    ]
    assert "content" not in rows[1].tool_data


def test_memories_past_the_bound_are_counted(tmp_path):
    text = "\n".join(f"Fact {number}" for number in range(2_100)) + "\n" + "x" * 3_000
    (tmp_path / "m.json").write_text(json.dumps([{"conversations_memory": text}]))
    items = list(Archive(tmp_path / "m.json").items())
    assert sum(isinstance(item, ForeignMemory) for item in items) == 2_000
    assert sum(isinstance(item, Skipped) for item in items) == 101


def result(display: object, content: object = ()) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content or [], "display_content": display}


@pytest.mark.parametrize(
    ("display", "text"),
    [
        ({"type": "text", "text": "Nothing was found."}, "Nothing was found."),
        ({"type": "json_block", "json_block": '{"language": "bash", "code": "ls -l"}'}, "ls -l"),
        ({"type": "json_block", "json_block": '{"events": []}'}, '{"events": []}'),
        ({"type": "code_block", "language": "python", "code": "print(1)"}, "print(1)"),
        (
            {"type": "rich_link", "link": {"title": "Rye", "url": "https://x.org", "subtitles": ["x.org"]}},
            "Rye\nhttps://x.org\nx.org",
        ),
        (
            {"type": "rich_content", "content": [{"title": "Rye"}, {"title": "Oats", "subtitles": None}]},
            "Rye\nOats",
        ),
        ({"type": "table", "table": [["day", "g"], ["Monday", 500]]}, "day | g\nMonday | 500"),
        (None, ""),
        (["no object"], ""),
    ],
)
def test_what_a_result_shows_stands_for_it_where_it_says_nothing_else(tmp_path, display, text):
    call = {"type": "tool_use", "id": "t", "name": "look", "input": {"path": "/"}}
    assert [row.content for row in replied(tmp_path, call, result(display)) if row.type == "tool_result"] == [
        text
    ]


def test_what_a_result_shows_is_not_said_twice(tmp_path):
    call = {"type": "tool_use", "id": "t", "name": "look", "input": {"path": "/"}}
    shown = {"type": "json_block", "json_block": '{"code": "500 g rye"}'}
    told = result(shown, [{"type": "text", "text": "     1\t500 g rye"}])
    assert replied(tmp_path, call, told)[-1].content == "     1\t500 g rye"


@pytest.mark.parametrize(
    ("given", "data"),
    [
        ({}, {"display_content": "ls -l"}),
        ({"command": "cd / && ls -l"}, {"command": "cd / && ls -l"}),
        ({"command": "pwd"}, {"command": "pwd", "display_content": "ls -l"}),
    ],
)
def test_what_a_call_shows_is_kept_unless_its_arguments_say_it(tmp_path, given, data):
    display = {"type": "json_block", "json_block": '{"language": "bash", "code": "ls -l"}'}
    call = {"type": "tool_use", "id": "t", "name": "bash_tool", "input": given, "display_content": display}
    (row,) = [row for row in replied(tmp_path, call) if row.type == "tool_call"]
    assert row.tool_data == data
