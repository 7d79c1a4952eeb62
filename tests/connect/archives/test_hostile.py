"""Archives that are broken, foreign or made to hurt: bounded, refused or skipped with a reason."""

import io
import json
import stat
import struct
import tracemalloc
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.archives import documents, sources
from connect.archives.reading import Archive
from connect.archives.sources import Refused
from connect.archives.trees import Node, laid_out
from connect.archives.values import ForeignChat, Said, Skipped, moment, title_of
from tests.connect import exports


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def skipped(path: Path) -> dict[str, str]:
    return {item.what: item.why for item in Archive(path).items() if isinstance(item, Skipped)}


def chats(path: Path) -> list[ForeignChat]:
    return [item for item in Archive(path).items() if isinstance(item, ForeignChat)]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("x.zip", b"", "empty"),
        ("x.png", b"\x89PNG\r\n\x1a\n\0\0\0", "no archive that OneClaw knows"),
        ("x.zip", b'{"hello": [1, 2, 3]}', "no archive that OneClaw knows"),
        ("x.zip", b"[]", "no archive that OneClaw knows"),
        ("x.zip", b"PK\x03\x04 and nothing more", "damaged"),
        ("x.zip", b"\x89PNG\r\n\x1a\n\0\0\0", "This ZIP is damaged"),
        ("X.ZIP", b"<html><p>Your download has expired.</p></html>", "This ZIP is damaged"),
        ("x.zip", b"- Owns a cat\n- Rides a bicycle\n", "This ZIP is damaged"),
        ("x.zip", exports.zipped({"in.zip": exports.zipped({"MEMORY.md": "- A"})}), "no archive that"),
    ],
)
def test_what_is_no_archive_is_refused(tmp_path, name, data, words):
    with pytest.raises(Refused, match=words):
        Archive(written(tmp_path / name, data))


def test_chats_are_read_whatever_their_file_is_called(tmp_path):
    whole = json.dumps([exports.plain("c", "T", "Hello", "Hi")]).encode()
    assert [chat.id for chat in chats(written(tmp_path / "x.zip", whole))] == ["c"]


