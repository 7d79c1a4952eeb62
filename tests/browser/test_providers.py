"""An admin adds a provider, tries it, and sees what is wrong with it."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Person
from tests.modelserver import ModelServer

SECRET = "sk-browser-0123456789-wxyz"


@pytest.fixture
def admin_page(admin: Person, page: Page) -> Iterator[Page]:
    """The admin's page; the providers that a test adds are gone after it."""
    admin.sign_in(page)
    yield page
    with admin.client() as client:
        for number in re.findall(r"/settings/providers/(\d+)/", client.get("/settings/providers/").text):
            path = f"/settings/providers/{number}/"
            token = re.search(r'csrfmiddlewaretoken" value="([^"]+)"', client.get(path).text)
            assert token
            client.post(f"{path}delete/", data={"csrfmiddlewaretoken": token[1]})


def test_a_provider_is_added_and_tried(admin_page: Page, model_server: ModelServer) -> None:
    page = admin_page
    page.goto("/settings/providers/")
    page.get_by_role("link", name="Other").click()
    page.get_by_label("API key").fill(SECRET)
    page.get_by_label("Address").fill(model_server.url)
    model_server.error(401, {"error": {"message": f"wrong key {SECRET}"}}, match="models")
    page.get_by_role("button", name="Test connection").click()
    key = page.get_by_label("API key")
    expect(key).to_have_attribute("aria-invalid", "true")
    expect(key).to_be_focused()
    expect(key).to_have_value(SECRET)
    expect(page.get_by_text("rejected the API key")).to_be_visible()

    model_server.models += [f"spare-{number}" for number in range(20)]
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator("#outcome")).to_contain_text("It offers 22 models.")
    expect(key).not_to_have_attribute("aria-invalid", "true")
    expect(key).to_have_value(SECRET)
    expect(page.get_by_role("button", name="Test connection")).to_be_focused()
    page.get_by_label("Search 22 models").fill("SPARE 17")
    expect(page.locator("#picker-rows").get_by_role("checkbox")).to_have_count(1)
    page.get_by_label("Search 22 models").press("Enter")
    page.get_by_label("spare-17").uncheck()
    page.get_by_label("Name").fill("Workshop")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Workshop is ready, with 21 models.")).to_be_visible()
    expect(page.get_by_label("API key")).to_have_value("")
    assert SECRET not in page.content()

    model_server.models.append("third-model")
    page.get_by_role("link", name="Load models").click()
    page.get_by_label("third-model").check()
    page.get_by_role("button", name="Add selected").click()
    expect(page.locator("#models").get_by_role("link", name="third-model")).to_be_visible()
    assert SECRET not in page.content()

    page.goto("/")
    offered = page.get_by_label("Model", exact=True).locator("option").all_text_contents()
    names = [" ".join(name.split()) for name in offered]
    assert names.count("third-model · Workshop") == 1
    assert len(names) == len(set(names)), "a model is there twice"


def test_a_stored_provider_is_tested_as_the_form_says_and_nothing_is_stored(
    admin_page: Page, model_server: ModelServer
) -> None:
    page = admin_page
    page.goto("/settings/providers/new/")
    page.get_by_label("API key").fill(SECRET)
    page.get_by_label("Name").fill("Workshop")
    page.get_by_label("Address").fill(model_server.url)
    page.get_by_role("button", name="Save and load models").click()
    expect(page.get_by_text("Workshop is ready, with 2 models.")).to_be_visible()
    wrong = "sk-mistyped-9876543210"
    for asked in ("models", "the word OK"):
        model_server.error(401, {"error": {"message": "wrong key"}}, match=asked)
    page.get_by_label("API key").fill(wrong)
    page.get_by_role("button", name="Test connection").click()
    key = page.get_by_label("API key")
    expect(key).to_be_focused()
    expect(key).to_have_attribute("aria-invalid", "true")
    assert model_server.requests[-1].headers["authorization"] == f"Bearer {wrong}"
    page.reload()
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator("#outcome .banner.good")).to_be_visible()
    assert model_server.requests[-1].headers["authorization"] == f"Bearer {SECRET}"


def test_an_address_that_does_not_answer_is_shown_with_everything_typed(
    admin_page: Page, model_server: ModelServer
) -> None:
    page = admin_page
    model_server.close()
    page.goto("/settings/providers/new/")
    expect(page.get_by_label("Address")).to_be_focused()
    page.goto("/settings/providers/new/?template=openai")
    expect(page.get_by_label("Address")).to_be_hidden()
    expect(page.get_by_label("API key")).to_be_focused()
    page.keyboard.type(SECRET)
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_label("Address").fill(model_server.base_url())
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_role("button", name="Save and load models").click()
    expect(page.get_by_label("Address")).to_be_focused()
    expect(page.get_by_label("Address")).to_have_value(model_server.base_url())
    expect(page.get_by_label("API key")).to_have_value(SECRET)
    page.get_by_role("button", name="Save anyway").click()
    page.wait_for_url(re.compile(r"/settings/providers/\d+/"))
    expect(page.get_by_text("Test the connection before you use it.")).to_be_visible()


def test_a_wrong_address_is_said_on_the_form(admin_page: Page) -> None:
    admin_page.goto("/settings/providers/new/")
    admin_page.get_by_label("Name").fill("Wrong")
    admin_page.get_by_label("Address").fill("ftp://nowhere")
    admin_page.get_by_role("button", name="Save and load models").click()
    expect(admin_page.get_by_text("begins with http:// or https://")).to_be_visible()


def test_others_are_not_let_in(person: Person, page: Page) -> None:
    person.sign_in(page)
    answer = page.goto("/settings/providers/")
    assert answer
    assert answer.status == 403
