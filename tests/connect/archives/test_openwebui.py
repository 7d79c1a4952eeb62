"""What Open WebUI's versions write: results in attributes, in bodies and in a list; pictures in the text."""

import base64
import html
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from chat.models import Attachment
from connect.archives.documents import Damaged
from connect.archives.reading import Archive
from connect.archives.values import ForeignChat, ForeignFile, Said
from tests.connect import exports

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
PICTURE = "data:image/png;base64," + base64.b64encode(PNG).decode()


def exported(
    path: Path, reply: dict[str, Any], ask: dict[str, Any] | None = None
) -> tuple[Archive, ForeignChat]:
    (chat,) = exports.open_webui()
    messages = chat["chat"]["history"]["messages"]
    del messages["a"]
    messages["u"] |= ask or {}
    messages["b"] |= reply
    path.write_text(json.dumps([chat]))
    archive = Archive(path)
    found = next(item for item in archive.items() if isinstance(item, ForeignChat))
    return archive, found


def replied(tmp_path: Path, **reply: Any) -> list[Said]:
    return [row for row in exported(tmp_path / "o.json", reply)[1].rows if row.type != "user"]


def bytes_of(archive: Archive, file: ForeignFile) -> bytes:
    with archive.source.open(file.entry) as stream:
        return b"".join(iter(lambda: stream.read(1000), b""))


def escaped(value: object) -> str:
    return html.escape(json.dumps(value, ensure_ascii=False))


def test_a_result_in_the_body_of_a_call(tmp_path):
    text = (
        '<details type="tool_calls" done="true" id="call_1" name="get_weather" '
        f'arguments="{escaped({"city": "Oslo"})}" files="" embeds="">\n<summary>Tool Executed</summary>\n'
        f"{escaped('minus <four>')}\n</details>\nCold."
    )
    rows = replied(tmp_path, content=text)
    assert [(row.type, row.content) for row in rows] == [
        ("ai_response", ""),
        ("tool_call", ""),
        ("tool_result", "minus <four>"),
        ("ai_response", "Cold."),
    ]
    assert rows[1].tool_data == {"city": "Oslo"}


def test_a_long_result_in_an_attribute(tmp_path):
    page = 'say "hens" ' * 30_000
    text = (
        f'<details type="tool_calls" done="true" id="c" name="fetch" arguments="{escaped("{}")}" '
        f'result="{escaped(page)}" files="">\n<summary>Tool Executed</summary>\n</details>\nDone.'
    )
    rows = replied(tmp_path, content=text)
    assert rows[2].content.startswith('say "hens" say')
    assert len(rows[2].content) < 31_000
    assert rows[-1].content == "Done."


def test_what_code_gave(tmp_path):
    output = escaped({"stdout": "42\n", "stderr": "", "result": None})
    text = (
        '<details type="code_interpreter" done="true" duration="1" '
        f'output="{output}">\n<summary>Analyzed</summary>\n'
        "```python\nprint(42)\n```\n</details>\nIt is 42."
    )
    rows = replied(tmp_path, content=text)
    assert rows[1].tool_data == {"input": "print(42)"}
    assert (rows[2].type, rows[2].content) == ("tool_result", "42")
    assert rows[2].tool_call_id == rows[1].tool_call_id


