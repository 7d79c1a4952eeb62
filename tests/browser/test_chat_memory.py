"""What the page tells memory: that it was hidden, that another chat was opened; and a reply's receipt."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chatting import last_reply, open_chat, say
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


def test_the_receipt_shows_what_was_recalled_and_leads_there(
    person: Person, page: Page, models: ModelServer
) -> None:
    person.sign_in(page)
    page.goto("/")
    say(page, "/remember I collect maps of night trains")
    expect(page.get_by_text("Remembered.")).to_be_visible()
    say(page, "What do I collect?")
    page.wait_for_url("**/chat/**")
    last_reply(page).get_by_role("link", name="Memory used").click()
    dialog = page.get_by_role("dialog", name="Memory in this reply")
    expect(dialog).to_contain_text("tokens were sent")
    dialog.get_by_text("Show what was sent", exact=True).click()
    expect(dialog).to_contain_text("I collect maps of night trains")
    dialog.get_by_role("link", name="Edit").click()
    expect(page).to_have_url(f"{person.oneclaw.url}/memory/")
