"""The frame in a real browser: the user's menu, a sidebar that hides, choosing chats, toasts, directions."""

import re

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.browser.chatting import asking, composer, covered, last_reply, open_chat, scrolls_sideways
from tests.browser.conftest import Person, send_form
from tests.modelserver import ModelServer

LONG = "A rather long title of a chat that no sidebar in the world has the room to show as a whole"


def chats(person: Person, page: Page, *titles: str) -> None:
    """Chats with these titles, the first one on top; the page shows the list."""
    for at, title in enumerate(reversed(titles)):
        open_chat(page, person, f"number {at}")
        last_reply(page)
        with person.client() as client:
            address = page.url.removeprefix(person.oneclaw.url)
            send_form(client, f"{address}rename/", title=title)
    page.goto("/settings/profile/")


def box(place: Locator) -> FloatRect:
    found = place.bounding_box()
    assert found
    return found


def test_the_users_menu_has_settings_appearance_and_the_way_out(person: Person, desktop: Page) -> None:
    person.sign_in(desktop)
    desktop.emulate_media(color_scheme="light")
    desktop.goto("/")
    menu = desktop.locator(".user-menu")
    menu.locator("summary").focus()
    desktop.keyboard.press("Enter")
    # One line, however narrow: no word is broken into letters.
    assert box(menu.locator(".themes-row"))["height"] < 50
    assert box(menu.locator(".menu-body"))["width"] <= box(desktop.locator("#side"))["width"]
    colour = "getComputedStyle(document.body).color"
    light = desktop.evaluate(colour)
    with desktop.expect_response("**/people/theme/"):
        menu.get_by_role("button", name="Dark").click()
    assert desktop.evaluate(colour) != light
    expect(menu.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    expect(menu.get_by_role("button", name="System")).to_have_attribute("aria-pressed", "false")
    desktop.reload()
    assert desktop.evaluate(colour) != light
    menu.locator("summary").click()
    menu.get_by_role("link", name="Settings").click()
    expect(desktop).to_have_url(re.compile("/settings/profile/$"))
    expect(desktop.get_by_label("Theme")).to_have_value("dark")
    menu.locator("summary").click()
    menu.get_by_role("button", name="Log out").click()
    expect(desktop).to_have_url(re.compile("/login/"))


def test_the_sidebar_hides_stays_hidden_and_moves_nothing_on_the_next_page(
    person: Person, desktop: Page
) -> None:
    desktop.add_init_script(
        """window.shift = 0; new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
            window.shift += entry.value; })).observe({ type: 'layout-shift', buffered: true });"""
    )
    person.sign_in(desktop)
    desktop.goto("/")
    side = desktop.locator("#side")
    side.get_by_role("button", name="Hide sidebar").click()
    expect(side).to_be_hidden()
    expect(desktop.get_by_role("button", name="Show sidebar")).to_be_focused()
    for path in ("/settings/profile/", "/memory/", "/"):
        desktop.goto(path)
        expect(side).to_be_hidden()
        middle = box(desktop.locator(".sheet, .composer"))
        assert abs(middle["x"] + middle["width"] / 2 - 720) < 12
        # A sidebar that went only after the page was drawn would move a fifth of it.
        assert desktop.evaluate("window.shift") < 0.05
    # The key works in the middle of a sentence too, and takes nothing from it.
    composer(desktop).fill("half a thought")
    desktop.keyboard.press("Control+b")
    expect(side).to_be_visible()
    expect(composer(desktop)).to_be_focused()
    expect(composer(desktop)).to_have_value("half a thought")
    desktop.keyboard.press("Control+b")
    desktop.keyboard.press("Control+k")
    expect(desktop.get_by_role("searchbox")).to_be_focused()


def test_a_hidden_sidebar_is_still_a_drawer_on_a_phone(person: Person, phone: Page) -> None:
    person.sign_in(phone)
    phone.context.add_cookies([{"name": "sidebar", "value": "hidden", "url": person.oneclaw.url}])
    phone.goto("/")
    phone.get_by_role("link", name="Menu", exact=True).click()
    expect(phone.locator("#side")).to_be_visible()
    expect(phone.get_by_role("button", name="Hide sidebar")).to_be_hidden()


def test_with_reduced_motion_the_drawer_goes_with_all_that_is_in_it(person: Person, desktop: Page) -> None:
    """A transition of its own for every element hid them one by one, the label before its box."""
    person.sign_in(desktop)
    desktop.emulate_media(reduced_motion="reduce")
    desktop.goto("/settings/about/")
    desktop.set_viewport_size({"width": 360, "height": 800})
    left = """async () => { await new Promise(requestAnimationFrame); const shown = [];
        for (const place of document.querySelectorAll('#side, #side *'))
            if (getComputedStyle(place).visibility === 'visible') shown.push(place.outerHTML.slice(0, 60));
        return shown; }"""
    assert desktop.evaluate(left) == []


def test_chats_are_counted_as_they_are_chosen_and_all_at_once(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    chats(person, desktop, "One", "Two", "Three")
    desktop.get_by_label("Select chats").check()
    batch = desktop.locator("#batch")
    expect(batch).to_contain_text("0 selected")
    expect(batch.get_by_role("button", name="Delete")).to_be_disabled()
    assert box(batch.get_by_role("button", name="Archive"))["height"] < 50
    desktop.locator(".session-link").first.click()
    expect(desktop).to_have_url(re.compile("/settings/profile/$"))
    expect(batch).to_contain_text("1 selected")
    batch.get_by_label("All").check()
    expect(batch).to_contain_text("3 selected")
    desktop.locator(".pick").first.uncheck()
    expect(batch).to_contain_text("2 selected")
    desktop.keyboard.press("Escape")
    expect(desktop.get_by_label("Select chats")).not_to_be_checked()
    expect(desktop.locator(".pick:checked")).to_have_count(0)
    desktop.get_by_label("Select chats").check()
    batch.get_by_label("All").check()
    batch.get_by_role("button", name="Archive").click()
    expect(desktop.locator("#sidebar .session")).to_have_count(0)


def test_the_field_of_a_rename_has_the_row(person: Person, page: Page, models: ModelServer) -> None:
    chats(person, page, LONG)
    if page.get_by_role("link", name="Menu", exact=True).is_visible():
        page.get_by_role("link", name="Menu", exact=True).click()
    row = page.locator("#sidebar .session").first
    row.hover()
    row.locator("summary").click()
    row.get_by_role("link", name="Rename").click()
    field = page.get_by_role("textbox", name="Title")
    expect(field).to_be_focused()
    assert box(field)["width"] > 0.9 * box(page.locator("#sidebar .session").first)["width"]


def test_the_button_of_a_row_never_covers_its_title(person: Person, page: Page, models: ModelServer) -> None:
    chats(person, page, LONG)
    if page.get_by_role("link", name="Menu", exact=True).is_visible():
        page.get_by_role("link", name="Menu", exact=True).click()
    row = page.locator("#sidebar .session").first
    free = """row => { const title = row.querySelector('.session-title');
        const inside = title.getBoundingClientRect().right - parseFloat(getComputedStyle(title).paddingRight);
        return row.querySelector('summary').getBoundingClientRect().left - inside; }"""
    row.hover()
    assert row.evaluate(free) >= 0
    page.mouse.move(0, 0)
    row.locator("summary").focus()
    assert row.evaluate(free) >= 0
    row.locator("summary").press("Enter")
    assert row.evaluate(free) >= 0


RIGHT_TO_LEFT = "`git push` يرسل التغييرات\n\n- خبز\n- ماء\n\n1. أول\n2. ثان\n\n|اسم|عمر|\n|-|-|\n|سارة|30|\n"


def test_words_from_right_to_left_keep_their_side(person: Person, page: Page, models: ModelServer) -> None:
    models.reply(RIGHT_TO_LEFT, match=asking("شكرا"))
    open_chat(page, person, "شكرا")
    prose = last_reply(page).locator(".prose")
    direction = "place => getComputedStyle(place).direction"
    # Code comes first in the line and decides nothing.
    assert prose.locator("p").first.evaluate(direction) == "rtl"
    assert prose.locator("code").evaluate(direction) == "ltr"
    column = box(prose)
    for kind in ("ul", "ol"):
        assert prose.locator(kind).evaluate(direction) == "rtl"
        item = box(prose.locator(f"{kind} li").first)
        # The mark stands at the right of its item, and there is room for it within the column.
        assert item["x"] + item["width"] <= column["x"] + column["width"] - 16
        assert item["x"] <= column["x"] + 1
    # The first column is the one at the right, and a number stands under its heading.
    first, second = box(prose.locator("th").first), box(prose.locator("th").last)
    assert first["x"] > second["x"]
    assert prose.locator("td").last.evaluate("cell => getComputedStyle(cell).textAlign") == "right"


@pytest.mark.parametrize("path", ["/settings/profile/", "/memory/"])
def test_a_toast_stands_above_the_content_and_covers_no_button(person: Person, page: Page, path: str) -> None:
    person.sign_in(page)
    page.emulate_media(reduced_motion="no-preference")
    page.goto(path)
    if path == "/memory/":
        page.get_by_text("Add an entry").click()
        page.get_by_label("What to remember").first.fill("Keeps bees")
        page.get_by_role("button", name="Add", exact=True).click()
    else:
        page.get_by_role("button", name="Save").click()
    toast = page.locator(".toast")
    expect(toast).to_be_visible()
    content, shown = box(page.locator(".sheet")), box(toast)
    assert abs(content["x"] + content["width"] / 2 - shown["x"] - shown["width"] / 2) < 3
    assert covered(page) == []


SEEN = """() => { const bars = [...document.querySelectorAll('.top, .toasts')];
    const foot = Math.max(...bars.map((bar) => bar.getBoundingClientRect().bottom), 0);
    return [...document.querySelectorAll('main :is(button, .button, input, select)')].flatMap((each, at) =>
        each.checkVisibility() && each.getBoundingClientRect().top >= foot ? [at] : []); }"""


def test_a_toast_that_comes_later_pushes_down_what_is_read(person: Person, page: Page) -> None:
    person.sign_in(page)
    page.set_viewport_size({"width": page.viewport_size["width"], "height": 400})  # type: ignore[index]
    page.goto("/settings/connections/")
    page.evaluate("scrollTo(0, 150)")
    before = page.evaluate(SEEN)
    page.evaluate("document.querySelector('#toasts').innerHTML = '<div class=toast><span>New</span></div>'")
    assert page.locator(".toast").is_visible()
    assert page.evaluate(SEEN) == before
    assert page.evaluate("scrollY") == 150


def test_a_wrong_password_and_a_taken_name_lead_to_their_fields(admin: Person, desktop: Page) -> None:
    admin.sign_in(desktop)
    desktop.goto("/settings/password/")
    fields = desktop.locator("input[type=password]")
    for at, word in enumerate(("not it at all", "quite another horse", "quite another horse")):
        fields.nth(at).fill(word)
    fields.last.press("Enter")
    expect(desktop.locator("[aria-invalid=true]").first).to_be_focused()
    desktop.goto("/settings/people/")
    desktop.get_by_label("Username").fill(admin.username)
    for field in desktop.locator("input[type=password]").all():
        field.fill("quite another horse")
    desktop.locator("input[type=password]").last.press("Enter")
    expect(desktop.locator("[aria-invalid=true]").first).to_be_focused()


def test_a_reply_reads_well_and_all_pages_begin_at_one_edge(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    text = "# One\n\n## Two\n\n### Three\n\n#### Four\n\n- [x] Done\n- [ ] To do\n"
    models.reply(text, match=asking("headings"))
    open_chat(desktop, person, "headings")
    reply = last_reply(desktop)
    size = "place => parseFloat(getComputedStyle(place).fontSize)"
    sizes = [
        reply.get_by_role("heading", name=name).evaluate(size) for name in ("One", "Two", "Three", "Four")
    ]
    assert sizes == sorted(set(sizes), reverse=True)
    # A tick is drawn in the box that is done, and in no other.
    tick = "box => getComputedStyle(box, '::after').content !== 'none'"
    assert reply.get_by_role("img", name="done").evaluate(tick)
    assert not reply.get_by_role("img", name="to do").evaluate(tick)
    question = box(desktop.locator(".message.user .text"))
    assert box(reply.locator(".prose"))["y"] - question["y"] - question["height"] <= 40
    edges = {round(box(place)["x"]) for place in (reply.locator(".prose"), desktop.locator(".composer-box"))}
    for path in ("/settings/profile/", "/settings/about/", "/memory/", "/memory/stats/"):
        desktop.goto(path)
        edges.add(round(box(desktop.locator(".tabs"))["x"]))
    assert len(edges) == 1, edges


def letters(place: Locator) -> float:
    """How much room a picker has for its words, in pixels."""
    wide: float = place.evaluate(
        """(field) => {
            const style = getComputedStyle(field);
            return field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        }"""
    )
    return wide


def test_the_pickers_of_the_composer_can_be_read_on_a_phone(
    person: Person, phone: Page, models: ModelServer
) -> None:
    gate = models.gated("One two three", after=1, match=asking("slowly"))
    open_chat(phone, person, "slowly")
    agent, model = phone.get_by_label("Agent", exact=True), phone.get_by_label("Model", exact=True)
    send = phone.get_by_role("button", name="Send", exact=True)
    # One agent is no choice; Stop takes the place of Send until something is typed.
    expect(phone.get_by_role("button", name="Stop the reply")).to_be_visible()
    expect(agent).to_be_hidden()
    expect(send).to_be_hidden()
    assert letters(model) > 80
    composer(phone).fill("And then?")
    expect(send).to_be_visible()
    assert letters(model) > 60
    composer(phone).fill("")
    gate.release()
    last_reply(phone)
    expect(send).to_be_visible()
    with person.client() as client:
        send_form(client, "/settings/agents/new/", name="Gardener", reads_memory="on", writes_memory="on")
    phone.reload()
    expect(agent).to_be_visible()
    assert min(letters(agent), letters(model)) > 50
    assert not scrolls_sideways(phone)
