"""The memory pages in a real browser: editing, conflicts, days, history, compaction, the index."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Person, make_admin, watched_page
from tests.modelserver import ModelServer
from tests.running import Running

TEXT = "# Long-term Memory\n\n## Preferences\n- Prefers trains\n- Likes tea\n\n## Notes\n- Owns a boat\n"
PAGES = [
    "/memory/",
    "/memory/logs/",
    "/memory/search/",
    "/memory/history/",
    "/memory/compaction/",
    "/memory/stats/",
]


def folder(person: Person) -> Path:
    found = person.oneclaw.data_dir / "memory" / person.username
    (found / "daily").mkdir(parents=True, exist_ok=True)
    return found


@pytest.fixture
def memory(person: Person) -> Path:
    """The person's MEMORY.md and two days of logs, as an outside editor would have left them."""
    found = folder(person)
    (found / "MEMORY.md").write_text(TEXT)
    (found / "daily" / "2026-02-27.md").write_text(
        "# Daily Log - 2026-02-27\n\n- Booked the dentist\n\n---\n\n"
    )
    (found / "daily" / "2026-02-28.md").write_text(
        "# Daily Log - 2026-02-28\n\n- Chose **Lisbon** for May\n\n---\n\n- Bought rye flour\n\n---\n\n"
    )
    return found


def test_the_file_is_edited_as_a_whole(page: Page, person: Person, memory: Path) -> None:
    person.sign_in(page)
    page.goto("/memory/")
    page.get_by_label("MEMORY.md", exact=True).fill(TEXT + "- Plays chess\n")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_text("Memory saved.")).to_be_visible()
    assert (memory / "MEMORY.md").read_text() == TEXT + "- Plays chess\n"


def test_an_outside_edit_is_merged_and_a_collision_shows_both(
    desktop: Page, person: Person, memory: Path
) -> None:
    person.sign_in(desktop)
    desktop.goto("/memory/")
    (memory / "MEMORY.md").write_text(TEXT.replace("tea", "cocoa"))
    desktop.get_by_label("MEMORY.md", exact=True).fill(TEXT.replace("tea", "coffee"))
    desktop.get_by_role("button", name="Save", exact=True).last.click()
    expect(desktop.get_by_text("review both versions")).to_be_visible()
    expect(desktop.get_by_label("Merged text")).to_have_value(
        TEXT.replace("- Likes tea\n", "- Likes coffee\n- Likes cocoa\n")
    )
    desktop.get_by_role("button", name="Save merged text").click()
    expect(desktop.get_by_text("Memory saved.")).to_be_visible()
    assert "- Likes coffee\n- Likes cocoa\n" in (memory / "MEMORY.md").read_text()


def test_unsaved_text_survives_a_closed_tab(desktop: Page, person: Person, memory: Path) -> None:
    person.sign_in(desktop)
    desktop.goto("/memory/")
    desktop.get_by_label("MEMORY.md", exact=True).fill(TEXT + "- Half a thought\n")
    desktop.goto("/memory/logs/")
    desktop.goto("/memory/")
    expect(desktop.get_by_label("MEMORY.md", exact=True)).to_have_value(TEXT + "- Half a thought\n")
    desktop.get_by_text("Discard it and show the file").click()
    expect(desktop.get_by_label("MEMORY.md", exact=True)).to_have_value(TEXT)


def test_one_entry_is_edited_in_its_place(page: Page, person: Person, memory: Path) -> None:
    person.sign_in(page)
    page.goto("/memory/")
    entry = page.locator(".entry", has_text="Likes tea")
    entry.get_by_label("Edit this entry").click()
    entry.get_by_label("What to remember").fill("Likes green tea")
    entry.get_by_role("button", name="Save").click()
    expect(page.locator(".entry", has_text="Likes green tea")).to_be_visible()
    expect(page.get_by_label("MEMORY.md", exact=True)).to_have_value(
        TEXT.replace("Likes tea", "Likes green tea")
    )
    assert "- Likes green tea\n" in (memory / "MEMORY.md").read_text()


def test_unsaved_text_outlives_the_saving_of_an_entry(desktop: Page, person: Person, memory: Path) -> None:
    person.sign_in(desktop)
    desktop.goto("/memory/")
    text = desktop.get_by_label("MEMORY.md", exact=True)
    text.fill(TEXT + "- Half a thought\n")
    entry = desktop.locator(".entry", has_text="Likes tea")
    entry.get_by_label("Edit this entry").click()
    entry.get_by_label("What to remember").fill("Likes green tea")
    entry.get_by_role("button", name="Save").click()
    expect(desktop.locator(".entry", has_text="Likes green tea")).to_be_visible()
    expect(text).to_have_value(TEXT + "- Half a thought\n")
    desktop.get_by_role("button", name="Save", exact=True).last.click()
    expect(desktop.get_by_text("Saved and merged with another change.")).to_be_visible()
    assert (memory / "MEMORY.md").read_text() == TEXT.replace("tea", "green tea") + "- Half a thought\n"


