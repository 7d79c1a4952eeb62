"""Whatever text, stream or archive comes in, a parser gives what it promises or its own error, no other."""

import hashlib
import json
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.adapters import tool_calls
from chat.adapters.bounds import Room
from chat.adapters.thinktags import ThinkTags
from chat.commands import commands
from chat.errors import ModelError
from chat.tools import validation
from memory.dailylog import summary
from memory.index import chunks
from memory.storage import entries, log_entries, markdown, sections
from oneclaw import datafolder
from oneclaw.backup import restore
from oneclaw.backup.archive import FORMAT, MANIFEST
from oneclaw.sqlite import driver
from tests.chat.adapters.exchanges import KINDS, SEARCH, answer, request_to
from tests.modelserver import ModelServer
from tests.modelserver.protocols import STREAMS
from tests.modelserver.script import Script

# What means something to one of the readers, in any order, among anything else.
MARKER = str(log_entries.Marker("0b0d4b3a-5a0c-4b6f-9a53-5bb1a4a6d001", 1, 2))
TELLING = [
    *("# Long-term Memory", "## Notes", "## Daily Summary", "## Long-term Facts", "### Deep", "None", "---"),
    *(
        "- ",
        "* ",
        "1. ",
        "  - ",
        "- [notes] ",
        "- [replaces 1] ",
        "User requested: ",
        "> ",
        "```",
        "~~~",
        "====",
    ),
    *("<!--", "-->", "<!-- oneclaw:entry {", MARKER, "# Daily Log - 2026-02-28", "<<<data", "<<<end of data"),
    *("\n", "\r\n", "\r", "\n\n", "\t", " ", "\u2028", "\x0b", "\x85", "\ufeff", "\x00", "\u200b"),
    *("word", "Straße", "東京", "🙂", "<think>", "</think>", "{}", '{"first": 1e999}', "[[[[[[[["),
]
pieces = st.one_of(st.sampled_from(TELLING), st.text(max_size=12))
texts = st.lists(pieces, max_size=25).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
few = settings(max_examples=60, derandomize=True)


@few
@given(texts)
def test_lines_joined_are_the_text(text: str) -> None:
    assert markdown.text_of(markdown.lines_of(text)) == text
    assert "".join(markdown.raw_lines(text)) == text


@few
@given(texts)
def test_a_log_is_its_head_and_its_entries(text: str) -> None:
    head, found = log_entries.split(text)
    assert head + "".join(entry.raw for entry in found) == text


@few
@given(st.lists(texts, min_size=1, max_size=4))
def test_no_body_forges_an_entry_or_ends_one(bodies: list[str]) -> None:
    """A log of entries whose words are anybody's has just these entries, each with its own marker."""
    bodies = [body for body in bodies if log_entries.inert(body).strip()]
    markers = [log_entries.Marker(str(UUID(int=at)), at, at) for at in range(len(bodies))]
    log = "# Daily Log - 2026-02-28\n\n" + "".join(
        f"{log_entries.compose(marker, body)}\n\n---\n\n"
        for marker, body in zip(markers, bodies, strict=True)
    )
    assert [entry.marker for entry in log_entries.entries_of(log)] == markers


@few
@given(texts)
def test_deleting_an_entry_leaves_every_other(text: str) -> None:
    found = entries.entries_of(text)
    for entry in found[:3]:
        rest = entries.delete(text, entry.position, entry.key)
        said = "".join(markdown.bare_lines(rest))
        for other in found:
            if other.position != entry.position:
                for line in markdown.bare_lines(other.text):
                    assert line.strip() in said


@few
@given(texts, texts)
def test_sections_and_chunks_come_of_any_text(text: str, name: str) -> None:
    found = sections.parse_sections(text)
    assert all(isinstance(body, str) for body in found.values())
    sections.find_section(markdown.lines_of(text), name)
    for chunk in chunks.file_chunks(text, lambda words: len(words.split())):
        assert chunk.text.strip()


@few
@given(texts)
def test_a_summary_is_read_of_any_answer(text: str) -> None:
    for read in (summary.parse, summary.parse_cut):
        made = read(text)
        assert all(fact.text.strip() or fact.replaces for fact in made.facts)


