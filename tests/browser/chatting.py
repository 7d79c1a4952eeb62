"""What tests of the chat do again and again: sign in, say something, wait for the reply."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Person
from tests.modelserver import Recorded


def composer(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message", exact=True)


def say(page: Page, text: str) -> None:
    composer(page).fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def open_chat(page: Page, person: Person, text: str = "Hello") -> None:
    """A new chat with its first message sent."""
    person.sign_in(page)
    page.goto("/")
    say(page, text)
    page.wait_for_url("**/chat/*-*/")


def replies(page: Page) -> Locator:
    return page.locator(".reply:not(.live)")


def last_reply(page: Page, count: int = 1) -> Locator:
    """The newest finished reply, once there are so many."""
    expect(replies(page)).to_have_count(count)
    return replies(page).last


def scrolls_sideways(page: Page) -> bool:
    """Whether anything makes the page wider than its window."""
    wide: bool = page.evaluate(
        """() => ['html', '#thread', '#messages'].map((name) => document.querySelector(name))
            .some((box) => box && box.scrollWidth > box.clientWidth + 1)"""
    )
    return wide


def asking(text: str) -> Callable[[Recorded], bool]:
    """Fits the request for a reply to such a message; those for titles and summaries offer no tools."""
    return lambda asked: bool(asked.tool_names) and text in asked.text


COVERED = """() => {
    const toasts = [...document.querySelectorAll('.toast')].map((t) => t.getBoundingClientRect());
    const all = document.querySelectorAll('button, .button, textarea, select, .suggestion');
    const seen = [...all].filter((b) => !b.closest('.toast, #side')
        && b.checkVisibility({ opacityProperty: true }));
    // What has scrolled out of the thread is not under the toast above it.
    const top = (b) => Math.max(b.getBoundingClientRect().top,
        b.closest('#thread')?.getBoundingClientRect().top ?? 0);
    return seen.filter((b) => { const r = b.getBoundingClientRect();
        return r.width && toasts.some((t) => r.left < t.right && r.right > t.left && top(b) < t.bottom
            && r.bottom > t.top); }).map((b) => b.outerHTML.slice(0, 80)); }"""


def covered(page: Page) -> list[str]:
    """What can be pressed outside of the sidebar and lies under a toast."""
    found: list[str] = page.evaluate(COVERED)
    return found
