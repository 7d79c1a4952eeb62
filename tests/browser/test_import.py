"""An archive is looked at, imported, found and undone, on a phone and on a desktop, by keyboard too."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.connect import exports

PATIENCE = 120_000


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    turns = ("Our plumber is called Wendelin Krause", "Noted.")
    chats = [exports.branching(), exports.plain("c2", "House", *turns)]
    return exports.chatgpt(tmp_path / "export.zip", chats)


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_an_archive_comes_in_and_goes_out_again(oneclaw, person, size, request, archive):
    page: Page = request.getfixturevalue(size)
    person.sign_in(page)
    page.goto("/")
    page.get_by_role("link", name="Bring your chats").click()
    page.screenshot(path=SCREENSHOTS / f"import-{size}.png", full_page=True)
    # A phone makes its window as wide as what is in it: the width that it was given counts.
    assert page.viewport_size
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    page.get_by_label("Drop an export here, or choose a file").set_input_files(archive)
    page.get_by_role("button", name="Preview import").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 chats with 12 messages")).to_be_visible(timeout=PATIENCE)
    page.screenshot(path=SCREENSHOTS / f"import-preview-{size}.png", full_page=True)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("From ChatGPT came")).to_be_visible(timeout=PATIENCE)
    page.screenshot(path=SCREENSHOTS / f"import-done-{size}.png", full_page=True)
    page.goto("/chat/search/?q=Wendelin")
    expect(page.get_by_text("Wendelin Krause").first).to_be_visible()
    page.goto("/settings/data/")
    page.get_by_role("link", name="export.zip").click()
    page.get_by_role("button", name="Undo this import").click()
    expect(page.get_by_text("Undone: 2 chats")).to_be_visible(timeout=PATIENCE)
