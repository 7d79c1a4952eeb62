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
