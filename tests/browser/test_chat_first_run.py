"""The first run: account, provider, first chat; and a chat that has no provider yet."""

import re
from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect

from tests.browser.chatting import composer, last_reply, say
from tests.browser.conftest import PASSWORD, PHONE
from tests.modelserver import ModelServer
from tests.running import Running


def set_up(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Username").fill("ada")
    page.locator("[name=password1]").fill(PASSWORD)
    page.locator("[name=password2]").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()


def test_from_nothing_to_the_first_answer(
    browser: Browser, start_oneclaw: Callable[..., Running], models: ModelServer
) -> None:
    fresh = start_oneclaw()
    page = browser.new_page(base_url=fresh.url, viewport=PHONE)  # type: ignore[arg-type]
    set_up(page)
    expect(page).to_have_url(re.compile("/settings/providers/"))
    page.goto("/")
    expect(page.get_by_text("No model yet.")).to_be_visible()
    say(page, "Hello?")
    page.wait_for_url("**/chat/**")
    expect(page.get_by_role("alert").first).to_contain_text(re.compile("provider|model", re.I))
    page.get_by_role("alert").get_by_role("link", name="Add a provider").click()
    page.get_by_role("link", name=re.compile("vLLM")).click()
    page.get_by_label("Address").fill(models.base_url("openai"))
    page.get_by_role("button", name="Save and load models").click()
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator("#outcome .banner.good")).to_be_visible()
    page.get_by_role("link", name="Start a chat").click()
    expect(page.locator(".suggestion")).to_have_count(3)
    page.locator(".suggestion").first.click()
    expect(composer(page)).to_have_value(re.compile("Remember"))
    composer(page).fill("Hello again")
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url("**/chat/**")
    expect(last_reply(page)).to_contain_text("Hello from the scripted model.")
    page.close()


def test_a_page_that_can_not_reach_the_server_says_so(
    browser: Browser, start_oneclaw: Callable[..., Running]
) -> None:
    fresh = start_oneclaw()
    page = browser.new_page(base_url=fresh.url, viewport=PHONE)  # type: ignore[arg-type]
    page.goto("/setup/")
    # Its `ready` is a promise that is never refused, and waiting for one has no limit.
    page.wait_for_function("navigator.serviceWorker.getRegistration().then((made) => Boolean(made?.active))")
    page.reload()
    fresh.stop()
    page.reload()
    expect(page.get_by_role("heading", name="OneClaw can't be reached")).to_be_visible()
    page.close()
