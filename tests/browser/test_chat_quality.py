"""Accessible in both themes, light to load, and whole whatever is written into it."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Response, expect

from tests.browser.chatting import asking, composer, last_reply, open_chat, say, scrolls_sideways
from tests.browser.conftest import Person
from tests.modelserver import ModelServer

RICH = """\
# Heading

Text with `code`, a [link](https://example.org) and **bold**.

- [x] done
- [ ] to do

| a | b |
|---|---|
| 1 | 2 |

```python
# a comment
class Thing(Base):
    name: str = "text %s" % 42
```

> quoted"""

BUDGET = 150_000
LOOKS = [("phone", "dark"), ("desktop", "light")]


def faults(page: Page) -> str:
    result = Axe().run(page)
    return "" if result.violations_count == 0 else f"{page.url}\n{result.generate_report()}"


@pytest.mark.parametrize(("page", "theme"), LOOKS, indirect=["page"])
def test_the_chat_has_no_accessibility_faults(
    person: Person, page: Page, models: ModelServer, theme: str
) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    models.tool_calls(("save_memory", {"content": "Likes trains"}), match=asking("show all"))
    models.thinking("Well, well.", RICH, match=asking("show all"))
    models.error(401, match=asking("and fail"))
    person.sign_in(page)
    page.goto("/")
    found = [faults(page)]
    say(page, "/remember I like night trains")
    expect(page.get_by_text("Remembered.")).to_be_visible()
    say(page, "show all night trains that I like")
    page.wait_for_url("**/chat/**")
    last_reply(page)
    say(page, "and fail")
    expect(page.get_by_role("alert").first).to_be_visible()
    for fold in page.locator(".fold > summary").all():
        fold.click()
    found.append(faults(page))
    page.get_by_role("link", name="1 memory").first.click()
    expect(page.get_by_role("dialog", name="Memory in this reply")).to_be_visible()
    page.get_by_role("dialog").locator("ol.recalled summary", has_text="Edit").first.click()
    found.append(faults(page))
    page.keyboard.press("Escape")
    if page.get_by_role("link", name="Menu", exact=True).is_visible():
        page.get_by_role("link", name="Menu", exact=True).click()
        expect(page.get_by_role("searchbox")).to_be_in_viewport()
        found.append(faults(page))
    assert not any(found), "\n".join(found)


@pytest.mark.parametrize(("page", "theme"), LOOKS, indirect=["page"])
def test_the_log_in_has_no_accessibility_faults(admin: Person, page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    page.goto("/login/")
    assert not faults(page)
    assert not scrolls_sideways(page)


@pytest.mark.parametrize(("page", "theme"), LOOKS, indirect=["page"])
def test_what_a_chat_can_do_besides_has_no_accessibility_faults(
    person: Person, page: Page, models: ModelServer, theme: str
) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    open_chat(page, person, "weigh up")
    last_reply(page).get_by_label("Regenerate with another model").click()
    expect(last_reply(page).locator(".menu-list")).to_be_visible()
    found = [faults(page)]
    assert not scrolls_sideways(page)
    last_reply(page).get_by_role("button", name="Branch into a new chat").click()
    expect(page.locator(".branched")).to_be_visible()
    found.append(faults(page))
    for path in ("/settings/usage/", f"{page.url}usage/", "/memory/new/?text=A+ferry", "/?temporary=1"):
        page.goto(path)
        found.append(faults(page))
        assert not scrolls_sideways(page), path
    say(page, "not for long")
    page.wait_for_url("**/chat/*-*/")
    last_reply(page)
    found.append(faults(page))
    assert not scrolls_sideways(page)
    assert not any(found), "\n".join(found)


def test_pages_are_light_and_do_not_shift(person: Person, desktop: Page, models: ModelServer) -> None:
    desktop.add_init_script(
        """window.shift = 0; new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
            window.shift += entry.value; })).observe({ type: 'layout-shift', buffered: true });"""
    )
    models.reply(RICH, match=asking("weigh"))
    open_chat(desktop, person, "weigh")
    last_reply(desktop)
    chat = desktop.url
    sizes: list[int] = []

    def weigh(answer: Response) -> None:
        if answer.request.resource_type not in ("image", "font", "eventsource"):
            size = answer.request.sizes()
            sizes.append(size["responseBodySize"] + size["responseHeadersSize"])

    for address in ("/", chat, "/settings/profile/", "/memory/"):
        fresh = desktop.context.browser.new_context(  # type: ignore[union-attr]
            base_url=desktop.url, storage_state=desktop.context.storage_state(), service_workers="block"
        )
        tab = fresh.new_page()
        sizes.clear()
        tab.on("response", weigh)
        tab.goto(address)
        tab.wait_for_load_state("load")
        assert sum(sizes) < BUDGET, f"{address} weighs {sum(sizes)}"
        fresh.close()
    desktop.goto(chat)
    desktop.wait_for_load_state("load")
    assert desktop.evaluate("window.shift") < 0.02


REFUSED = """Object.defineProperty(window, "localStorage", {
    get() { throw new DOMException("The person does not allow it.", "SecurityError"); },
});"""


def test_a_browser_that_keeps_nothing_breaks_nothing(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    desktop.add_init_script(REFUSED)
    open_chat(desktop, person, "Hello")
    last_reply(desktop)
    say(desktop, "Once more")
    last_reply(desktop, count=2)
    expect(composer(desktop)).to_have_value("")
    desktop.goto("/memory/file/")
    desktop.get_by_label("MEMORY.md", exact=True).fill("# Long-term Memory\n\n- Plays chess\n")
    desktop.get_by_role("button", name="Save", exact=True).last.click()
    expect(desktop.get_by_text("Memory saved.")).to_be_visible()


NASTY = {
    "script": "<script>window.hurt = 1</script>",
    "svg": "<svg onload='window.hurt = 1'><a xlink:href='javascript:window.hurt=1'>x</a></svg>",
    "image": "<img src=x onerror='window.hurt = 1'> ![x](https://tracker.example/pixel.png)",
    "link": "[click](javascript:window.hurt=1) <javascript:window.hurt=1>",
    "right to left": "\u202eمرحبا بالعالم \u2067שלום\u2069 end",
    "zero width": "a\u200b\u200c\u200d\ufeffb" * 50,
    "long line": "x" * 100_000,
    "wide table": "|" + " column |" * 60 + "\n|" + "---|" * 60 + "\n|" + " cell |" * 60,
    "deep": "> " * 200 + "deep",
}


def test_bad_input_is_shown_as_text_and_the_layout_holds(
    person: Person, phone: Page, models: ModelServer
) -> None:
    """Each text is a message, a title, a tool's argument and a reply."""
    for number, (name, text) in enumerate(NASTY.items(), start=1):
        models.scripts.clear()
        models.tool_calls(
            ("get_current_time", {"time_zone": text}), match=lambda asked: bool(asked.tool_names)
        )
        models.default = text
        open_chat(phone, person, text)
        last_reply(phone)
        phone.locator(".fold > summary").first.click()
        assert not scrolls_sideways(phone), name
        assert phone.evaluate("window.hurt") is None, name
        assert phone.locator("#messages :is(img, script, svg:not(.icon, [data-slot]))").count() == 0, name
        assert phone.locator("#messages [href^='javascript']").count() == 0, name
        phone.goto("/#side")
        expect(phone.locator(".session")).to_have_count(number)
        assert phone.evaluate(
            "(side => side.scrollWidth <= side.clientWidth)(document.querySelector('#side'))"
        )
