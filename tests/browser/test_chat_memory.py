"""What the page tells memory: that it was hidden, that another chat was opened; and a reply's receipt."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chatting import last_reply, open_chat, say, scrolls_sideways
from tests.browser.conftest import Person
from tests.modelserver import ModelServer


@pytest.fixture
def summaries(models: ModelServer) -> ModelServer:
    """A model that summarises when asked to."""
    for _ in range(4):
        models.reply(
            "## Daily Summary\n- Talked about night trains\n\n## Long-term Facts\nNone",
            match=lambda asked: "Daily Summary" in asked.text,
        )
    return models


def logs(person: Person) -> str:
    folder: Path = person.oneclaw.data_dir / "memory" / person.username / "daily"
    return "".join(file.read_text() for file in folder.glob("*.md")) if folder.is_dir() else ""


def test_a_hidden_page_has_its_chat_written_to_the_log(
    person: Person, phone: Page, summaries: ModelServer
) -> None:
    open_chat(phone, person, "I love night trains")
    last_reply(phone)
    chat = phone.url.rstrip("/").rsplit("/", 1)[-1]
    with phone.expect_request("**/memory/hidden/") as asked:
        phone.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    assert chat in (asked.value.post_data or "")
    person.oneclaw.wait_until(lambda: "night trains" in logs(person))


def test_opening_another_chat_writes_the_one_before_to_the_log(
    person: Person, desktop: Page, summaries: ModelServer
) -> None:
    open_chat(desktop, person, "I love night trains")
    last_reply(desktop)
    # The page's own farewell would do it too; here the switch alone is looked at.
    desktop.route("**/memory/hidden/", lambda route: route.abort())
    open_chat(desktop, person, "Something else")
    person.oneclaw.wait_until(lambda: "night trains" in logs(person))


def remembering(person: Person, page: Page) -> Locator:
    """A reply to a message about something in MEMORY.md and in a day's log."""
    folder: Path = person.oneclaw.data_dir / "memory" / person.username / "daily"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "2026-02-28.md").write_text(
        "# Daily Log - 2026-02-28\n\n- Bought a map of night trains in Porto\n"
    )
    person.sign_in(page)
    page.goto("/")
    say(page, "/remember I collect maps of night trains")
    expect(page.get_by_text("Remembered.")).to_be_visible()
    say(page, "Which maps of night trains do I collect?")
    page.wait_for_url("**/chat/**")
    return last_reply(page)


def test_the_receipt_shows_what_was_recalled_and_leads_there(
    person: Person, page: Page, models: ModelServer
) -> None:
    reply = remembering(person, page)
    reply.get_by_role("link", name="2 memories").click()
    dialog = page.get_by_role("dialog", name="Memory in this reply")
    expect(dialog).to_contain_text("tokens were sent")
    expect(dialog).to_contain_text("Bought a map of night trains in Porto")
    dialog.get_by_text("Show what was sent", exact=True).click()
    expect(dialog).to_contain_text("I collect maps of night trains")
    assert not scrolls_sideways(page)
    dialog.get_by_role("link", name="Edit").click()
    expect(page).to_have_url(f"{person.oneclaw.url}/memory/")


def test_a_reply_without_memories_shows_no_number_but_still_tells_what_was_sent(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    open_chat(desktop, person, "hi")
    reply = last_reply(desktop)
    expect(reply.get_by_role("link", name="memor")).to_have_count(0)
    reply.locator("summary", has=desktop.locator("svg")).last.click()
    reply.get_by_role("link", name="nothing sent").click()
    expect(desktop.get_by_role("dialog", name="Memory in this reply")).to_contain_text("close enough")


def test_a_line_of_the_receipt_is_edited_pinned_and_forgotten_by_keyboard(
    person: Person, page: Page, models: ModelServer
) -> None:
    memory: Path = person.oneclaw.data_dir / "memory" / person.username / "MEMORY.md"
    reply = remembering(person, page)
    reply.get_by_role("link", name="2 memories").press("Enter")
    dialog = page.get_by_role("dialog", name="Memory in this reply")
    line = dialog.locator(".recalled > li", has_text="Porto").first
    line.locator("summary", has_text="Edit").press("Enter")
    line.get_by_role("textbox", name="What to remember").fill("Bought a map of sleeper trains in Faro")
    line.get_by_role("button", name="Save").press("Enter")
    edited = dialog.locator(".recalled > li", has_text="Faro")
    expect(edited).to_contain_text("Saved in the daily log.")
    expect(edited.locator("[autofocus]")).to_be_focused()
    assert "- Bought a map of sleeper trains in Faro" in logs(person)
    edited.get_by_role("button", name="Undo").press("Enter")
    expect(line).to_contain_text("Undone.")
    assert "Porto" in logs(person)
    line.get_by_role("button", name="Pin").press("Enter")
    expect(line).to_contain_text("Pinned")
    assert "- User requested: Bought a map of night trains in Porto" in memory.read_text()
    line.get_by_role("button", name="Undo").press("Enter")
    line.get_by_role("button", name="Forget").press("Enter")
    expect(line).to_contain_text("Forgotten: 1 log item.")
    assert "Porto" not in logs(person)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    reply.get_by_role("link", name="2 memories").press("Enter")
    expect(dialog).to_contain_text("No longer in memory.")