@few
@given(st.lists(pieces, max_size=20), st.integers(1, 9))
def test_thoughts_are_told_apart_however_a_stream_is_cut(parts: list[str], size: int) -> None:
    text = "".join(parts)

    def read(cuts: list[str]) -> list[tuple[str, str]]:
        tags, said = ThinkTags(), list[tuple[str, str]]()
        events = [event for cut in cuts for event in tags.feed(cut)] + list(tags.close())
        for event in events:
            kind = type(event).__name__
            if said and said[-1][0] == kind:
                said[-1] = (kind, said[-1][1] + event.text)
            else:
                said.append((kind, event.text))
        return said

    cut = [text[at : at + size] for at in range(0, len(text), size)]
    assert read(cut) == read([text])


@few
@given(st.one_of(texts, values.map(lambda value: json.dumps(value))))
def test_arguments_are_read_or_a_problem_is_told(text: str) -> None:
    call = tool_calls.parse("id", "search_memory", text, Room())
    assert call.problem or isinstance(call.arguments, dict)
    if not call.problem:
        json.dumps(call.arguments, allow_nan=False).encode()
        with suppress(validation.InvalidArguments):
            validation.arguments(SEARCH.parameters, call.arguments)


@few
@given(texts)
def test_a_message_is_a_command_or_none(text: str) -> None:
    typed = commands.parse(text)
    assert typed is None or text.lstrip().startswith("/")
    commands.unescaped(text)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_stream_is_events_or_a_model_error(
    kind: str, data: st.DataObject, model_server: ModelServer
) -> None:
    """Real ones with bytes changed, left out, doubled or cut, over real HTTP."""
    body = b"".join(STREAMS[kind](Script("One two", thinking="Hm", calls=[("clock", {"zone": "UTC"})])))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(body)))
        length = data.draw(st.integers(0, 30))
        new = data.draw(st.one_of(st.binary(max_size=20), texts.map(lambda text: text.encode()[:40])))
        body = body[:at] + new + body[at + length :]
    model_server.scripts.clear()
    model_server.raw(body[: data.draw(st.integers(0, len(body)))])
    with suppress(ModelError):
        await answer(request_to(kind, model_server))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small backup, made by hand so that it is all there is to spoil."""
    folder = tmp_path_factory.mktemp("saved")
    database = driver.choose().connect(folder / "db.sqlite3")
    database.execute("CREATE TABLE django_migrations (app TEXT, name TEXT)")
    database.commit()
    database.close()
    members = {"db.sqlite3": (folder / "db.sqlite3").read_bytes(), "secret.key": b"key\n"}
    members["memory/ada/MEMORY.md"] = b"# Long-term Memory\n"
    files = {name: {"size": len(b), "sha256": hashlib.sha256(b).hexdigest()} for name, b in members.items()}
    with zipfile.ZipFile(folder / "saved.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(MANIFEST, json.dumps({"format": FORMAT, "files": files}))
    return folder / "saved.zip"


@given(data=st.data())
@settings(max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_archive_is_restored_as_it_was_or_not_at_all(
    data: st.DataObject, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "SPARE", 0)
    body = saved.read_bytes()
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(body)))
        body = body[:at] + data.draw(st.binary(max_size=8)) + body[at + data.draw(st.integers(0, 8)) :]
    folder = tmp_path / "data"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "secret.key").write_text("present\n")
    (tmp_path / "spoilt.zip").write_bytes(body)
    try:
        restored = restore.restore(tmp_path / "spoilt.zip", folder)
    except restore.RestoreFailed:
        assert [path.name for path in folder.iterdir()] == ["secret.key"]
        assert (folder / "secret.key").read_text() == "present\n"
        return
    assert (folder / "memory" / "ada" / "MEMORY.md").read_bytes() == b"# Long-term Memory\n" or (
        not restored.had_checksums
    )
    assert restored.aside
    assert {path.name for path in folder.iterdir()} - set(datafolder.KEPT) == {restored.aside.name}
