"""Forgetting by keyboard, off the record by its button, and a page that moves without leaving."""

from playwright.sync_api import Page, Request, expect

from tests.browser.chatting import last_reply, open_chat, say, scrolls_sideways
from tests.browser.conftest import Person
from tests.modelserver import ModelServer


def test_what_is_picked_by_keyboard_is_forgotten_and_undone(person: Person, page: Page, models: ModelServer):
    open_chat(page, person, "Hello there")
    last_reply(page)
    say(page, "/remember I collect maps of night trains")
    expect(page.get_by_text("Remembered.")).to_be_visible()
    say(page, "/forget night trains")
    button = page.get_by_role("button", name="Forget selected")
    expect(button).to_be_visible()
    box = page.get_by_role("checkbox", name="I collect maps of night trains")
    expect(box).to_be_checked()
    box.focus()
    page.keyboard.press("Space")
    expect(box).not_to_be_checked()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Forgotten: 1 entry of MEMORY.md")).to_be_visible()
    assert not scrolls_sideways(page)
    page.get_by_role("button", name="Undo").last.press("Enter")
    expect(page.get_by_text("Undone.")).to_be_visible()
    page.goto("/memory/forgetting/?q=night+trains")
    expect(page.get_by_role("checkbox", name="I collect maps of night trains")).to_be_checked()
    assert not scrolls_sideways(page)
    page.get_by_role("button", name="Forget selected").press("Enter")
    expect(page.get_by_role("heading", name="Kept forgotten")).to_be_visible()
    expect(page.get_by_role("button", name="Purge from history")).to_be_visible()
    assert not scrolls_sideways(page)


def test_a_message_is_kept_off_the_record_and_put_back(person: Person, page: Page, models: ModelServer):
    open_chat(page, person, "I am going to leave my job")
    last_reply(page)
    page.get_by_role("button", name="Keep off the record").press("Enter")
    expect(page.get_by_text("Off the record")).to_have_count(2)
    # Whoever pressed the key is still at the switch.
    expect(page.get_by_role("button", name="Put back")).to_be_focused()
    expect(page.get_by_text("Off the record").first).to_be_visible()
    assert not scrolls_sideways(page)
    page.get_by_role("button", name="Put back").press("Enter")
    expect(page.get_by_text("Off the record")).to_have_count(0)


def test_moving_to_another_page_of_the_app_is_no_farewell(person: Person, desktop: Page, models: ModelServer):
    open_chat(desktop, person, "I love night trains")
    last_reply(desktop)
    told = list[str]()

    def note(request: Request) -> None:
        if "/memory/hidden/" in request.url:
            told.append(request.url)

    desktop.on("request", note)
    desktop.get_by_role("link", name="Memory", exact=True).first.click()
    desktop.wait_for_url("**/memory/**")
    desktop.get_by_role("link", name="Search", exact=True).first.click()
    desktop.wait_for_url("**/memory/search/**")
    assert told == []
    with desktop.expect_request("**/memory/hidden/"):
        desktop.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")


def test_what_a_deleted_chat_left_in_the_logs_is_removed_long_after_its_toast(
    person: Person, page: Page, models: ModelServer
):
    models.reply(
        "## Daily Summary\n- Talked about night trains\n\n## Long-term Facts\nNone",
        match=lambda asked: "Daily Summary" in asked.text,
    )
    open_chat(page, person, "I love night trains")
    last_reply(page)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    daily = person.oneclaw.data_dir / "memory" / person.username / "daily"

    def logged() -> bool:
        return any("night trains" in log.read_text() for log in daily.glob("*.md"))

    person.oneclaw.wait_until(logged)
    page.locator(".top summary").click()
    page.locator(".top").get_by_role("button", name="Delete").click()
    expect(page.locator(".toast")).to_be_visible()
    # Ten seconds in one moment: the toast is gone as by itself.
    page.evaluate(
        "document.querySelectorAll('.toast').forEach((each) => each.getAnimations().at(-1).finish())"
    )
    expect(page.locator(".toast")).to_have_count(0)
    page.goto("/memory/")
    page.get_by_role("link", name="Forgetting", exact=True).click()
    left = page.get_by_role("region", name="Left by deleted chats")
    expect(left).to_contain_text("1 thing still in memory")
    left.get_by_role("link").click()
    expect(page.get_by_role("checkbox", name="Talked about night trains")).to_be_checked()
    assert not scrolls_sideways(page)
    page.get_by_role("button", name="Forget selected").click()
    expect(page.get_by_role("region", name="Left by deleted chats")).to_have_count(0)
    assert not logged()