def test_names_that_point_outside_links_and_encrypted_files_are_skipped(tmp_path):
    path = tmp_path / "x.zip"
    chat = json.dumps([exports.plain("c", "T", "Hello", "Hi")])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", chat)
        archive.writestr("../../etc/cron.d/x.json", chat)
        archive.writestr("/abs.json", chat)
        archive.writestr("C:\\windows\\x.json", chat)
        link = zipfile.ZipInfo("link.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("locked.json", chat)
        archive.filelist[-1].flag_bits |= 1
    why = skipped(path)
    assert why["../../etc/cron.d/x.json"] == why["/abs.json"] == "Its name points outside the archive."
    assert why["link.json"] == "It is a link, not a file."
    assert why["locked.json"] == "It is encrypted."
    assert len(chats(path)) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.zip"]


def test_a_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("conversations.json", "w") as file:
            file.write(b"[")
            for _ in range(80):
                file.write(b" " * 2**20)
            file.write(b"]")
        archive.writestr("more.json", json.dumps([exports.plain("c", "T", "Hello", "Hi")]))
    assert skipped(path) == {"conversations.json": "It unpacks to far more than any text does."}


def test_a_zip_that_lists_too_much_is_refused_unread(tmp_path):
    data = exports.zipped({"a.md": "x"})
    at = data.rfind(sources.END)
    lie = data[: at + 10] + struct.pack("<HL", 65_000, 2**31) + data[at + 16 :]
    with pytest.raises(Refused, match="more than"):
        Archive(written(tmp_path / "x.zip", lie))


def test_a_truncated_file_gives_what_was_whole_and_says_so(tmp_path):
    whole = json.dumps([exports.plain(f"c{number}", f"T{number}", "Hello", "Hi") for number in range(5)])
    path = written(tmp_path / "c.json", whole[: int(len(whole) * 0.7)].encode())
    assert [chat.id for chat in chats(path)] == ["c0", "c1", "c2"]
    assert "not valid JSON" in skipped(path)["c.json"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_other_encodings_are_read(tmp_path, encoding):
    text = json.dumps([exports.plain("c", "Grüße", "Schön?", "Ja")], ensure_ascii=False)
    (chat,) = chats(written(tmp_path / "c.json", text.encode(encoding)))
    assert chat.title == "Grüße"


def test_bytes_that_are_no_text_cost_a_letter_not_the_archive(tmp_path):
    text = json.dumps([exports.plain("c", "Caf\u00e9", "Hello", "Hi")], ensure_ascii=False)
    (chat,) = chats(written(tmp_path / "c.json", text.encode("latin-1")))
    assert chat.title == "Caf\ufffd"


def test_deep_json_is_one_items_trouble(tmp_path):
    deep = '{"mapping": ' + "[" * 5000 + "]" * 5000 + "}"
    good = json.dumps(exports.plain("c", "T", "Hello", "Hi"))
    path = written(tmp_path / "c.json", f"[{deep}, {good}]".encode())
    assert [chat.id for chat in chats(path)] == ["c"]
    assert list(skipped(path).values()) == ["It nests too deep."]


def test_an_item_that_is_too_large_is_skipped_and_memory_stays_flat(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "MOST_ITEM", 2**20)
    path = tmp_path / "c.json"
    good = json.dumps(exports.plain("c", "T", "Hello", "Hi"))
    with path.open("w") as file:
        file.write('[{"mapping": {')
        for number in range(30_000):
            file.write(f'"n{number}": {{"message": "{"x" * 300}"}}, ')
        file.write('"end": {}}}, ' + good + "]")
    tracemalloc.start()
    found = list(Archive(path).items())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [item.why for item in found if isinstance(item, Skipped)] == ["It is too large."]
    assert [item.id for item in found if isinstance(item, ForeignChat)] == ["c"]
    assert peak < 20 * 2**20


def test_a_single_endless_string_is_given_up(monkeypatch):
    monkeypatch.setattr(documents, "MOST_STRING", 2**20)
    with pytest.raises(documents.Damaged, match="too long"):
        list(documents.items(io.BytesIO(b'["' + b"x" * 3 * 2**20)))


def test_missing_parents_and_cycles_lose_nothing():
    def said(key: str, parent: str) -> Node:
        return Node(key, parent, (Said(key, "user", key),))

    rows = laid_out([said("a", "gone"), said("b", "c"), said("c", "b"), said("d", "d"), said("e", "a")])
    assert sorted(row.key for row in rows) == ["a", "b", "c", "d", "e"]


def test_a_long_line_of_messages_is_no_deep_recursion():
    nodes = [Node(str(n), str(n - 1), (Said(str(n), "user", "x"),)) for n in range(20_000)]
    assert len(laid_out(nodes, "19999")) == 20_000


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        3786912000,
        1e300,
        float("nan"),
        float("inf"),
        "1970-01-01T00:00:00Z",
        "2090-01-01",
        "soon",
        True,
        [],
        "9" * 39,
    ],
)
def test_impossible_dates_are_none(value):
    assert moment(value) is None


def test_dates_in_all_their_forms():
    want = datetime(2026, 4, 11, 9, 30, tzinfo=UTC)
    for value in (
        want.timestamp(),
        want.timestamp() * 1000,
        "2026-04-11T09:30:00Z",
        "2026-04-11T11:30:00+02:00",
        {"$date": "2026-04-11T09:30:00.000Z"},
    ):
        assert moment(value) == want


def test_a_date_of_1970_gives_way_to_its_neighbours(tmp_path):
    chat = exports.conversation(
        [
            exports.node("u", None, "user", "Hello", 0.0),
            exports.node("a", "u", "assistant", "Hi", 3786912000.0),
        ],
        "a",
    )
    path = written(tmp_path / "c.json", json.dumps([chat]).encode())
    assert [row.at for row in chats(path)[0].rows] == [exports.SPRING, exports.SPRING]


