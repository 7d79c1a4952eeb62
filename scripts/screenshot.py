"""Make the README's pictures: `.venv/bin/python -m scripts.screenshot` writes docs/*.png.

A real OneClaw with a week of made-up memory, a scripted model, and Chromium.
"""

import re
import tempfile
from datetime import date, timedelta
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.conftest import FLAGS, chromium, make_admin
from tests.modelserver import ModelServer
from tests.running import ROOT, Running, oneclaw

MEMORY = """\
# Long-term Memory

## User Profile
- Lives in Porto and works from home on Fridays

## Preferences
- Prefers trains over planes, and window seats
- Likes short answers with one concrete suggestion

## Projects
- Planning two weeks in Japan for the cherry blossom
"""
LOGS = {
    3: "- Compared rail passes for the trip to Japan: the regional one is enough for Kyoto, Nara and Osaka\n",
    9: "- The trip to Japan is in the last week of March; Mina joins from the 28th\n"
    "- The trip to Japan may cost 2,400 euros\n",
}
ASKED = "What should I book first for the trip to Japan?"
REPLY = """\
Book the **places to sleep in Kyoto** first: the last week of March is the busiest of the year there.

1. **Kyoto**, four nights, near the station, since you prefer trains
2. **Osaka** from the 28th, when Mina joins
3. The regional rail pass can wait: it is sold until the day before

Shall I draft a day-by-day plan within the 2,400 euros?
"""


def fill_memory(folder: Path) -> None:
    daily = folder / "memory" / "ada" / "daily"
    daily.mkdir(parents=True)
    (folder / "memory" / "ada" / "MEMORY.md").write_text(MEMORY)
    for days, text in LOGS.items():
        (daily / f"{date.today() - timedelta(days=days)}.md").write_text(text)


def chat(page: Page) -> None:
    # A search first: the embedding model is loaded then, and the reply has its memory.
    page.goto("/memory/search/?q=Japan")
    page.goto("/")
    page.get_by_role("textbox", name="Message", exact=True).fill(ASKED)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".reply:not(.live)")).to_contain_text("day-by-day", timeout=60_000)
    expect(page).to_have_title(re.compile("Booking Japan"), timeout=60_000)


def receipt(page: Page) -> None:
    page.get_by_role("link", name=re.compile("memor")).click()
    expect(page.get_by_role("dialog")).to_contain_text("About this message")
    page.mouse.move(0, 0)


def take(running: Running, folder: Path) -> None:
    person = make_admin(running)
    running.manage("memory", "rebuild", "--user", "ada")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(base_url=running.url, viewport={"width": 1200, "height": 760})
        person.sign_in(page)
        for name, show in (("screenshot", chat), ("receipt", receipt)):
            show(page)
            page.wait_for_timeout(1500)
            page.screenshot(path=folder / f"{name}.png")
        phone = browser.new_page(
            viewport={"width": 360, "height": 740}, color_scheme="dark", device_scale_factor=2
        )
        person.sign_in(phone)
        phone.goto(page.url)
        phone.screenshot(path=folder / "phone.png")
        browser.close()


def main() -> None:
    models = ModelServer()
    models.reply(REPLY, match=lambda asked: bool(asked.tool_names))
    models.default = "Booking Japan in spring"
    named = {
        "ONECLAW_PROVIDER": "openai",
        "ONECLAW_BASE_URL": models.base_url(),
        "ONECLAW_MODEL": "scripted-model",
    }
    with tempfile.TemporaryDirectory() as folder:
        fill_memory(Path(folder))
        with oneclaw(Path(folder), **named) as running:
            take(running, ROOT / "docs")
    models.close()


if __name__ == "__main__":
    main()
