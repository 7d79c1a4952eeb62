"""The demo: the same year every time, every screen filled, a model without a key, no other data touched."""

import json
from pathlib import Path

import httpx
import pytest
from django.test import Client

from chat.models import Message, Session
from demo import filling, model, year
from demo.__main__ import FOLDER, ROOT, environment
from memory.manager import MemoryManager
from memory.models import LedgerEntry, Revision


def test_the_year_is_the_same_every_time_and_its_days_are_apart() -> None:
    days = year.days()
    assert days == year.days()
    ago = [day.ago for day in days]
    assert len(set(ago)) == len(ago) > 60
    assert ago == sorted(ago, reverse=True)
    assert max(ago) > 350
    assert min(ago) == 1
    assert sum(day.talk is not None for day in days) > 30


def test_a_fact_that_changes_was_there_before() -> None:
    known = set[str]()
    for day in year.days():
        for fact in day.facts:
            assert not fact.replaces or fact.replaces in known
            known.add(fact.text)


@pytest.mark.django_db(transaction=True)
def test_every_screen_has_something_to_show() -> None:
    user = filling.fill()
    manager = MemoryManager(user)
    memory = manager.read_long_term_memory()
    assert "lives in Bristol" in memory
    assert "lives in Leeds" not in memory
    assert "hazelnuts" in memory
    assert len(manager.files.list_daily_log_dates()) == len(year.days())
    assert Session.objects.filter(owner=user).count() > 30
    assert Session.objects.filter(via="Open WebUI").exists()
    assert Revision.objects.filter(author="client", by="Claude Code (Workshop PC)").exists()
    assert LedgerEntry.objects.filter(owner=user).count() == len(year.days())
    assert Message.objects.exclude(receipt=None).exists()
    # Nothing is left for a summary to do.
    assert manager.missed_chats() == []
    found = manager.search_memory("Which nuts can't Robin eat?")
    assert any("azelnut" in hit.chunk_text for hit in found)
    client = Client(headers={"host": "localhost"})
    client.post("/login/", {"username": year.USERNAME, "password": year.PASSWORD})
    for path in (
        "/",
        "/memory/",
        "/memory/logs/",
        "/memory/history/",
        "/memory/stats/",
        "/settings/connections/",
    ):
        page = client.get(path)
        assert page.status_code == 200
        assert "Heron" in page.content.decode() or path != "/memory/"


def ask(*messages: dict[str, str], tools: tuple[str, ...] = ()) -> tuple[str, str, list[str]]:
    """Text, thoughts and calls of the demo's model."""
    body = {
        "messages": list(messages),
        "tools": [{"type": "function", "function": {"name": name}} for name in tools],
    }
    text, thoughts, calls = "", "", list[str]()
    answer = httpx.post(f"{model.serve()}/chat/completions", json=body, timeout=60)
    for line in answer.text.splitlines():
        if line.startswith("data: {"):
            delta = json.loads(line[6:])["choices"][0]["delta"]
            text += delta.get("content", "")
            thoughts += delta.get("reasoning_content", "")
            calls += [call["function"]["name"] for call in delta.get("tool_calls", ())]
    return text, thoughts, calls


def test_the_model_answers_from_memory_and_thinks_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "PACE", 0.0)
    notes = (
        "<oneclaw-memory>\n- The boat is blue\n- Likes tea\n</oneclaw-memory>\n\nWhich colour has the boat?"
    )
    text, thoughts, calls = ask({"role": "user", "content": notes}, tools=("save_memory",))
    assert "The boat is blue" in text
    assert "colour" in thoughts
    assert not calls


def test_the_model_saves_what_it_is_asked_to_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "PACE", 0.0)
    asked = {"role": "user", "content": "Remember that I take tea without milk."}
    assert ask(asked, tools=("save_memory",))[2] == ["save_memory"]
    text, _, calls = ask(asked, {"role": "tool", "content": "Saved."}, tools=("save_memory",))
    assert not calls
    assert "noted" in text
    assert ask(asked)[2] == []


def test_the_model_does_oneclaws_chores(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"role": "system", "content": "You name conversations."}
    text, thoughts, _ = ask(
        named, {"role": "user", "content": "Name this conversation:\n\nUser: Larch or oak?"}
    )
    assert text
    assert len(text) < 60
    assert not thoughts
    text, _, _ = ask({"role": "user", "content": "[User]\n> Bought larch\n\n## Daily Summary"})
    assert "- Bought larch" in text
    assert "## Long-term Facts\nNone" in text


def test_nothing_of_the_installation_comes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONECLAW_DATA_DIR", "/somewhere/else")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    told = environment(tmp_path, "http://127.0.0.1:1/v1")
    assert told["ONECLAW_DATA_DIR"] == str(tmp_path)
    assert "OPENAI_API_KEY" not in told
    assert FOLDER == ROOT / "demo-data"
    assert "demo-data/" in (ROOT / ".gitignore").read_text().splitlines()
