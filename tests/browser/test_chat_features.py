"""What a chat can do besides talking: another model, branches, chats that are not kept."""

import re
import time

from playwright.sync_api import Page, expect

from tests.browser.chatting import asking, composer, last_reply, open_chat, say, scrolls_sideways
from tests.browser.conftest import Person
from tests.modelserver import ModelServer


def test_a_reply_is_made_again_by_another_model(person: Person, page: Page, models: ModelServer) -> None:
    models.reply("The first answer.", match=asking("try"))
    open_chat(page, person, "try")
    reply = last_reply(page)
    reply.get_by_label("Regenerate with another model").click()
    choice = reply.get_by_role("button", name=re.compile("scripted-model"))
    expect(choice).to_contain_text("this reply")
    assert not scrolls_sideways(page)
    models.reply("The second answer.", match=asking("try"))
    choice.click()
    expect(last_reply(page)).to_contain_text("The second answer.")
    expect(last_reply(page).locator(".answered-by")).to_have_text("scripted-model")
    expect(last_reply(page).locator(".versions")).to_contain_text("2/2")


def test_the_menu_of_models_is_closed_by_escape_and_the_focus_stays(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    open_chat(desktop, person, "try")
    summary = last_reply(desktop).get_by_label("Regenerate with another model")
    summary.focus()
    desktop.keyboard.press("Enter")
    expect(last_reply(desktop).get_by_role("button", name=re.compile("scripted-model"))).to_be_visible()
    desktop.keyboard.press("Tab")
    desktop.keyboard.press("Escape")
    expect(last_reply(desktop).get_by_role("button", name=re.compile("scripted-model"))).to_be_hidden()
    expect(summary).to_be_focused()


def test_a_chat_is_branched_and_leads_back(person: Person, page: Page, models: ModelServer) -> None:
    models.reply("The first answer.", match=asking("one"))
    models.reply("The second answer.", match=asking("two"))
    open_chat(page, person, "one")
    last_reply(page)
    say(page, "two")
    expect(last_reply(page, 2)).to_contain_text("The second answer.")
    origin = page.url
    page.locator(".reply").first.get_by_role("button", name="Branch into a new chat").click()
    page.wait_for_url(lambda url: url != origin)
    expect(page.locator("#messages")).to_contain_text("The first answer.")
    expect(page.locator("#messages")).not_to_contain_text("The second answer.")
    expect(composer(page)).to_be_visible()
    models.reply("Another way.", match=asking("three"))
    say(page, "three")
    expect(last_reply(page, 2)).to_contain_text("Another way.")
    page.locator(".branched a").click()
    page.wait_for_url(re.compile(re.escape(origin)))
    expect(page.locator("#messages")).to_contain_text("The second answer.")


def test_a_temporary_chat_outlives_a_reload_and_is_gone_when_left(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    models.reply("Nobody will know.", match=lambda asked: "a secret plan" in asked.text)
    person.sign_in(desktop)
    desktop.goto("/")
    desktop.get_by_role("link", name="Temporary chat").click()
    expect(desktop.get_by_role("note")).to_contain_text("never remembered")
    expect(desktop.get_by_label("Memory of this chat")).to_have_count(0)
    composer(desktop).fill("a secret plan")
    assert desktop.evaluate("Object.values(localStorage).join()").find("secret") < 0
    desktop.get_by_role("button", name="Send", exact=True).click()
    desktop.wait_for_url("**/chat/*-*/")
    expect(last_reply(desktop)).to_contain_text("Nobody will know.")
    address = desktop.url
    assert not scrolls_sideways(desktop)
    desktop.reload()
    expect(last_reply(desktop)).to_contain_text("Nobody will know.")
    expect(desktop.locator("#chat-list")).not_to_contain_text("secret")
    desktop.wait_for_timeout(12_000)  # longer than the grace of a page that is gone
    expect(desktop.get_by_role("button", name="Close and delete")).to_be_visible()
    with person.client() as client:
        assert client.get(f"{address}heading/").status_code == 200, "the page that was loaded again holds it"
    desktop.get_by_role("button", name="Close and delete").click()
    desktop.wait_for_url("/")
    with person.client() as client:
        assert client.get(address).status_code == 404


def test_leaving_a_temporary_chat_deletes_it(person: Person, desktop: Page, models: ModelServer) -> None:
    person.sign_in(desktop)
    desktop.goto("/?temporary=1")
    say(desktop, "a secret plan")
    desktop.wait_for_url("**/chat/*-*/")
    address = desktop.url
    last_reply(desktop)
    desktop.get_by_role("link", name="Memory", exact=True).click()
    desktop.wait_for_url("**/memory/**")

    def is_gone() -> bool:
        with person.client() as client:
            # Asked for what opens no page.
            return client.get(f"{address}heading/").status_code == 404

    ends = time.monotonic() + 60
    while not is_gone():
        assert time.monotonic() < ends, "It is still there."
        desktop.wait_for_timeout(500)


# Stands in for the browser's own, which shows nothing without a screen.
NOTIFICATION = """
window.asked = 0;
window.shown = [];
window.Notification = class {
  static permission = localStorage.getItem("granted") ? "granted" : "default";
  static requestPermission() {
    window.asked += 1;
    localStorage.setItem("granted", "1");
    window.Notification.permission = "granted";
    return Promise.resolve("granted");
  }
  constructor(title, options) { window.shown.push(`${title}: ${options.body}`); }
};
window.looksAway = (away) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => away });
  document.dispatchEvent(new Event("visibilitychange"));
};
"""


def test_the_title_tells_of_a_reply_and_a_long_one_is_notified_if_that_was_allowed(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    desktop.add_init_script(NOTIFICATION)
    person.sign_in(desktop)
    for path in ("/", "/settings/profile/", "/memory/"):
        desktop.goto(path)
        assert desktop.evaluate("window.asked") == 0, "a page asked by itself"
    desktop.goto("/settings/profile/")
    switch = desktop.get_by_role("checkbox", name="Notify me in this browser")
    expect(switch).not_to_be_checked()
    switch.check()
    expect(switch).to_be_checked()
    assert desktop.evaluate("window.asked") == 1
    desktop.reload()
    expect(switch).to_be_checked()
    gate = models.gated("One two three", after=1, match=asking("take your time"))
    open_chat(desktop, person, "take your time")
    expect(desktop).to_have_title(re.compile("^… "))
    desktop.evaluate("window.looksAway(true)")
    # A minute passes.
    desktop.evaluate("() => { const now = Date.now; Date.now = () => now() + 60_000; }")
    gate.release()
    expect(desktop).to_have_title(re.compile("^✓ "))
    desktop.wait_for_function("window.shown.length === 1")
    assert "Reply finished: " in desktop.evaluate("window.shown[0]")
    assert "three" not in desktop.evaluate("window.shown[0]")
    desktop.evaluate("window.looksAway(false)")
    expect(desktop).not_to_have_title(re.compile("^[…✓]"))


def test_nobody_is_notified_who_did_not_allow_it(person: Person, desktop: Page, models: ModelServer) -> None:
    desktop.add_init_script(NOTIFICATION + "Notification.permission = 'granted';")
    gate = models.gated("One two three", after=1, match=asking("take your time"))
    open_chat(desktop, person, "take your time")
    expect(desktop).to_have_title(re.compile("^… "))
    desktop.evaluate("window.looksAway(true)")
    desktop.evaluate("() => { const now = Date.now; Date.now = () => now() + 60_000; }")
    gate.release()
    expect(desktop).to_have_title(re.compile("^✓ "))
    last_reply(desktop)
    assert desktop.evaluate("window.shown") == []
    assert desktop.evaluate("window.asked") == 0
