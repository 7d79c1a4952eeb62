"""The memory pages in a real browser: editing, conflicts, days, history, compaction, the index."""

import io
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browser.chatting import last_reply, open_chat
from tests.browser.conftest import Person, make_admin, watched_page
from tests.modelserver import ModelServer
from tests.running import Running

TEXT = "# Long-term Memory\n\n## Preferences\n- Prefers trains\n- Likes tea\n\n## Notes\n- Owns a boat\n"


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
    page.goto("/memory/file/")
    page.get_by_label("MEMORY.md", exact=True).fill(TEXT + "- Plays chess\n")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_text("Memory saved.")).to_be_visible()
    assert (memory / "MEMORY.md").read_text() == TEXT + "- Plays chess\n"


def test_an_outside_edit_is_merged_and_a_collision_shows_both(
    desktop: Page, person: Person, memory: Path
) -> None:
    person.sign_in(desktop)
    desktop.goto("/memory/file/")
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
    desktop.goto("/memory/file/")
    desktop.get_by_label("MEMORY.md", exact=True).fill(TEXT + "- Half a thought\n")
    desktop.goto("/memory/logs/")
    desktop.goto("/memory/file/")
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
    page.get_by_role("link", name="Markdown").click()
    expect(page.get_by_label("MEMORY.md", exact=True)).to_have_value(
        TEXT.replace("Likes tea", "Likes green tea")
    )
    assert "- Likes green tea\n" in (memory / "MEMORY.md").read_text()


def test_unsaved_text_outlives_the_saving_of_an_entry(desktop: Page, person: Person, memory: Path) -> None:
    person.sign_in(desktop)
    desktop.goto("/memory/file/")
    text = desktop.get_by_label("MEMORY.md", exact=True)
    text.fill(TEXT + "- Half a thought\n")
    desktop.get_by_role("link", name="Entries").click()
    entry = desktop.locator(".entry", has_text="Likes tea")
    entry.get_by_label("Edit this entry").click()
    entry.get_by_label("What to remember").fill("Likes green tea")
    entry.get_by_role("button", name="Save").click()
    expect(desktop.locator(".entry", has_text="Likes green tea")).to_be_visible()
    desktop.get_by_role("link", name="Markdown").click()
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
    expect(page.locator("#hits")).to_contain_text("28 February 2026")
    page.locator("#hits").get_by_role("link", name="Daily log").first.click()
    expect(page).to_have_url(f"{person.oneclaw.url}/memory/logs/2026-02-28/")


def test_a_change_is_read_as_a_diff_and_undone(desktop: Page, person: Person, memory: Path) -> None:
    person.sign_in(desktop)
    desktop.goto("/memory/file/")
    desktop.get_by_label("MEMORY.md", exact=True).fill(TEXT.replace("- Owns a boat\n", ""))
    desktop.get_by_role("button", name="Save", exact=True).last.click()
    desktop.goto("/memory/history/")
    desktop.get_by_role("link", name="Edited").first.click()
    expect(desktop.locator("del")).to_contain_text("- Owns a boat")
    desktop.get_by_role("button", name="Undo this change").click()
    expect(desktop.get_by_text("Undone.")).to_be_visible()
    assert (memory / "MEMORY.md").read_text() == TEXT


def test_a_row_of_the_history_shows_its_line_and_undoes_it(phone: Page, person: Person, memory: Path) -> None:
    person.sign_in(phone)
    phone.goto("/memory/")
    phone.get_by_text("Add an entry").click()
    phone.get_by_label("What to remember").first.fill("Plays chess")
    phone.get_by_role("button", name="Add", exact=True).click()
    expect(phone.locator(".entry", has_text="Plays chess")).to_be_visible()
    phone.goto("/memory/history/")
    row = phone.locator(".change").first
    expect(row.locator("ins")).to_contain_text("Plays chess")
    row.get_by_role("button", name="Undo").click()
    expect(phone.get_by_text("Undone.")).to_be_visible()
    assert "chess" not in (memory / "MEMORY.md").read_text()


def test_tabs_that_go_on_show_that_they_do(phone: Page, person: Person) -> None:
    person.sign_in(phone)
    phone.goto("/memory/")
    tabs = phone.locator(".tabs")
    assert tabs.evaluate("tabs => tabs.scrollWidth > tabs.clientWidth")
    first = tabs.screenshot()
    assert edge_is_shaded(first, "right")
    assert not edge_is_shaded(first, "left")
    tabs.evaluate("tabs => { tabs.scrollLeft = tabs.scrollWidth }")
    last = tabs.screenshot()
    assert edge_is_shaded(last, "left")
    assert not edge_is_shaded(last, "right")


