"""Set-up, log-in and profile in a real browser."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESKTOP, PASSWORD, PHONE, Person
from tests.running import Running


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_first_visit_makes_the_admin_account(
    browser: Browser, start_oneclaw: Callable[..., Running], size: dict[str, int]
) -> None:
    fresh = start_oneclaw()
    page = browser.new_page(base_url=fresh.url, viewport=size)  # type: ignore[arg-type]
    page.goto("/")
    expect(page).to_have_url(f"{fresh.url}/setup/")
    steps = page.get_by_role("list", name="Steps").get_by_role("listitem")
    expect(steps).to_have_text(["Account", "Provider", "First chat"])
    page.get_by_label("Username").fill("ada")
    page.locator("[name=password1]").fill("123")
    page.locator("[name=password2]").fill("123")
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_text("This password is too short")).to_be_visible()
    expect(page.get_by_label("Username")).to_have_value("ada")
    page.locator("[name=password1]").fill(PASSWORD)
    page.locator("[name=password2]").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page).not_to_have_url(re.compile("setup|login"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # Servers that are found on this machine are listed above the others, which then stand lower.
    expect(page.get_by_text("No other model servers found on this machine.")).to_be_visible()
    # What is asked for at a provider is all of the second step.
    page.get_by_role("link", name="OpenAI", exact=True).click()
    expect(page.get_by_label("API key")).to_be_visible()
    expect(steps).to_have_text(["Account", "Provider", "First chat"])
    expect(page.locator("[aria-current=step]")).to_have_text("Provider")
    page.close()


def test_a_wrong_password_is_said_and_the_right_one_leads_on(person: Person, page: Page) -> None:
    page.goto("/settings/password/")
    page.get_by_label("Username").fill(person.username)
    page.locator("[name=password]").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("Wrong username or password")).to_be_visible()
    page.get_by_label("Username").fill(person.username.upper())
    page.locator("[name=password]").fill(person.password)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(re.compile("/settings/password/$"))


def test_the_browser_reports_its_time_zone(person: Person, desktop: Page) -> None:
    person.sign_in(desktop)
    with desktop.expect_response("**/people/zone/") as answer:
        desktop.goto("/settings/profile/")
    assert answer.value.status == 204
    desktop.goto("/settings/profile/")
    expect(desktop.get_by_label("Time zone").locator("option:checked")).to_contain_text("Europe/Lisbon")


def test_the_theme_is_by_choice_and_else_by_the_system(person: Person, page: Page) -> None:
    person.sign_in(page)
    colour = "getComputedStyle(document.body).color"
    page.emulate_media(color_scheme="light")
    page.goto("/settings/profile/")
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colour)
    assert light != dark
    page.get_by_label("Theme").select_option("light")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert page.evaluate(colour) == light


def test_an_ended_session_leads_to_the_log_in_and_back(person: Person, page: Page) -> None:
    person.sign_in(page)
    page.goto("/settings/profile/")
    page.context.clear_cookies()
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile("/login/|/settings/profile/$"))


def new_link(page: Page) -> str:
    """The address that the people page just gave, as somebody would copy it."""
    shown = page.get_by_role("status", name="New link").get_by_role("textbox", name="Link")
    expect(shown).to_have_value(re.compile("/join/"))
    return shown.input_value()


def open_link(page: Page, address: str) -> Page:
    """The link in a browser that knows nothing of the one that made it."""
    assert page.context.browser
    other = page.context.browser.new_context(base_url=address).new_page()
    other.goto(address)
    return other


def choose_password(page: Page, password: str, button: str) -> None:
    for field in page.locator("input[type=password]").all():
        field.fill(password)
    page.get_by_role("button", name=button).click()
    expect(page).not_to_have_url(re.compile("/join/"))


def test_somebody_is_invited_by_link_and_comes_in(admin: Person, page: Page) -> None:
    admin.sign_in(page)
    page.goto("/settings/people/")
    page.get_by_role("button", name="Create link").click()
    address = new_link(page)
    expect(page.get_by_text("Open invitation")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    guest = open_link(page, address)
    name = f"guest{page.viewport_size['width']}" if page.viewport_size else "guest"
    guest.get_by_label("Username").fill(name)
    choose_password(guest, PASSWORD, "Create account")
    expect(guest.get_by_role("textbox", name="Message", exact=True)).to_be_visible()
    page.goto("/settings/people/")
    expect(page.locator(".person", has_text=name)).to_be_visible()
    expect(page.get_by_text("Open invitation")).to_have_count(0)
    guest.goto(address)
    expect(guest.get_by_text("Ask for a new one")).to_be_visible()
    guest.context.close()


def test_a_password_is_reset_by_link_and_an_account_is_disabled_and_enabled(
    admin: Person, person: Person, page: Page
) -> None:
    admin.sign_in(page)
    page.goto("/settings/people/")
    page.get_by_role("button", name=f"Reset the password of {person.username}", exact=True).click()
    theirs = open_link(page, new_link(page))
    expect(theirs.get_by_text(f"Choose a new password for {person.username}")).to_be_visible()
    choose_password(theirs, "another horse battery", "Save password")
    theirs.goto("/settings/profile/")
    expect(theirs.get_by_role("heading", name=person.username)).to_be_visible()

    page.goto("/settings/people/")
    page.get_by_role("button", name=f"Disable {person.username}", exact=True).click()
    row = page.locator(
        ".person", has=page.get_by_role("button", name=f"Enable {person.username}", exact=True)
    )
    expect(row.get_by_text("Disabled")).to_be_visible()
    theirs.reload()
    expect(theirs).to_have_url(re.compile("/login/"))
    row.get_by_role("button", name="Enable").click()
    expect(page.get_by_role("button", name=f"Disable {person.username}", exact=True)).to_be_visible()
    theirs.get_by_label("Username").fill(person.username)
    theirs.locator("[name=password]").fill("another horse battery")
    theirs.get_by_role("button", name="Log in").click()
    expect(theirs.get_by_role("heading", name=person.username)).to_be_visible()
    theirs.context.close()


def test_other_devices_are_signed_out_and_this_one_stays(person: Person, page: Page) -> None:
    other = open_link(page, f"{person.oneclaw.url}/login/")
    other.get_by_label("Username").fill(person.username)
    other.locator("[name=password]").fill(person.password)
    other.get_by_role("button", name="Log in").click()
    expect(other).not_to_have_url(re.compile("/login/"))
    person.sign_in(page)
    page.goto("/settings/profile/")
    page.get_by_role("button", name="Sign out my other devices").click()
    expect(page.locator(".toast")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name=person.username)).to_be_visible()
    other.goto("/settings/profile/")
    expect(other).to_have_url(re.compile("/login/"))
    other.context.close()
