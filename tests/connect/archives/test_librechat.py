"""What LibreChat writes for tools, pictures, thoughts and branches."""

import json
from pathlib import Path
from typing import Any

from connect.archives.reading import Archive
from connect.archives.values import ForeignChat
from tests.connect import exports


def read(path: Path, exported: dict[str, Any]) -> ForeignChat:
    path.write_text(json.dumps(exported))
    return next(item for item in Archive(path).items() if isinstance(item, ForeignChat))


def replied(path: Path, **message: Any) -> ForeignChat:
    exported = exports.librechat()
    ask, _, reply = exported["messages"]
    exported["messages"] = [ask, reply | message]
    return read(path, exported)


def test_calls_of_an_assistant_with_their_output(tmp_path):
    function = {"name": "maps", "arguments": '{"city": "Bonn"}', "output": "Rhine"}
    outputs = [
        {"type": "logs", "logs": "42\n"},
        {"type": "image", "image": {"file_id": "plot"}},
    ]
    code = {"input": "print(42)", "outputs": outputs}
    rows = replied(
        tmp_path / "l.json",
        content=[
            {"type": "tool_call", "tool_call": {"id": "f", "type": "function", "function": function}},
            {
                "type": "tool_call",
                "tool_call": {"id": "c", "type": "code_interpreter", "code_interpreter": code},
            },
            {"type": "text", "text": {"value": "The Rhine.", "annotations": []}},
        ],
    ).rows[1:]
    told = [(row.type, row.tool_name, row.tool_data, row.content) for row in rows]
    assert told == [
        ("ai_response", "", None, ""),
        ("tool_call", "maps", {"city": "Bonn"}, ""),
        ("tool_result", "maps", None, "Rhine"),
        ("tool_call", "code_interpreter", {"input": "print(42)"}, ""),
        ("tool_result", "code_interpreter", None, "42"),
        ("ai_response", "", None, "The Rhine."),
    ]


def test_a_call_that_gave_nothing_has_an_empty_result(tmp_path):
    call = {"id": "k", "name": "note", "args": {"text": "x"}, "output": "", "progress": 1}
    rows = replied(tmp_path / "l.json", content=[{"type": "tool_call", "tool_call": call}]).rows
    assert [row.type for row in rows] == ["user", "ai_response", "tool_call", "tool_result"]


def test_pictures_are_named_wherever_they_stand(tmp_path):
    chat = replied(
        tmp_path / "l.json",
        content=[
            {"type": "image_file", "image_file": {"file_id": "p", "filename": "river.png"}},
            {"type": "text", "text": "Here."},
        ],
        attachments=[{"filename": "plot.png", "filepath": "/images/plot.png"}],
    )
    assert [file.name for row in chat.rows for file in row.files] == ["river.png", "plot.png"]


def test_thoughts_in_the_text_of_older_versions(tmp_path):
    chat = replied(
        tmp_path / "l.json", content=None, text=":::thinking\nBonn lies on the Rhine.\n:::\n\nThe Rhine."
    )
    assert (chat.rows[1].thinking, chat.rows[1].content) == ("Bonn lies on the Rhine.", "The Rhine.")


def test_of_branches_in_a_list_the_last_made_is_shown(tmp_path):
    exported = exports.librechat()
    ask, first, second = exported["messages"]
    more = {**ask, "messageId": "l4", "parentMessageId": "l2", "text": "Sure?"}
    exported["messages"] = [ask, first, second, more]
    chat = read(tmp_path / "l.json", exported)
    assert [row.content for row in chat.rows if not row.shelf][-1] == "The Rhine."


def test_a_failed_reply_says_so(tmp_path):
    chat = replied(tmp_path / "l.json", content=None, text="No key was given.", error=True)
    assert chat.rows[1].content == "*The model failed: No key was given.*"
