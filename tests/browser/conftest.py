"""A real Chromium against a real OneClaw: `phone` and `desktop` are pages, `person` is somebody new.

    def test_a_thing(oneclaw, person, phone):
        person.sign_in(phone)
        phone.goto("/")

A test that needs its own OneClaw (a model server, other settings) uses `start_oneclaw(ONECLAW_BASE_URL=…)`.
"""

import itertools
import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.modelserver import ModelServer
from tests.running import Running
from tests.running import oneclaw as running_oneclaw

FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1440, "height": 900}
PASSWORD = "correct horse battery"
SCREENSHOTS = Path(__file__).parent / "screenshots"

# Long enough for a machine with other work to do; what is there sooner is seen sooner.
PATIENCE = 60
expect.set_options(timeout=PATIENCE * 1000)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")
            if not chromium() and not os.environ.get("CI"):
                item.add_marker(pytest.mark.skip("no Chromium on this machine"))


@dataclass
class Person:
    """Somebody with an account on a running OneClaw."""

    oneclaw: Running
    username: str
    password: str = PASSWORD

    @cached_property
    def cookies(self) -> dict[str, str]:
        """Those of one log-in, which costs a while because hashing a password must."""
        with httpx.Client(base_url=self.oneclaw.url, follow_redirects=True, timeout=PATIENCE) as client:
            send_form(client, "/login/", username=self.username, password=self.password)
            assert "sessionid" in client.cookies, "the log-in was refused"
            return {name: client.cookies[name] for name in ("sessionid", "csrftoken")}

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Logged in without a browser, for what a test needs done and does not look at."""
        url = self.oneclaw.url
        with httpx.Client(
            base_url=url, cookies=self.cookies, follow_redirects=True, timeout=PATIENCE
        ) as client:
            yield client

    def sign_in(self, page: Page) -> None:
        """Log the page in, without going through the form."""
        cookies = [
            {"name": name, "value": value, "url": self.oneclaw.url} for name, value in self.cookies.items()
        ]
        page.context.add_cookies(cookies)  # type: ignore[arg-type]


def send_form(client: httpx.Client, path: str, **fields: str) -> httpx.Response:
    """Post a form as its page would."""
    page = client.get(path)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert token, f"{path} has no form\n{page.text}"
    return client.post(path, data={"csrfmiddlewaretoken": token[1], **fields})


def make_admin(oneclaw: Running) -> Person:
    """Go through the set-up of a OneClaw that has nobody yet."""
    with httpx.Client(base_url=oneclaw.url, follow_redirects=True, timeout=PATIENCE) as client:
        send_form(client, "/setup/", username="ada", password1=PASSWORD, password2=PASSWORD)
    return Person(oneclaw, "ada")


@pytest.fixture
def start_oneclaw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Running]]:
    """Starts OneClaws with settings of their own, stopped after the test."""
    with ExitStack() as stack:

        def start(*arguments: str, **settings: str) -> Running:
            folder = tmp_path_factory.mktemp("oneclaw")
            return stack.enter_context(running_oneclaw(folder, *arguments, **settings))

        yield start


@pytest.fixture(scope="session")
def shared_models() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture
def models(shared_models: ModelServer) -> Iterator[ModelServer]:
    """The scripted model that the shared OneClaw asks; each test begins with no script."""
    shared_models.scripts.clear()
    yield shared_models
    for script in shared_models.scripts:
        if script.gate:
            script.gate.release()
    shared_models.scripts.clear()
    shared_models.default = "Hello from the scripted model."


def provider(server: ModelServer) -> dict[str, str]:
    """Settings that make the scripted server OneClaw's default model."""
    return {
        "ONECLAW_PROVIDER": "openai",
        "ONECLAW_BASE_URL": server.base_url("openai"),
        "ONECLAW_MODEL": "scripted-model",
    }


@pytest.fixture(scope="session")
def oneclaw(tmp_path_factory: pytest.TempPathFactory, shared_models: ModelServer) -> Iterator[Running]:
    """The OneClaw that most tests share, each with a person of its own."""
    with running_oneclaw(tmp_path_factory.mktemp("shared"), **provider(shared_models)) as running:
        yield running


@pytest.fixture(scope="session")
def admin(oneclaw: Running) -> Person:
    """Who set the shared OneClaw up."""
    return make_admin(oneclaw)


@pytest.fixture
def person(oneclaw: Running, admin: Person, numbers: "itertools.count[int]") -> Person:
    """Somebody new, with nothing said or remembered yet."""
    person = Person(oneclaw, f"person{next(numbers)}")
    with admin.client() as client:
        fields = {"username": person.username, "password1": person.password, "password2": person.password}
        assert person.username in send_form(client, "/settings/people/", **fields).text
    return person


@pytest.fixture(scope="session")
def numbers() -> "itertools.count[int]":
    return itertools.count(1)


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


# Playwright's loop counts as running in this thread, so it must be gone before any test outside this folder.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    found = chromium()
    assert found, "CI has no Chromium: install Debian's chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


# An answer of 4xx is the test's to look at.
HARMLESS = "Failed to load resource"


def console_fault(said: ConsoleMessage) -> list[str]:
    """What the console calls an error."""
    return [said.text] if said.type == "error" and not said.text.startswith(HARMLESS) else []


def foreign(asked: Request) -> list[str]:
    return [] if asked.url.startswith(("http://127.0.0.1:", "data:", "blob:")) else [asked.url]


def watched_page(
    browser: Browser, oneclaw: Running, request: pytest.FixtureRequest, size: dict[str, int]
) -> Iterator[Page]:
    """A page that fails its test on a script error, a broken policy or a request to anywhere else."""
    phone = size["width"] < 700
    context = browser.new_context(
        base_url=oneclaw.url,
        viewport=size,  # type: ignore[arg-type]
        has_touch=phone,
        is_mobile=phone,
        service_workers="block",
        timezone_id="Europe/Lisbon",
    )
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.extend(console_fault(said)))
    page.on("request", lambda asked: faults.extend(foreign(asked)))
    yield page
    if request.node.stash.get(FAILED, False):
        SCREENSHOTS.mkdir(exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{request.node.name}-{size['width']}.png")
    context.close()
    assert not faults, "\n".join(faults)


@pytest.fixture
def phone(browser: Browser, oneclaw: Running, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page as wide as a small phone."""
    yield from watched_page(browser, oneclaw, request, PHONE)


@pytest.fixture
def desktop(browser: Browser, oneclaw: Running, request: pytest.FixtureRequest) -> Iterator[Page]:
    yield from watched_page(browser, oneclaw, request, DESKTOP)


@pytest.fixture(params=["phone", "desktop"])
def page(request: pytest.FixtureRequest) -> Page:
    """The same test at both sizes."""
    page: Page = request.getfixturevalue(request.param)
    return page


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the end of what OneClaw said."""
    report = yield
    if report.when == "call" and report.failed:
        item.stash[FAILED] = True
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, Running):
                report.sections.append(("What OneClaw said", value.log[-5000:]))
    return report
