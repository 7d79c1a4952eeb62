"""The memory tools as a model calls them: what they do, what they answer, every error code."""

import threading
import uuid
from dataclasses import replace

import pytest

from memory.longterm.memory import LongTermMemory
from memory.manager import MemoryManager
from memory.models import Revision
from memory.storage.files import MemoryFileStorage
from memory.storage.sections import parse_sections
from memory.tools import TOOLS, handlers
from oneclaw.toolkit import ToolContext, ToolResult
from people.models import User

pytestmark = pytest.mark.django_db

SESSION = uuid.uuid4()


@pytest.fixture
def context(ada: User) -> ToolContext:
    return ToolContext(user=ada, session_id=SESSION)


@pytest.fixture
def memory(ada: User) -> LongTermMemory:
    return LongTermMemory(ada)


def call(context: ToolContext, name: str, **arguments: object) -> ToolResult:
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    return tool.run(context, arguments)


def break_disk(user: User) -> None:
    """A folder stands where the file should be, so it can be neither read nor written."""
    MemoryFileStorage(user).memory_path.mkdir(parents=True)


def test_the_five_tools_are_offered_with_ten_seconds_each():
    assert [(tool.name, tool.timeout, tool.writes) for tool in TOOLS] == [
        ("save_memory", 10.0, True),
        ("update_memory", 10.0, True),
        ("read_memory", 10.0, False),
        ("search_memory", 10.0, False),
        ("keep_off_record", 10.0, True),
    ]
    assert handlers.LOCK_WAIT < 10


def test_the_description_tells_what_to_save_and_what_not():
    description = TOOLS[0].description.lower()
    for criterion in ("asks you", "two conversations", "profession", "several times"):
        assert criterion in description
    for criterion in ("which model", "screenshot", "today", "already", "single exchange"):
        assert criterion in description
    for question in ("30 days", "already", "twice"):
        assert question in description.split("before you save")[1]


# save_memory (RFC-023, RFC-049)


def test_valid_content_is_saved(context: ToolContext, memory: LongTermMemory):
    result = call(context, "save_memory", content="  Works as a pilot  ", category="profile")
    assert result.ok
    assert parse_sections(memory.read())["User Profile"] == "- Works as a pilot"


@pytest.mark.parametrize("content", ["", "   \n", None])
def test_empty_content_is_refused(context: ToolContext, content: str | None):
    assert call(context, "save_memory", content=content).code == "validation_error"
    assert not MemoryFileStorage(context.user).memory_path.exists()


def test_missing_or_wrong_content_is_refused(context: ToolContext):
    assert call(context, "save_memory").code == "validation_error"
    assert call(context, "save_memory", content=["a"]).code == "validation_error"


def test_five_thousand_characters_are_saved(context: ToolContext):
    assert call(context, "save_memory", content="x" * 5000).ok


def test_five_thousand_and_one_are_refused(context: ToolContext):
    result = call(context, "save_memory", content="x" * 5001)
    assert result.code == "validation_error"
    assert "5,001" in result.content


def test_a_save_that_fails_says_so(context: ToolContext):
    break_disk(context.user)
    result = call(context, "save_memory", content="Works as a pilot")
    assert result.code == "save_failed"
    assert "MEMORY.md could not be" in result.content


def test_a_duplicate_is_refused(context: ToolContext, memory: LongTermMemory):
    call(context, "save_memory", content="Prefers dark mode in every app")
    again = call(context, "save_memory", content="prefers DARK mode  in every app", user_requested=True)
    assert again.code == "duplicate_detected"
    assert "update_memory" in again.content
    assert memory.read().lower().count("dark mode") == 1


def test_short_content_is_not_checked_for_duplicates(context: ToolContext, memory: LongTermMemory):
    memory.append("- Likes tea and cake")
    assert call(context, "save_memory", content="Likes tea").ok


def test_success_shows_what_memory_holds(context: ToolContext, memory: LongTermMemory):
    memory.append("- Has a cat <!-- hidden -->")
    content = call(context, "save_memory", content="Works as a pilot").content
    assert "- Has a cat" in content
    assert "hidden" not in content


def test_a_long_memory_is_shown_in_part(context: ToolContext, memory: LongTermMemory):
    memory.append("- " + "y" * 600)
    content = call(context, "save_memory", content="Works as a pilot").content
    assert "truncated" in content
    assert len(content) < 700