def test_titles_are_one_line_of_text():
    assert title_of("<script>alert(1)</script>\n\x1b[31m\u202eevil") == "<script>alert(1)</script> [31m evil"
    assert len(title_of("x" * 5000)) == 200


KEYS = st.sampled_from(
    [
        "id",
        "uuid",
        "title",
        "name",
        "mapping",
        "message",
        "parent",
        "children",
        "author",
        "role",
        "content",
        "parts",
        "content_type",
        "current_node",
        "chat_messages",
        "sender",
        "text",
        "type",
        "chat",
        "history",
        "messages",
        "parentId",
        "currentId",
        "conversationId",
        "messageId",
        "parentMessageId",
        "isCreatedByUser",
        "format",
        "conversations_memory",
        "project_memories",
        "docs",
        "created_at",
        "create_time",
        "metadata",
        "thoughts",
        "attachments",
        "files",
        "user_id",
        "traces",
        "key",
        "terms",
        "version_of",
        "shelf",
        "messagesTree",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)
STARTS = [
    {
        "mapping": {
            "a": {
                "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["x"]}}
            }
        },
        "id": "1",
    },
    {"chat_messages": [{"sender": "human", "text": "x"}], "uuid": "1"},
    {"chat": {"history": {"messages": {"a": {"role": "user", "content": "x"}}, "currentId": "a"}}, "id": "1"},
    {"conversationId": "1", "messages": [{"messageId": "a", "isCreatedByUser": True, "text": "x"}]},
    {"format": "oneclaw-chat", "id": "1", "messages": [{"id": 1, "type": "user", "content": "x"}]},
    {"conversations_memory": "x", "project_memories": {}},
]


@settings(max_examples=120)
@given(data=st.data())
def test_any_shape_is_read_or_skipped_never_raised(tmp_path_factory, data):
    start = data.draw(st.sampled_from(STARTS))
    noise = data.draw(st.dictionaries(KEYS, JSON, max_size=6))
    items = [start, {**start, **noise}, data.draw(JSON)]
    path = tmp_path_factory.mktemp("any") / "c.json"
    path.write_text(json.dumps(items))
    for item in Archive(path).items():
        if isinstance(item, ForeignChat):
            keys = [row.key for row in item.rows]
            assert len(keys) == len(set(keys))
            assert all(row.shelf in keys for row in item.rows if row.shelf)


@settings(max_examples=150)
@given(damage=st.lists(st.tuples(st.integers(0, 3000), st.binary(min_size=1, max_size=6)), max_size=8))
def test_damaged_zips_are_refused_or_skipped(tmp_path_factory, damage):
    data = bytearray(
        exports.zipped({"conversations.json": json.dumps([exports.branching()]), "MEMORY.md": "- A"})
    )
    for at, piece in damage:
        at %= len(data)
        data[at : at + len(piece)] = piece
    path = tmp_path_factory.mktemp("zip") / "c.zip"
    path.write_bytes(bytes(data))
    with suppress(Refused):
        list(Archive(path).items())


@settings(max_examples=100)
@given(
    edges=st.lists(
        st.tuples(
            st.integers(0, 12),
            st.integers(0, 12),
            st.sampled_from(["user", "ai_response", "tool_call", "tool_result", ""]),
        ),
        max_size=30,
    ),
    current=st.integers(0, 12),
)
def test_every_tree_is_laid_out_whole(edges, current):
    nodes = [
        Node(str(key), str(parent), (Said(str(key), kind, "x"),) if kind else ())
        for key, parent, kind in edges
    ]
    rows = laid_out(nodes, str(current))
    places = {row.key: at for at, row in enumerate(rows)}
    assert len(places) == len(rows)
    for row in rows:
        assert places.get(row.version_of, 0) <= places[row.key]
        assert places.get(row.prompt, -1) < places[row.key]
        assert not row.shelf or row.shelf in places
