"""What each program's export comes to."""

import json
from pathlib import Path

import pytest

from connect.archives.reading import Archive
from connect.archives.values import (
    ForeignChat,
    ForeignMemory,
    ForeignNote,
    Item,
    Kind,
    MemoryFile,
    Said,
    Skipped,
)
from tests.connect import exports


def read(path: Path) -> list[Item]:
    return list(Archive(path).items())


def only_chat(items: list[Item]) -> ForeignChat:
    (chat,) = [item for item in items if isinstance(item, ForeignChat)]
    return chat


def shown(chat: ForeignChat) -> list[tuple[str, str]]:
    return [(row.type, row.content) for row in chat.rows if not row.shelf]


def by_key(chat: ForeignChat) -> dict[str, Said]:
    return {row.key: row for row in chat.rows}


def saved(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_a_chatgpt_export_shows_its_current_branch(tmp_path):
    archive = Archive(exports.chatgpt(tmp_path / "a.zip", [exports.branching()]))
    assert archive.kinds == [Kind.CHATGPT]
    chat = only_chat(list(archive.items()))
    assert chat.title == "Trip to Ghent"
    assert chat.created_at == exports.SPRING
    assert shown(chat) == [
        ("user", "Where should we eat in Ghent with children?"),
        ("ai_response", ""),
        ("tool_call", ""),
        ("tool_result", "Mokabon, Max"),
        ("ai_response", "Max makes waffles on Goudenleeuwplein."),
        ("user", "Is it open on Mondays?"),
        ("ai_response", "Yes, from nine."),
    ]


def test_thoughts_and_tools_of_chatgpt_are_kept(tmp_path):
    rows = by_key(only_chat(read(exports.chatgpt(tmp_path / "a.zip", [exports.branching()]))))
    thinking = next(row.thinking for row in rows.values() if row.thinking)
    assert "Children like waffles." in thinking
    assert "Thought for 8s" in thinking
    assert rows["call"].tool_name == "web"
    assert rows["call"].tool_data == {"input": "search('waffles ghent')"}
    assert rows["out"].tool_call_id == rows["call"].tool_call_id
    assert rows["a2"].model == "gpt-5-2"


def test_branches_become_versions(tmp_path):
    rows = by_key(only_chat(read(exports.chatgpt(tmp_path / "a.zip", [exports.branching()]))))
    assert (rows["u1"].shelf, rows["a1"].shelf) == ("u1", "u1")
    assert rows["u1b"].version_of == "u1"
    assert (rows["a3"].shelf, rows["a3b"].shelf) == ("a3", "")
    assert rows["a3b"].version_of == "a3"
    # A reply with its tools is one, and answers its question.
    assert rows["a2"].reply == rows["call"].reply
    assert rows["a2"].prompt == "u1b"


def test_rows_come_after_what_they_follow(tmp_path):
    chat = only_chat(read(exports.chatgpt(tmp_path / "a.zip", [exports.branching()])))
    places = {row.key: at for at, row in enumerate(chat.rows)}
    assert places["u1b"] < places["a2"] < places["u2"] < places["a3"]


def test_chatgpts_saved_memories_come_with_their_dates(tmp_path):
    found = [
        item
        for item in read(exports.chatgpt(tmp_path / "a.zip", [exports.branching()]))
        if isinstance(item, ForeignMemory)
    ]
    assert [(each.text, str(each.day)) for each in found] == [
        ("Keeps two hens called Ada and Bo.", "2025-03-01"),
        ("Is allergic to hazelnuts.", "2026-02-10"),
    ]


def test_numbered_files_are_read_in_order(tmp_path):
    chats = [exports.plain(f"c{number}", f"Chat {number}", "Hello", "Hi") for number in range(12)]
    items = read(exports.chatgpt(tmp_path / "a.zip", chats, parts=11))
    titles = [item.title for item in items if isinstance(item, ForeignChat)]
    assert titles == [f"Chat {number}" for number in range(12)]


def test_the_kind_is_known_by_content_not_by_name(tmp_path):
    path = exports.chatgpt(tmp_path / "claude-memories.md", [exports.branching()])
    assert Archive(path).kinds == [Kind.CHATGPT]
    assert Archive(saved(tmp_path / "x.bin", exports.librechat())).kinds == [Kind.LIBRECHAT]


def test_a_claude_export(tmp_path):
    items = read(exports.claude(tmp_path / "c.zip"))
    chat = only_chat(items)
    user, first, call, result, last = chat.rows
    assert user.content.startswith("How long should my rye dough rest?")
    assert "500 g rye, 10 g salt" in user.content
    assert [file.name for file in user.files] == ["dough.jpg"]
    assert first.thinking == "Rye is slow."
    assert (call.tool_name, call.tool_data) == ("web_search", {"query": "rye rest"})
    assert (result.content, result.tool_call_id) == ("10 to 14 hours", "t1")
    assert last.content == "Twelve hours."
    assert chat.created_at
    assert chat.created_at.isoformat() == "2025-11-03T10:00:00.123456+00:00"
    memories = [item.text for item in items if isinstance(item, ForeignMemory)]
    assert memories == [
        "Bakery: A stall for bread",
        "Bakes bread on Sundays.",
        "Lives in Utrecht",
        "Bakery: Wants to sell at the market.",
    ]
    reasons = {item.why for item in items if isinstance(item, Skipped)}
    assert reasons == {
        "It has no messages or no id.",
        "Its 1 documents are not chats or memories.",
    }


def test_claudes_edits_become_versions(tmp_path):
    nobody = "00000000-0000-4000-8000-000000000000"
    messages = [
        {"uuid": "1", "sender": "human", "text": "One", "parent_message_uuid": nobody},
        {"uuid": "2", "sender": "assistant", "text": "First", "parent_message_uuid": "1"},
        {"uuid": "3", "sender": "assistant", "text": "Second", "parent_message_uuid": "1"},
    ]
    chat = only_chat(
        read(saved(tmp_path / "c.json", [{"uuid": "x", "name": "N", "chat_messages": messages}]))
    )
    assert shown(chat) == [("user", "One"), ("ai_response", "Second")]
    assert by_key(chat)["3"].version_of == "2"


def test_an_open_webui_export_keeps_reasoning_and_tool_output(tmp_path):
    archive = Archive(saved(tmp_path / "o.json", exports.open_webui()))
    assert archive.label == "Open WebUI"
    chat = only_chat(list(archive.items()))
    assert chat.pinned
    assert shown(chat) == [
        ("user", "How cold is it in Oslo?"),
        ("ai_response", ""),
        ("tool_call", ""),
        ("tool_result", "minus four"),
        ("ai_response", "It is minus four in Oslo."),
    ]
    thinking, call = chat.rows[2], chat.rows[3]
    assert thinking.thinking == "Oslo is cold.\nAsk the tool."
    assert (call.tool_name, call.tool_data) == ("get_weather", {"city": "Oslo"})
    assert chat.rows[1].shelf == "a"


def test_open_webuis_memories(tmp_path):
    (memory,) = read(saved(tmp_path / "m.json", exports.open_webui_memories()))
    assert isinstance(memory, ForeignMemory)
    assert (memory.text, str(memory.day)) == ("Rides a blue bicycle", "2025-12-29")


@pytest.mark.parametrize("recursive", [False, True])
def test_a_librechat_export(tmp_path, recursive):
    chat = only_chat(read(saved(tmp_path / "l.json", exports.librechat(recursive=recursive))))
    assert shown(chat) == [
        ("user", "Which river runs through Bonn?"),
        ("ai_response", ""),
        ("tool_call", ""),
        ("tool_result", "Rhine"),
        ("ai_response", "The Rhine."),
    ]
    assert by_key(chat)["l2"].shelf == "l2"
    assert str(chat.created_at) == "2025-06-01 08:00:00+00:00"


def test_a_folder_of_openclaw(tmp_path):
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory\n\n- Ada likes tea\n")
    (folder / "SOUL.md").write_text("You are kind.")
    (folder / "memory" / "2026-01-05.md").write_text("# 2026-01-05\n\n- Went skating\n")
    (folder / "memory" / "ideas.md").write_text("- An idea")
    items = read(folder)
    assert [type(item).__name__ for item in items].count("MemoryFile") == 1
    (note,) = [item for item in items if isinstance(item, ForeignNote)]
    assert str(note.day) == "2026-01-05"
    assert {item.what: item.why[:20] for item in items if isinstance(item, Skipped)} == {
        "SOUL.md": "It holds instruction",
        "memory/ideas.md": "It is neither MEMORY",
    }


def test_obsidians_daily_notes_with_a_date_at_their_head(tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "20260105 Monday.md").write_text("Walked the dog.\n")
    (folder / "Thoughts.md").write_text("---\ndate: 2026-02-07\ntags: [a]\n---\n\nSnow today.\n")
    found = {str(item.day): item.text for item in read(folder) if isinstance(item, ForeignNote)}
    assert found == {"2026-01-05": "Walked the dog.\n", "2026-02-07": "Snow today.\n"}


def test_a_single_memory_file(tmp_path):
    path = tmp_path / "MEMORY.md"
    path.write_text("- Plays the oboe\n")
    (item,) = read(path)
    assert isinstance(item, MemoryFile)
