"""Settings → Connections in a real browser: a token by keyboard, at phone and desktop width."""

import json

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Person


def test_a_token_is_made_by_keyboard_shown_once_and_revoked(person: Person, page: Page) -> None:
    person.sign_in(page)
    page.goto("/settings/connections/")
    page.get_by_role("textbox", name="Program").focus()
    page.keyboard.type("Claude Code")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    secret = page.get_by_label("Token", exact=True).input_value()
    assert secret.startswith("oc_")
    row = page.get_by_role("listitem").filter(has_text="Claude Code")
    expect(row).to_contain_text("Read and write")
    # The first program's configuration is open, with the token in it.
    shown = json.loads(page.locator("#claude-code-http").inner_text())
    assert shown["mcpServers"]["oneclaw"]["headers"] == {"Authorization": f"Bearer {secret}"}
    page.locator("summary").filter(has_text="VS Code").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#vs-code-http")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert Axe().run(page).violations_count == 0
    page.reload()
    assert secret not in page.content()
    expect(row).to_have_count(1)
    row.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("No tokens yet.")).to_be_visible()