def test_the_list_of_what_was_put_out_comes_before_the_text(tmp_path):
    output = [
        {"type": "reasoning", "id": "r", "content": [{"type": "output_text", "text": "Ask the tool."}]},
        {"type": "function_call", "call_id": "k", "name": "get_weather", "arguments": '{"city": "Oslo"}'},
        {
            "type": "function_call_output",
            "call_id": "k",
            "output": [{"type": "input_text", "text": "minus four"}],
            "status": "completed",
        },
        {"type": "open_webui:code_interpreter", "id": "i", "code": "print(1)", "output": {"stdout": "1"}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Cold."}]},
    ]
    rows = replied(
        tmp_path, content='<details type="reasoning" done="true">…</details>\nCold.', output=output
    )
    assert [(row.type, row.content, row.thinking) for row in rows] == [
        ("ai_response", "", "Ask the tool."),
        ("tool_call", "", ""),
        ("tool_result", "minus four", ""),
        ("tool_call", "", ""),
        ("tool_result", "1", ""),
        ("ai_response", "Cold.", ""),
    ]
    assert rows[1].tool_data == {"city": "Oslo"}


def test_pictures_in_the_text_come_as_files(tmp_path):
    archive, chat = exported(
        tmp_path / "o.json",
        {
            "content": f"Here it is: ![a hen]({PICTURE}) as you wished.",
            "files": [{"type": "image", "url": PICTURE}, {"type": "image", "url": "/api/v1/files/1/content"}],
        },
        {"files": [{"type": "image", "url": PICTURE}, {"type": "file", "name": "a.pdf", "url": "x"}]},
    )
    ask, reply = chat.rows
    assert [(file.name, bool(file.entry)) for file in ask.files] == [("image.png", True), ("a.pdf", False)]
    assert bytes_of(archive, ask.files[0]) == PNG
    assert reply.content == "Here it is: a hen as you wished."
    assert [(file.name, bool(file.entry)) for file in reply.files] == [
        ("image.png", True),
        ("image", False),
        ("a hen.png", True),
    ]
    assert bytes_of(archive, reply.files[2]) == PNG


def test_pictures_among_the_parts_of_a_message(tmp_path):
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    archive, chat = exported(tmp_path / "o.json", {}, {"content": parts})
    assert chat.rows[0].content == "What is it?"
    assert bytes_of(archive, chat.rows[0].files[0]) == PNG


def test_the_text_of_a_file_that_the_export_holds(tmp_path):
    file = {
        "type": "file",
        "name": "trip.pdf",
        "file": {"filename": "trip.pdf", "data": {"content": "Zürich"}},
    }
    archive, chat = exported(tmp_path / "o.json", {}, {"files": [file]})
    (found,) = chat.rows[0].files
    assert found.name == "trip.pdf.txt"
    assert bytes_of(archive, found).decode() == "Zürich"


def test_a_picture_that_is_no_base64_is_damaged(tmp_path):
    broken = {"files": [{"type": "image", "url": "data:image/png;base64,@@@=a"}]}
    archive, chat = exported(tmp_path / "o.json", {}, broken)
    with pytest.raises(Damaged):
        bytes_of(archive, chat.rows[0].files[0])


def test_models_side_by_side_are_versions(tmp_path):
    (chat,) = exports.open_webui()
    messages = chat["chat"]["history"]["messages"]
    messages["u"]["models"] = ["llama3.2", "qwen3"]
    messages["a"]["modelIdx"], messages["b"]["modelIdx"] = 0, 1
    messages["v"] = {
        "id": "v",
        "parentId": "a",
        "childrenIds": [],
        "role": "user",
        "content": "And in Bergen?",
        "timestamp": 1767000030,
    }
    chat["chat"]["history"]["currentId"] = "v"
    (tmp_path / "o.json").write_text(json.dumps([chat]))
    found = next(item for item in Archive(tmp_path / "o.json").items() if isinstance(item, ForeignChat))
    assert [row.content for row in found.rows if not row.shelf] == [
        "How cold is it in Oslo?",
        "Quite cold.",
        "And in Bergen?",
    ]
    assert {row.model for row in found.rows if row.shelf and row.type == "ai_response"} == {"qwen3"}


def test_an_error_in_any_form_is_told(tmp_path):
    for error in ({"content": "No such model"}, "No such model", {"message": "No such model"}):
        (row,) = replied(tmp_path, content="", error=error)
        assert row.content == "*The model failed: No such model*"


def test_pictures_in_a_chat_are_attached_to_its_messages(ada, tmp_path, bring):
    picture = BytesIO()
    Image.new("RGB", (20, 10), "red").save(picture, "PNG")
    address = "data:image/png;base64," + base64.b64encode(picture.getvalue()).decode()
    (chat,) = exports.open_webui()
    for message in chat["chat"]["history"]["messages"].values():
        message["files"] = [{"type": "image", "url": address}]
    (tmp_path / "o.json").write_text(json.dumps([chat]))
    assert bring(ada, tmp_path / "o.json").added["attachments"] == 3
    assert {each.width for each in Attachment.objects.filter(owner=ada)} == {20}


def test_the_answer_made_of_several_models_answers_stands_below_its_own(tmp_path):
    merged = {"status": True, "content": "Both say: minus four.", "timestamp": 1767000090}
    own, both = replied(tmp_path, content="Minus four.", merged=merged)
    assert (own.content, own.model) == ("Minus four.", "qwen3")
    assert (both.content, both.model) == ("**Merged response**\n\nBoth say: minus four.", "")
    assert both.at is not None
    assert both.at.timestamp() == 1767000090
    assert own.reply == both.reply


@pytest.mark.parametrize("merged", [None, {}, {"status": True, "content": ""}, "text", {"content": [1]}])
def test_where_nothing_was_merged_nothing_is_said_of_it(tmp_path, merged):
    assert [row.content for row in replied(tmp_path, content="Minus four.", merged=merged)] == ["Minus four."]