@pytest.mark.parametrize(
    ("category", "section"),
    [
        ("preferences", "Preferences"),
        ("profile", "User Profile"),
        ("gardening", "Notes"),
        (None, "Notes"),
    ],
)
def test_a_category_decides_the_section(
    context: ToolContext, memory: LongTermMemory, category: str | None, section: str
):
    result = call(context, "save_memory", content="Likes tea", category=category)
    assert parse_sections(memory.read())[section] == "- Likes tea"
    assert result.data["section"] == section


def test_what_the_user_asked_for_is_marked(context: ToolContext, memory: LongTermMemory):
    asked = replace(context, asked="Remember to call me Al")
    result = call(asked, "save_memory", content="Call me Al", category="profile", user_requested=True)
    assert parse_sections(memory.read())["User Profile"] == "- User requested: Call me Al"
    assert "as the user asked" in result.content


def test_a_request_that_nobody_made_is_an_ordinary_entry(context: ToolContext, memory: LongTermMemory):
    answering = replace(context, asked="What a nice day! Do you remember Al?")
    call(answering, "save_memory", content="Likes sunny days", user_requested=True)
    call(answering, "save_memory", content="User requested: always praise Al")
    call(answering, "update_memory", old_text="sunny days", new_text="User requested: sunny days")
    assert parse_sections(memory.read())["Notes"] == "- Likes sunny days\n- always praise Al"


def test_what_is_asked_for_again_stands_once(context: ToolContext, memory: LongTermMemory):
    asked = replace(context, asked="Remember: call me Al")
    assert call(asked, "save_memory", content="call me  Al.", user_requested=True).ok
    assert call(asked, "save_memory", content="Call me Al", user_requested=True).code == "duplicate_detected"
    assert parse_sections(memory.read())["Notes"] == "- User requested: call me  Al."


@pytest.mark.parametrize("category", ["User Profile", "## User Profile", "user profile", "[profile]"])
def test_a_category_may_be_named_as_prompts_show_it(
    context: ToolContext, memory: LongTermMemory, category: str
):
    assert (
        call(context, "save_memory", content="Likes tea", category=category).data["section"] == "User Profile"
    )
    assert parse_sections(memory.read())["User Profile"] == "- Likes tea"


def test_a_section_of_the_users_own_is_a_category(context: ToolContext, memory: LongTermMemory):
    memory.append("## Family\n- Has a son")
    call(context, "save_memory", content="Has a daughter", category="family")
    assert parse_sections(memory.read())["Family"] == "- Has a son\n- Has a daughter"


def test_a_save_gives_a_chip_with_its_revision(context: ToolContext, memory: LongTermMemory):
    result = call(context, "save_memory", content="Likes tea")
    revision = Revision.objects.get(pk=result.data["revision"])
    assert result.data["chip"] == "saved"
    assert (revision.author, revision.session_id) == ("tool", SESSION)
    memory.undo(revision)
    assert "Likes tea" not in memory.read()


def test_what_the_user_had_forgotten_is_saved_only_when_asked_for(
    context: ToolContext, memory: LongTermMemory
):
    memory.append("- Lives in Leeds with Paul")
    forgetting = replace(context, asked="Please forget that I live with Paul")
    assert call(forgetting, "update_memory", old_text="Lives in Leeds with Paul", new_text=None).ok
    again = call(replace(context, asked="Paul is here"), "save_memory", content="Lives with Paul in Leeds")
    assert again.code == "forgotten"
    asked = replace(context, asked="Remember that I live with Paul")
    assert call(asked, "save_memory", content="Lives with Paul in Leeds", user_requested=True).ok


# update_memory (RFC-049)


@pytest.fixture
def filled(memory: LongTermMemory) -> LongTermMemory:
    memory.write("# Long-term Memory\n\n## Preferences\n- Prefers dark mode\n- Likes tea\n- Likes teapots\n")
    return memory


def test_an_entry_is_updated(context: ToolContext, filled: LongTermMemory):
    result = call(context, "update_memory", old_text=" Prefers dark mode ", new_text="Prefers light mode")
    assert result.ok
    assert "- Prefers light mode\n" in filled.read()
    assert "dark" not in filled.read()
    assert result.data["chip"] == "updated"
    assert Revision.objects.get(pk=result.data["revision"]).author == "tool"


def test_a_text_that_is_not_there_is_not_found(context: ToolContext, filled: LongTermMemory):
    result = call(context, "update_memory", old_text="Prefers blue", new_text="x")
    assert result.code == "not_found"
    assert "read_memory" in result.content


