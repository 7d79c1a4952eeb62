"""What a person at a browser waits for: a real Chromium, a real web process, a model that answers at once.

It needs Playwright and a Chromium, as the tests do, and happens in a temporary folder.
"""

import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench.chatting import FILL, Model, free_port, prepare, web

if TYPE_CHECKING:
    from playwright.sync_api import Page

FLAGS = ("--no-sandbox", "--disable-background-networking", "--no-first-run")
# Everything said is indexed before the clock starts; there is no worker to do it.
SMALL = FILL.replace("chat(5000)", "chat(50)")
# Notes when Enter was pressed and when its answer's first word stood on the page, and how far anything moved.
CLOCK = """
    window.shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => { window.shift += entry.value; }))
        .observe({ type: "layout-shift", buffered: true });
    document.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        const word = event.target.value.split(" ").pop();
        const began = performance.now();
        const look = new MutationObserver(() => {
            const replies = [...document.querySelectorAll(".reply")];
            if (!replies.some((reply) => reply.textContent.includes(word))) return;
            look.disconnect();
            requestAnimationFrame(() => { window.waited = performance.now() - began; });
        });
        look.observe(document.body, { childList: true, subtree: true, characterData: true });
    }, true);
"""


@contextmanager
def chromium(url: str, login: str) -> "Iterator[Page]":
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        try:
            context = browser.new_context(base_url=url, viewport={"width": 1440, "height": 900})
            context.add_cookies([{"name": "sessionid", "value": login, "url": url}])
            context.add_init_script(CLOCK)
            yield context.new_page()
        finally:
            browser.close()


def first_load_kb(page: "Page") -> float:
    """A new chat for somebody who was never here, as it travels."""
    sizes: list[int] = []

    def weigh(answer: Any) -> None:
        size = answer.request.sizes()
        sizes.append(size["responseBodySize"] + size["responseHeadersSize"])

    page.on("response", weigh)
    page.goto("/")
    page.wait_for_load_state("networkidle")
    page.remove_listener("response", weigh)
    return sum(sizes) / 1024


def run(rounds: int = 15) -> dict[str, float]:
    """All measures, by name."""
    model = Model(thinks=0.0)
    with tempfile.TemporaryDirectory(prefix="oneclaw-bench-") as folder:
        filled = prepare(folder, SMALL, model.server_address[1], 20)
        port = free_port()
        with web(folder, port), chromium(f"http://127.0.0.1:{port}", filled["login"]) as page:
            found = {"first_load_kb": first_load_kb(page)}
            page.goto(f"/chat/{filled['chats'][0]}/")
            waits, shifts = [], []
            for number in range(rounds + 1):
                page.evaluate("window.waited = 0; window.shift = 0")
                page.keyboard.type(f"say word{number}x")
                page.keyboard.press("Enter")
                page.wait_for_function("() => window.waited > 0")
                waits.append(page.evaluate("window.waited"))
                page.wait_for_selector(f".reply:not(.live) >> text=word{number}x")
                shifts.append(page.evaluate("window.shift"))
    model.shutdown()
    # The first one loads what replies need.
    found |= {"enter_to_first_words_ms": statistics.median(waits[1:]), "layout_shift": max(shifts)}
    return {name: round(value, 3) for name, value in found.items()}
