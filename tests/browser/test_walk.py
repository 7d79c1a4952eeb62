"""A walk over every page that a link leads to, at three widths in both themes: axe, scrolling, focus, shifts.

One page of each kind is looked at: numbers and dates in an address make no new kind. What a later version
adds is walked as soon as something links to it.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.chatting import asking, composer, last_reply, open_chat, say
from tests.browser.conftest import Person
from tests.modelserver import ModelServer

# All of axe once in each theme and at each end of the widths; else what can differ between them.
LOOKS = [(1440, "light", True), (360, "dark", True), (390, "light", False), (1440, "dark", False)]
VARYING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d|MEMORY_backup_[\d_-]+|\b\d+\b", re.IGNORECASE
)
# Files to fetch, and pages that belong to other hands.
NO_PAGES = ("/admin/", "/static/", ".json", ".md", ".zip", "/logout/")
START = ["/", "/settings/profile/", "/memory/"]

LINKS = """[...document.querySelectorAll('a[href]')].filter((link) => !link.hasAttribute('download'))
    .map((link) => new URL(link.getAttribute('href'), location).href)"""

# What takes the focus by keyboard and looks no different for it, nor does anything around it.
UNSEEN = """() => {
    const look = (place) => { const style = getComputedStyle(place); return [style.outlineStyle,
        style.outlineWidth, style.boxShadow, style.borderColor, style.transform, style.opacity].join(); };
    const around = (place) => { const looks = [];
        for (let at = place, up = 0; at && up < 6; at = at.parentElement, up++) looks.push(look(at));
        return looks.join('|'); };
    // As it is once every change of colour has come to its end.
    const settled = (place) => { around(place);
        for (const change of document.getAnimations()) { try { change.finish(); } catch { /* never ends */ } }
        return around(place); };
    const unseen = [], all = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
    for (const place of document.querySelectorAll(all)) {
        if (place.disabled || !place.checkVisibility({ visibilityProperty: true })) continue;
        document.activeElement?.blur();
        const before = settled(place);
        place.focus();
        const same = document.activeElement === place && settled(place) === before;
        if (same) unseen.push(place.outerHTML.slice(0, 120));
    }
    document.activeElement?.blur();
    return unseen;
}"""

WIDE = """() => [document.documentElement, ...document.querySelectorAll('#thread, #messages, main, .sheet')]
    .filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.outerHTML.slice(0, 60))"""


def kind(path: str) -> str:
    return VARYING.sub("*", path)


def pages(page: Page, start: list[str]) -> Iterator[str]:
    """The address of one page of each kind, each open when it is given."""
    waiting, known = list(start), {kind(path) for path in start}
    while waiting:
        path = waiting.pop(0)
        answer = page.goto(path)
        if answer is None or not answer.headers.get("content-type", "").startswith("text/html"):
            continue
        assert answer.ok, f"{path} answers {answer.status}"
        found = page.evaluate(LINKS)
        yield path
        home = urlsplit(page.url).netloc
        for address in map(urlsplit, found):
            same = address.netloc == home and not any(part in address.path for part in NO_PAGES)
            if same and kind(address.path) not in known:
                known.add(kind(address.path))
                waiting.append(address.path)


# Colours of the theme before may stand until the page is drawn once more.
DRAWN = "async () => { for (let at = 0; at < 3; at++) await new Promise(requestAnimationFrame); }"


def faults(page: Page, path: str, width: int, theme: str, whole: bool) -> list[str]:
    """What is wrong with the open page, looked at like this."""
    # Motion first: a sidebar on its way out is half hidden, and its labels with it.
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate(DRAWN)
    wrong = [f"{path} scrolls sideways: {each}" for each in page.evaluate(WIDE)]
    rules = None if whole else {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
    result = Axe().run(page, options=rules)
    if result.violations_count:
        wrong.append(f"{path}\n{result.generate_report()}")
    if whole:
        page.keyboard.press("Tab")  # from now on the focus is shown
        wrong += [f"{path} does not show the focus on {each}" for each in page.evaluate(UNSEEN)]
    return wrong


@pytest.fixture
def filled(admin: Person, desktop: Page, models: ModelServer) -> Person:
    """Somebody with a chat, memory, a log, a change and a backup."""
    folder = admin.oneclaw.data_dir / "memory" / admin.username
    (folder / "daily").mkdir(parents=True, exist_ok=True)
    text = "# Long-term Memory\n\n## Notes\n- [x] Keeps bees\n- User requested: Answer briefly\n"
    (folder / "MEMORY.md").write_text(text)
    (folder / "MEMORY_backup_2026-03-01_10-05-00.md").write_text(text.replace("bees", "hens"))
    (folder / "daily" / "2026-02-28.md").write_text(
        "# Daily Log - 2026-02-28\n\n- Chose **Lisbon**\n\n---\n\n"
    )
    rich = "# One\n\n## Two\n\n- [x] done\n\n|a|b|\n|-|-|\n|1|2|\n\n```python\nx = 1\n```\n\n> quoted"
    models.reply(rich, match=asking("walk"))
    open_chat(desktop, admin, "walk with me")
    last_reply(desktop)
    return admin


def test_every_page_is_whole(filled: Person, desktop: Page) -> None:
    seen, wrong = list[str](), list[str]()
    for path in pages(desktop, START):
        seen.append(kind(path))
        for width, theme, whole in LOOKS:
            found = faults(desktop, path, width, theme, whole)
            wrong += [f"{width} px, {theme}: {fault}" for fault in found]
        desktop.set_viewport_size({"width": 1440, "height": 800})
    assert not wrong, "\n\n".join(wrong)
    wanted = {"/chat/*/", "/memory/logs/*/", "/memory/history/*/", "/memory/file/", "/settings/agents/new/"}
    assert wanted <= set(seen), seen


def test_the_walk_finds_what_is_wrong(person: Person, desktop: Page) -> None:
    """A page with a fault of each kind: the walk is no walk if it passes them."""
    person.sign_in(desktop)
    desktop.goto("/settings/about/")
    assert faults(desktop, "about", 360, "dark", True) == []
    desktop.evaluate(
        """() => { const place = document.querySelector('.sheet');
            place.insertAdjacentHTML('beforeend', '<p id="pale">pale</p><p id="wide">w</p>');
            place.insertAdjacentHTML('beforeend', '<a href="/" id="blind">x</a>');
            pale.style.color = 'light-dark(#ddd, #333)'; wide.style.width = '3000px';
            blind.style.setProperty('outline', 'none', 'important'); }"""
    )
    wrong = "\n".join(faults(desktop, "about", 360, "dark", True))
    for words in ("scrolls sideways", "color-contrast", 'does not show the focus on <a href="/" id="blind"'):
        assert words in wrong


SHIFTS = """window.shift = 0; window.moved = [];
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => { window.shift += entry.value;
        window.moved.push(entry.value + ' ' + entry.sources.map((source) => source.node?.nodeName)); }))
    .observe({ type: 'layout-shift', buffered: true });"""


@pytest.mark.parametrize("lines", [3, 60])
def test_a_streamed_reply_moves_nothing(person: Person, page: Page, models: ModelServer, lines: int) -> None:
    """However long it is and whenever its words come: what is on the page stays where it is."""
    page.add_init_script(SHIFTS)
    text = "\n\n".join(f"Line {at} with some words in it." for at in range(lines))
    first = models.gated(text, after=8, match=asking("first"))
    open_chat(page, person, "first")
    expect(page.locator(".reply.live")).to_contain_text("Line 0")
    first.release()
    last_reply(page)
    second = models.gated(text, after=8, match=asking("second"))
    say(page, "second")
    expect(page.locator(".reply.live")).to_contain_text("Line 0")
    page.evaluate("window.shift = 0; window.moved = []")
    second.release()
    last_reply(page, 2)
    expect(composer(page)).to_be_editable()
    page.wait_for_load_state("load")
    assert page.evaluate("window.shift") < 0.01, page.evaluate("window.moved")


def test_a_shift_is_seen(person: Person, desktop: Page) -> None:
    """The measure measures."""
    desktop.add_init_script(SHIFTS)
    person.sign_in(desktop)
    desktop.goto("/settings/about/")
    desktop.evaluate("document.querySelector('main').style.paddingTop = '300px'")
    desktop.wait_for_function("window.shift > 0.01")
