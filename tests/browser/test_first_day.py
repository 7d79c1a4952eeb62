"""Day one without a key, on a phone: the starter answers, commands keep memory, a real model takes over."""

import re
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PASSWORD
from tests.modelserver import ModelServer
from tests.running import Running
from tests.running import oneclaw as running_oneclaw

TRIP = "Hi, I'm planning a trip to Lisbon in May and I prefer trains"
SUMMARY = "## Daily Summary\n- Plans a trip to Lisbon in May, by train\n\n## Long-term Facts\nNone\n"


@pytest.fixture(scope="module")
def oneclaw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """As it comes: nothing configured, so the starter is there."""
    folder = tmp_path_factory.mktemp("first-day")
    with running_oneclaw(folder, ONECLAW_STARTER="1", ONECLAW_DISCOVER="0") as running:
        running.wait_until(lambda: "is ready at" in running.log)
        yield running


def write(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def hear_enough(page: Page) -> None:
    """Until the answer has begun; the rest of what so small a model says is nobody's loss."""
    expect(page.locator(".reply .live-body, .reply .text").first).to_contain_text(
        re.compile(r"\w"), timeout=60_000
    )
    if page.locator(".reply.live").count():
        page.get_by_role("button", name="Stop the reply").click()
    expect(page.locator(".reply.live")).to_have_count(0)


def test_the_first_day(oneclaw: Running, phone: Page, model_server: ModelServer):
    # An account, and no provider.
    phone.goto("/")
    phone.locator("[name=username]").fill("ada")
    for field in phone.locator("[type=password]").all():
        field.fill(PASSWORD)
    phone.get_by_role("button", name="Create account").click()
    phone.wait_for_url("**/settings/providers/")
    expect(phone.get_by_text("For trying out only: add a real model")).to_be_visible()

    # The starter answers, and is called what it is.
    phone.goto("/")
    expect(phone.get_by_text("only a starter model: it makes things up")).to_be_visible()
    expect(phone.get_by_role("link", name="Add a provider")).to_be_visible()
    write(phone, TRIP)
    phone.wait_for_url("**/chat/*/")
    hear_enough(phone)

    # A command completes, keeps, and can be undone.
    field = phone.get_by_label("Message", exact=True)
    field.press_sequentially("/re")
    commands = phone.get_by_role("listbox", name="Commands").get_by_role("option")
    expect(commands).to_have_count(1)
    commands.tap()
    expect(field).to_have_value("/remember ")
    field.press_sequentially("I prefer trains over planes")
    phone.get_by_role("button", name="Send", exact=True).click()
    note = phone.locator(".command-note")
    expect(note).to_contain_text("Remembered.")
    expect(note.get_by_role("button", name="Undo")).to_be_visible()

    # Another chat has it in its receipt; leaving the first one wrote the log.
    phone.goto("/")
    write(phone, "Do I prefer trains or planes?")
    phone.wait_for_url("**/chat/*/")
    hear_enough(phone)
    phone.get_by_role("link", name=re.compile("memor(y|ies)$")).click()
    phone.get_by_text("Show what was sent", exact=True).click()
    expect(phone.get_by_role("dialog")).to_contain_text("I prefer trains over planes")

    day = datetime.now(ZoneInfo("Europe/Lisbon")).date().isoformat()
    log = oneclaw.data_dir / "memory" / "ada" / "daily" / f"{day}.md"
    oneclaw.wait_until(lambda: log.exists() and TRIP in log.read_text())
    phone.goto(f"/memory/logs/{day}/")
    expect(phone.get_by_text(f"“{TRIP}”")).to_be_visible()
    expect(phone.get_by_text("Highlights: your own sentences").first).to_be_visible()
    expect(phone.get_by_role("button", name=re.compile("Summarise with"))).to_have_count(0)

    # A real provider stops the starter, and summarises the day.
    phone.goto("/settings/providers/new/?template=custom")
    phone.locator("[name=name]").fill("Scripted")
    phone.locator("[name=base_url]").fill(model_server.base_url())
    phone.locator("[name=key]").fill("sk-scripted-0123456789")
    phone.get_by_role("button", name="Save and load models").click()
    phone.wait_for_url(re.compile(r"/settings/providers/\d+/"))
    oneclaw.wait_until(lambda: not oneclaw.model_server)
    for _ in range(4):
        model_server.reply(SUMMARY)
    phone.goto(f"/memory/logs/{day}/")
    phone.get_by_role("button", name=re.compile("Summarise with")).click()
    expect(phone.get_by_text("Plans a trip to Lisbon in May, by train").first).to_be_visible(timeout=30_000)
    expect(phone.get_by_text("Highlights: your own sentences")).to_have_count(0)
    phone.goto("/")
    expect(phone.get_by_text("only a starter model")).to_have_count(0)