def test_a_day_is_found_in_the_calendar_read_and_an_entry_put_back(
    page: Page, person: Person, memory: Path
) -> None:
    person.sign_in(page)
    page.goto("/memory/logs/")
    page.get_by_role("link", name="Saturday, 28 February 2026").click()
    expect(page.get_by_text("Lisbon")).to_be_visible()
    page.locator("article", has_text="Lisbon").get_by_role("button", name="Delete entry").click()
    expect(page.get_by_text("1 entry removed")).to_be_visible()
    assert "Lisbon" not in (memory / "daily" / "2026-02-28.md").read_text()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("1 entry restored.")).to_be_visible()
    expect(page.get_by_role("article").filter(has_text="Lisbon")).to_be_visible()
    assert "Lisbon" in (memory / "daily" / "2026-02-28.md").read_text()


def test_the_open_tab_is_in_sight_on_a_phone(phone: Page, person: Person) -> None:
    person.sign_in(phone)
    phone.goto("/memory/stats/")
    expect(phone.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=0.9)
    phone.goto("/settings/")
    expect(phone).to_have_url(re.compile("/settings/profile/$"))


def test_search_answers_as_one_types_and_leads_to_the_place(page: Page, person: Person, memory: Path) -> None:
    person.sign_in(page)
    page.goto("/memory/search/")
    page.get_by_label("Search memory").press_sequentially("trip to Portugal")
    expect(page.locator(".hit").first).to_contain_text("Lisbon")
    page.get_by_role("link", name="Daily log 2026-02-28").first.click()
    expect(page).to_have_url(f"{person.oneclaw.url}/memory/logs/2026-02-28/")


def test_a_change_is_read_as_a_diff_and_undone(desktop: Page, person: Person, memory: Path) -> None:
    person.sign_in(desktop)
    desktop.goto("/memory/")
    desktop.get_by_label("MEMORY.md", exact=True).fill(TEXT.replace("- Owns a boat\n", ""))
    desktop.get_by_role("button", name="Save", exact=True).last.click()
    desktop.goto("/memory/history/")
    desktop.get_by_role("link", name="Edited").first.click()
    expect(desktop.locator("del")).to_contain_text("- Owns a boat")
    desktop.get_by_role("button", name="Undo this change").click()
    expect(desktop.get_by_text("Undone.")).to_be_visible()
    assert (memory / "MEMORY.md").read_text() == TEXT


def test_the_index_is_rebuilt_while_the_page_shows_it(desktop: Page, person: Person, memory: Path) -> None:
    person.sign_in(desktop)
    desktop.goto("/memory/stats/")
    desktop.get_by_role("button", name="Rebuild index").click()
    expect(desktop.locator("#rebuild")).to_contain_text("Last rebuilt", timeout=60_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_memory_page_is_accessible(page: Page, person: Person, memory: Path, scheme: str) -> None:
    person.sign_in(page)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    for path in [*PAGES, "/memory/logs/2026-02-28/"]:
        page.goto(path)
        found = Axe().run(page)
        assert found.violations_count == 0, f"{path}\n{found.generate_report()}"
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), f"{path} is too wide"


def test_duplicates_are_compacted_after_a_look_and_the_backup_brings_them_back(
    browser: Browser,
    start_oneclaw: Callable[..., Running],
    model_server: ModelServer,
    request: pytest.FixtureRequest,
) -> None:
    oneclaw = start_oneclaw(
        ONECLAW_PROVIDER="openai",
        ONECLAW_BASE_URL=model_server.base_url("openai"),
        ONECLAW_API_KEY="sk-test",
        ONECLAW_MODEL="scripted-model",
    )
    person = make_admin(oneclaw)
    doubled = TEXT.replace("- Prefers trains\n", "- Prefers trains\n- Prefers trains over planes\n")
    (folder(person) / "MEMORY.md").write_text(doubled)
    tidy = TEXT.replace("- Prefers trains\n", "- Prefers trains over planes\n")
    model_server.reply(tidy)
    for page in watched_page(browser, oneclaw, request, {"width": 360, "height": 740}):
        person.sign_in(page)
        page.goto("/memory/compaction/")
        page.get_by_role("button", name="Compact now").click()
        expect(page.get_by_role("heading", name="Proposed changes")).to_be_visible(timeout=30_000)
        assert (folder(person) / "MEMORY.md").read_text() == doubled
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_text("Compacted. A backup")).to_be_visible()
        assert "- Prefers trains\n" not in (folder(person) / "MEMORY.md").read_text()
        page.goto("/memory/history/")
        page.get_by_role("link", name="MEMORY_backup_").first.click()
        page.get_by_role("button", name="Restore this backup").click()
        expect(page.get_by_text("Restored.")).to_be_visible()
        assert (folder(person) / "MEMORY.md").read_text() == doubled
