"""What ChatGPT's export really holds: files named by ids, tools, canvases, memories in several versions."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from connect.archives.reading import Archive
from connect.archives.values import ForeignChat, ForeignMemory, ForeignNote, Item, Said, Skipped
from tests.connect import exports
from tests.connect.exports import SPRING, node

LOG = "file-Tx8bQ2mLk0Yw7RzVn3GdPa-2024-03-03 log.txt"
DATA = "file-Jq4cE9sNh1Ub6TyWm5KfXo-conversations.json"
NEW = "file_000000007d2c61f5a1b2c3d4e5f60718.dat"


def archived(
    path: Path, chats: Sequence[Mapping[str, Any]], files: Mapping[str, str | bytes] | None = None
) -> Archive:
    exports.chatgpt(path, chats)
    with zipfile.ZipFile(path, "a") as archive:
        for name, data in (files or {}).items():
            archive.writestr(name, data)
    return Archive(path)


def rows_of(tmp_path: Path, *nodes: dict[str, Any]) -> list[Said]:
    first = node("ask", None, "user", "Please")
    items = list(
        archived(tmp_path / "a.zip", [exports.conversation([first, *nodes], nodes[-1]["id"])]).items()
    )
    (chat,) = [item for item in items if isinstance(item, ForeignChat)]
    return [row for row in chat.rows if row.type != "user"]


def memories(items: Sequence[Item]) -> list[str]:
    return [item.text for item in items if isinstance(item, ForeignMemory)]


def code(key: str, parent: str, text: str, to: str = "python", **more: Any) -> dict[str, Any]:
    content = {"content_type": "code", "language": "unknown", "text": text}
    return node(key, parent, "assistant", content=content, recipient=to, **more)


def output(key: str, parent: str, text: str, name: str = "python", **more: Any) -> dict[str, Any]:
    return node(
        key, parent, "tool", content={"content_type": "execution_output", "text": text}, name=name, **more
    )


def answers(rows: Sequence[Said]) -> dict[str, str]:
    """What each call was given as its result."""
    calls = {row.tool_call_id: row.key for row in rows if row.type == "tool_call"}
    return {calls[row.tool_call_id]: row.content for row in rows if row.type == "tool_result"}


def test_files_named_by_their_ids_are_attachments_and_no_notes(tmp_path):
    attached = [
        {"id": "file-Tx8bQ2mLk0Yw7RzVn3GdPa", "name": "2024-03-03 log.txt", "mime_type": "text/plain"},
        {"id": "file-Jq4cE9sNh1Ub6TyWm5KfXo", "name": "conversations.json", "mime_type": "application/json"},
        {"id": "file_000000007d2c61f5a1b2c3d4e5f60718", "name": "hens.png", "mime_type": "image/png"},
    ]
    chat = exports.conversation(
        [node("u", None, "user", "What went wrong here?", metadata={"attachments": attached})], "u"
    )
    other = json.dumps([exports.plain("other", "Someone else's", "Hello", "Hi")])
    archive = archived(tmp_path / "a.zip", [chat], {LOG: "disk full", DATA: other, NEW: b"\x89PNG\r\n\x1a\n"})
    assert archive.label == "ChatGPT"
    (found,) = list(archive.items())
    assert isinstance(found, ForeignChat)
    assert [(file.name, file.entry) for file in found.rows[0].files] == [
        ("2024-03-03 log.txt", LOG),
        ("conversations.json", DATA),
        ("hens.png", NEW),
    ]


def test_notes_beside_chats_are_still_notes(tmp_path):
    files = {"2024-03-03.md": "Snow", "file-2024-03-04.md": "Rain"}
    archive = archived(tmp_path / "a.zip", [exports.plain("c", "T", "Hello", "Hi")], files)
    days = sorted(str(item.day) for item in archive.items() if isinstance(item, ForeignNote))
    assert days == ["2024-03-03", "2024-03-04"]


def test_a_picture_without_a_name_is_called_as_in_the_archive(tmp_path):
    part = {
        "content_type": "image_asset_pointer",
        "asset_pointer": "sediment://file_000000007d2c61f5a1b2c3d4e5f60718",
        "width": 10,
    }
    content = {"content_type": "multimodal_text", "parts": [part, "Our hens"]}
    name = "user-Xy/file_000000007d2c61f5a1b2c3d4e5f60718-0a1b.png"
    chat = exports.conversation([node("u", None, "user", content=content)], "u")
    found = next(iter(archived(tmp_path / "a.zip", [chat], {name: b"x"}).items()))
    assert isinstance(found, ForeignChat)
    (file,) = found.rows[0].files
    assert (file.name, file.entry) == ("file_000000007d2c61f5a1b2c3d4e5f60718-0a1b.png", name)


def test_a_result_without_words_still_answers_its_call(tmp_path):
    rows = rows_of(
        tmp_path,
        code("c1", "ask", "import pandas"),
        output("r1", "c1", ""),
        code("c2", "r1", "print(1 + 1)"),
        output("r2", "c2", "2"),
        node("a", "r2", "assistant", "It is two."),
    )
    assert answers(rows) == {"c1": "", "c2": "2"}


def test_results_go_to_the_call_of_their_tool(tmp_path):
    rows = rows_of(
        tmp_path,
        code("c1", "ask", "search('hens')", "web"),
        code("c2", "c1", "print(2)", "python"),
        output("r2", "c2", "2", "python"),
        output("r1", "r2", "Hens lay eggs", "web.run"),
    )
    assert answers(rows) == {"c1": "Hens lay eggs", "c2": "2"}


def test_a_result_goes_to_the_nearest_call_where_an_earlier_one_got_none(tmp_path):
    rows = rows_of(
        tmp_path,
        code("c1", "ask", "first"),
        node("a1", "c1", "assistant", "That failed, once more."),
        code("c2", "a1", "second"),
        output("r2", "c2", "two"),
    )
    assert answers(rows) == {"c2": "two"}


def test_a_hidden_result_closes_its_call_without_its_words(tmp_path):
    hidden = {"is_visually_hidden_from_conversation": True}
    rows = rows_of(
        tmp_path,
        code("c1", "ask", "one"),
        output("r1", "c1", "not for the page", metadata=hidden),
        code("c2", "r1", "two"),
        output("r2", "c2", "2"),
    )
    assert answers(rows) == {"c1": "", "c2": "2"}


def test_a_canvas_is_text_of_the_reply(tmp_path):
    document = {"name": "Letter", "type": "document", "content": "Dear Bo,\n\nthe hens are well."}
    update = {"updates": [{"pattern": ".*", "multiple": False, "replacement": "Dear Ada,\n\nall is well."}]}
    rows = rows_of(
        tmp_path,
        code("c1", "ask", json.dumps(document), "canmore.create_textdoc"),
        output("r1", "c1", "Successfully created text document", "canmore.create_textdoc"),
        code("c2", "r1", json.dumps(update), "canmore.update_textdoc"),
        output("r2", "c2", "Successfully updated", "canmore.update_textdoc"),
        node("a", "r2", "assistant", "I wrote it to Ada instead."),
    )
    said = [row.content for row in rows if row.type == "ai_response"]
    assert said == [
        "**Letter**\n\nDear Bo,\n\nthe hens are well.",
        "Dear Ada,\n\nall is well.",
        "I wrote it to Ada instead.",
    ]
    calls = [row for row in rows if row.type == "tool_call"]
    assert calls[0].tool_data == {"name": "Letter", "type": "document"}
    assert len(answers(rows)) == 2


def test_arguments_in_json_are_read_as_such(tmp_path):
    rows = rows_of(tmp_path, code("c", "ask", '{"search_query": [{"q": "hens"}]}', "web.run"))
    assert [row.tool_data for row in rows if row.type == "tool_call"] == [{"search_query": [{"q": "hens"}]}]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"content_type": "tether_browsing_display", "result": "", "summary": "Two pages"}, "Two pages"),
        ({"content_type": "citable_code_output", "output_str": "42"}, "42"),
        (
            {
                "content_type": "sonic_webpage",
                "url": "https://a.example",
                "title": "Hens",
                "text": "They lay.",
            },
            "Hens\nhttps://a.example\nThey lay.",
        ),
        ({"content_type": "system_error", "name": "tool_error", "text": "It timed out"}, "It timed out"),
    ],
)
def test_what_tools_give_is_read_in_its_forms(tmp_path, content, words):
    rows = rows_of(
        tmp_path, code("c", "ask", "x", "web"), node("r", "c", "tool", content=content, name="web")
    )
    assert rows[-1].content == words


def test_words_within_marks_are_kept_and_marks_are_not(tmp_path):
    text = (
        'Eat at \ue200entity\ue202["restaurant","Max","a bakery"]\ue201, see '
        "\ue200url\ue202its page\ue202turn0search2\ue201\ue200cite\ue202turn0search1\ue201. "
        "\ue203Open\ue204 daily."
    )
    rows = rows_of(tmp_path, node("a", "ask", "assistant", text))
    assert rows[-1].content == "Eat at Max, see its page. Open daily."


def test_speech_is_its_words_and_its_files_are_named(tmp_path):
    said = {"content_type": "audio_transcription", "text": "Feed the hens", "direction": "in"}
    audio = {
        "content_type": "real_time_user_audio_video_asset_pointer",
        "audio_asset_pointer": {
            "content_type": "audio_asset_pointer",
            "asset_pointer": "sediment://file_00000000aaaa61f5a1b2c3d4e5f60718",
        },
    }
    content = {"content_type": "multimodal_text", "parts": [said, audio]}
    chat = exports.conversation([node("u", None, "user", content=content)], "u")
    found = next(iter(archived(tmp_path / "a.zip", [chat]).items()))
    assert isinstance(found, ForeignChat)
    assert found.rows[0].content == "Feed the hens"
    assert [file.name for file in found.rows[0].files] == ["file_00000000aaaa61f5a1b2c3d4e5f60718"]


# Memories


def instructions(key: str, about: str, wishes: str) -> dict[str, Any]:
    profile = (
        "The user provided the following information about themselves. This user profile is shown to you in "
        f"all conversations they have.\n```{about}```"
    )
    return node(
        key,
        None,
        "user",
        None,
        None,
        content={
            "content_type": "user_editable_context",
            "user_profile": profile,
            "user_instructions": f"How they would like you to respond:\n```{wishes}```",
        },
        metadata={"is_visually_hidden_from_conversation": True, "is_user_system_message": True},
    )


def told(key: str, days: int, *nodes: dict[str, Any]) -> dict[str, Any]:
    """A conversation of so many days after spring."""
    when = SPRING + timedelta(days=days)
    ask = node(f"{key}-ask", nodes[-1]["id"] if nodes else None, "user", "Hello", when)
    return exports.conversation([*nodes, ask], ask["id"], key, create_time=exports.seconds(when))


def known(text: str) -> dict[str, Any]:
    content = {"content_type": "model_editable_context", "model_set_context": text, "repository": None}
    return node("known", None, "assistant", None, None, content=content)


def noted(key: str, text: str, days: int) -> dict[str, Any]:
    return node(key, None, "assistant", text, SPRING + timedelta(days=days), recipient="bio")


def test_only_the_newest_custom_instructions_come(tmp_path):
    chats = [
        told("new", 40, instructions("i2", "Preferred name: Robin\nI live in `Ghent`", "Be brief")),
        told("old", 0, instructions("i1", "Preferred name: Robin\nI live in Utrecht", "Explain at length")),
    ]
    items = list(archived(tmp_path / "a.zip", chats).items())
    assert memories(items) == ["Preferred name: Robin", "I live in `Ghent`", "Be brief"]


def test_notes_newer_than_the_newest_list_come_with_it(tmp_path):
    chats = [
        told("late", 30, noted("n2", "Robin sold the boat.", 30)),
        told("list", 20, known("1. [2026-04-12]. Has a narrowboat.\n2. [2026-04-20]. Likes tea.")),
        told("early", 1, noted("n1", "Has a dinghy.", 1)),
    ]
    items = list(archived(tmp_path / "a.zip", chats).items())
    assert memories(items) == ["Has a narrowboat.", "Likes tea.", "Robin sold the boat."]


def test_memories_of_several_lines_stay_whole(tmp_path):
    text = (
        "1. [2026-04-12]. User plans:\n- Ghent in May\n- Oslo in June\n\n"
        "2. [2026-04-20]. Likes tea\n   in the morning."
    )
    items = list(archived(tmp_path / "a.zip", [told("c", 1, known(text))]).items())
    assert memories(items) == ["User plans: Ghent in May; Oslo in June", "Likes tea in the morning."]


def test_a_list_without_dates_is_a_list(tmp_path):
    items = list(archived(tmp_path / "a.zip", [told("c", 1, known("1. Likes tea.\n2. Has hens."))]).items())
    assert memories(items) == ["Likes tea.", "Has hens."]


def test_a_wish_to_forget_is_no_memory(tmp_path):
    chats = [told("c", 1, noted("n", "Forget that the user lives in Utrecht.", 1))]
    items = list(archived(tmp_path / "a.zip", chats).items())
    assert memories(items) == []
    assert [item.why for item in items if isinstance(item, Skipped)] == [
        "ChatGPT was asked to forget something: see that it is not among what came."
    ]