def edge_is_shaded(picture: bytes, side: str) -> bool:
    """Whether the outermost column, above all words, has another colour than the middle."""
    with Image.open(io.BytesIO(picture)) as image:
        grey = image.convert("L")
        edge = grey.crop((0, 2, 1, 3) if side == "left" else (image.width - 1, 2, image.width, 3))
        middle = grey.crop((image.width // 2, 2, image.width // 2 + 1, 3))
        return abs(edge.tobytes()[0] - middle.tobytes()[0]) > 8


def test_the_index_is_rebuilt_while_the_page_shows_it(desktop: Page, person: Person, memory: Path) -> None:
    person.sign_in(desktop)
    desktop.goto("/memory/stats/")
    desktop.get_by_role("button", name="Rebuild index").click()
    expect(desktop.locator("#rebuild")).to_contain_text("Last rebuilt")


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
        page.locator("[aria-labelledby=backups-title] a").first.click()
        page.get_by_role("button", name="Restore this backup").click()
        expect(page.get_by_text("Restored.")).to_be_visible()
        assert (folder(person) / "MEMORY.md").read_text() == doubled


def report(person: Person, done: int, total: int) -> None:
    """Work in progress as another process tells it; with no total it has ended."""
    owner = "(SELECT id FROM people_user WHERE username = ?)"
    with closing(sqlite3.connect(person.oneclaw.data_dir / "db.sqlite3", timeout=60)) as database, database:
        database.execute(f"DELETE FROM memory_workinprogress WHERE owner_id = {owner}", [person.username])
        if total:
            values = [person.username, done, total, datetime.now(UTC).replace(tzinfo=None).isoformat(" ")]
            database.execute(
                "INSERT INTO memory_workinprogress (owner_id, key, label, page, done, total, moved_at) "
                f"VALUES ({owner}, 'import', 'Importing chats', 'memory:stats', ?, ?, ?)",
                values,
            )


def test_long_work_is_shown_on_every_page_until_it_ends(desktop: Page, person: Person) -> None:
    person.sign_in(desktop)
    asked = list[str]()
    desktop.on("request", lambda request: asked.append(request.url))
    desktop.goto("/settings/profile/")
    expect(desktop.locator("#work")).to_have_text("")
    report(person, 1, 4)
    desktop.goto("/")
    strip = desktop.locator("#work")
    expect(strip.get_by_role("link", name="Importing chats")).to_contain_text("1 of 4")
    report(person, 3, 4)
    expect(strip).to_contain_text("3 of 4")
    desktop.evaluate("window.place = document.querySelector('main').getBoundingClientRect().top")
    report(person, 0, 0)
    expect(strip).to_contain_text("Importing chats has ended")
    assert desktop.evaluate("document.querySelector('main').getBoundingClientRect().top === window.place")
    # Nothing runs any more, so nothing is asked any more.
    expect(strip).not_to_have_attribute("data-running", "")
    asked.clear()
    desktop.wait_for_timeout(2500)
    assert not [url for url in asked if url.endswith("/memory/work/")]
    strip.get_by_role("link").click()
    expect(desktop).to_have_url(re.compile("/memory/stats/$"))
    expect(desktop.locator("#work")).to_have_text("")


def test_a_hidden_page_does_not_ask_how_long_work_is(desktop: Page, person: Person) -> None:
    person.sign_in(desktop)
    report(person, 1, 4)
    desktop.goto("/settings/profile/")
    hide = "document.dispatchEvent(new Event('visibilitychange'))"
    desktop.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => window.away, configurable: true})"
    )
    asked = list[str]()
    desktop.evaluate(f"window.away = true; {hide}")
    desktop.on("request", lambda request: asked.append(request.url))
    desktop.wait_for_timeout(2500)
    assert not [url for url in asked if url.endswith("/memory/work/")]
    report(person, 2, 4)
    desktop.evaluate(f"window.away = false; {hide}")
    expect(desktop.locator("#work")).to_contain_text("2 of 4")


def test_a_day_summarised_again_tells_its_outcome_without_a_reload(
    page: Page, person: Person, models: ModelServer
) -> None:
    said = [
        "## Daily Summary\n- Chose a sleeper to Porto\n\n## Long-term Facts\nNone",
        "## Daily Summary\n- Chose the ferry\n\n## Long-term Facts\nNone",
    ]
    for words in said:
        models.reply(words, match=lambda asked: "Daily Summary" in asked.text)
    open_chat(page, person, "I take the sleeper to Porto")
    last_reply(page)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    logs = folder(person) / "daily"
    person.oneclaw.wait_until(lambda: any("sleeper" in log.read_text() for log in logs.glob("*.md")))
    page.goto("/memory/logs/")
    page.locator("#days-title + .rows a").first.click()
    expect(page.get_by_role("article")).to_contain_text("sleeper")
    page.get_by_role("button", name="Summarise this day again").click()
    page.evaluate("window.same = true")
    expect(page.get_by_text("This day was summarised again.")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("article")).to_contain_text("ferry")
    models.error(401, {"error": {"message": "bad key"}}, match=lambda asked: "Daily Summary" in asked.text)
    assert page.evaluate("window.same"), "the page was loaded again"
    page.get_by_role("button", name="Summarise this day again").click()
    expect(page.get_by_text("That didn't work")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("article")).to_contain_text("ferry")