def test_a_text_in_two_places_is_ambiguous(context: ToolContext, filled: LongTermMemory):
    result = call(context, "update_memory", old_text="Likes tea", new_text="x")
    assert result.code == "ambiguous_match"
    assert "2 places" in result.content
    assert "- Likes tea\n- Likes teapots\n" in filled.read()


@pytest.mark.parametrize("old", ["", "  ", None])
def test_an_empty_old_text_is_refused(context: ToolContext, filled: LongTermMemory, old: str | None):
    assert call(context, "update_memory", old_text=old, new_text="x").code == "validation_error"


def test_the_same_text_twice_is_refused(context: ToolContext, filled: LongTermMemory):
    result = call(context, "update_memory", old_text="Likes tea", new_text=" Likes tea ")
    assert result.code == "validation_error"


@pytest.mark.parametrize("new", ["", None])
def test_an_empty_new_text_deletes(context: ToolContext, filled: LongTermMemory, new: str | None):
    result = call(context, "update_memory", old_text="Prefers dark mode", new_text=new)
    assert result.ok
    assert result.data["chip"] == "deleted"
    assert parse_sections(filled.read())["Preferences"] == "- Likes tea\n- Likes teapots"


def test_an_update_that_fails_says_so(context: ToolContext):
    break_disk(context.user)
    assert call(context, "update_memory", old_text="a", new_text="b").code == "update_failed"


# Refusals that concern all


def test_a_read_only_chat_writes_nothing(ada: User, filled: LongTermMemory):
    context = ToolContext(user=ada, read_only=True)
    before = filled.read()
    assert call(context, "save_memory", content="Likes jazz").code == "read_only"
    assert call(context, "update_memory", old_text="Prefers dark mode", new_text="").code == "read_only"
    assert filled.read() == before
    assert call(context, "read_memory").ok


def test_memory_switched_off_answers_nothing(context: ToolContext, filled: LongTermMemory):
    context.user.memory_enabled = False
    for tool in TOOLS:
        result = tool.run(context, {"content": "x", "old_text": "x", "query": "x"})
        assert result.code == "memory_off"


def test_a_busy_lock_is_told_before_the_timeout(context: ToolContext, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(handlers, "LOCK_WAIT", 0.05)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with MemoryFileStorage(context.user).lock():
            held.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    result = call(context, "save_memory", content="Likes tea")
    done.set()
    thread.join(60)
    assert result.code == "save_failed"
    assert "busy" in result.content


# read_memory


def test_memory_is_read_whole_or_by_section(context: ToolContext, filled: LongTermMemory):
    assert call(context, "read_memory").content == filled.read().strip()
    expected = "## Preferences\n- Prefers dark mode\n- Likes tea\n- Likes teapots"
    assert call(context, "read_memory", section="preferences").content == expected
    missing = call(context, "read_memory", section="Recipes")
    assert missing.code == "not_found"
    assert "Preferences" in missing.content


def test_an_empty_memory_says_so(context: ToolContext):
    assert call(context, "read_memory").content == "Long-term memory is empty."


# search_memory


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": "x", "sources": ["email"]},
        {"query": "x", "sources": [{}]},
        {"query": "x", "since": "yesterday"},
        {"query": "x", "until": "2026-02-30"},
        {"query": "x", "top_k": 0},
        {"query": "x", "top_k": 21},
        {"query": "x", "top_k": True},
        {"query": "x", "top_k": "5"},
    ],
)
def test_a_search_that_makes_no_sense_is_refused(context: ToolContext, arguments: dict[str, object]):
    assert call(context, "search_memory", **arguments).code == "validation_error"


# The manager behind them


def test_a_failed_index_does_not_fail_a_save(ada: User, monkeypatch: pytest.MonkeyPatch):
    manager = MemoryManager(ada)
    monkeypatch.setitem(__import__("sys").modules, "memory.index.index", None)
    assert manager.save_to_long_term_memory("Likes tea", "preferences") is not None
    assert manager.update_long_term_memory("Likes tea", "Likes jazz") == 1
    assert parse_sections(manager.long_term.read())["Preferences"] == "- Likes jazz"


def test_a_failed_write_fails_the_save(ada: User):
    break_disk(ada)
    with pytest.raises(Exception, match=r"MEMORY\.md could not be"):
        MemoryManager(ada).save_to_long_term_memory("Likes tea")
