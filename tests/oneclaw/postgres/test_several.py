"""Three web and two worker processes as `up --only` starts them: each is killed while people chat."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg
import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests import running
from tests.browser.conftest import FLAGS, chromium
from tests.modelserver import ModelServer, Recorded, Script
from tests.running import ADDRESS, Running

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(600)]

PEOPLE = 4
NUMBER = re.compile(r"question (\w+-\d+)")
MAKE_PEOPLE = """
from importlib import import_module
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from people.models import User
for number in range({people}):
    user = User.objects.create_user(f"person{{number}}")
    store = import_module(settings.SESSION_ENGINE).SessionStore()
    store[SESSION_KEY], store[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store.create()
    print("key", store.session_key)
"""


def said_of(number: str) -> str:
    """What the model says to a question: long enough to be cut, and every word counted."""
    return " ".join(f"{number}:{word}" for word in range(40)) + f" end-of-{number}"


def answer(request: Recorded) -> Script | str:
    found = NUMBER.findall(request.last_user)
    # Titles and summaries of chats ask otherwise.
    if "stream" not in (request.json or {}) or not found:
        return "A title"
    return Script(text=said_of(found[-1]), delay=0.03)


@dataclass
class Together:
    """All processes over one database and one data folder."""

    webs: list[Running]
    workers: list[Running]
    database: str

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database, autocommit=True) as connection:
            return connection.execute(query, values).fetchall()

    def wait_until(self, holds: Callable[[], object], seconds: float = 120.0) -> None:
        self.webs[0].wait_until(holds, seconds)


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    server = ModelServer()
    server.default = Script(function=answer)
    yield server
    server.close()


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory, models: ModelServer) -> Iterator[Together]:
    folder = tmp_path_factory.mktemp("together")
    provider = {
        "ONECLAW_PROVIDER": "openai",
        "ONECLAW_BASE_URL": models.base_url("openai"),
        "ONECLAW_API_KEY": "sesame",
        "ONECLAW_MODEL": "scripted-model",
    }
    with ExitStack() as ending:

        def start(kind: str, number: int) -> Running:
            started = running.launch(folder, "--only", kind, log_name=f"{kind}{number}.log", **provider)
            ending.callback(end, started)
            return started

        # All at once: one of them prepares the database, the others wait for it.
        webs = [start("web", number) for number in range(3)]
        workers = [start("worker", number) for number in range(2)]
        for web in webs:
            web.url = address_of(web)
        made = Together(webs, workers, webs[0].env["ONECLAW_DATABASE_URL"])
        made.wait_until(lambda: webs[0].says("processes") == "3 web, 2 worker", 180)
        yield made


def address_of(web: Running) -> str:
    web.wait_until(lambda: ADDRESS.search(web.log) or web.process.poll() is not None, 180)
    found = ADDRESS.search(web.log)
    assert found, web.log
    return f"http://127.0.0.1:{found[1]}"


def end(started: Running) -> None:
    if started.process.poll() is None:
        started.stop()


@pytest.fixture(scope="module")
def people(together: Together) -> list[dict[str, str]]:
    """Cookies of a few people, which every process lets in."""
    printed = together.webs[0].manage("shell", "-v", "0", "-c", MAKE_PEOPLE.format(people=PEOPLE))
    keys = re.findall(r"key (\w+)", printed)
    assert len(keys) == PEOPLE
    return [{"sessionid": key, "csrftoken": "t" * 32} for key in keys]


def browser(url: str, cookies: dict[str, str]) -> httpx.Client:
    headers = {"X-CSRFToken": cookies["csrftoken"], "HX-Request": "true"}
    return httpx.Client(base_url=url, cookies=cookies, headers=headers, timeout=60)


@dataclass
class Person:
    """Somebody who goes on chatting, with whichever web process answers, as behind a balancer."""

    name: str
    cookies: dict[str, str]
    urls: list[str]
    over: threading.Event
    sent: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def chat(self) -> None:
        chat, at = "", 0
        while not self.over.is_set() or not self.sent:
            number = f"{self.name}-{len(self.sent)}"
            at += 1
            try:
                with browser(self.urls[at % len(self.urls)], self.cookies) as web:
                    path = f"/chat/{chat}/send/" if chat else "/chat/start/"
                    got = web.post(path, data={"text": f"question {number}"})
            except httpx.TransportError:
                # The process was killed: what it did not acknowledge is not counted, and not asked again.
                time.sleep(0.2)
                continue
            if got.status_code != 200:
                self.wrong.append(f"{number}: {got.status_code} {got.text[:200]}")
                return
            self.sent.append(number)
            chat = chat or got.headers["HX-Redirect"].strip("/").rsplit("/", 1)[-1]
            self.over.wait(1.0)


def busy(together: Together) -> str:
    """A process id that makes a reply of which something is stored."""
    rows = together.rows(
        "SELECT run.holder FROM chat_run run JOIN chat_message said ON said.run_id = run.id "
        "WHERE run.status = 'running' AND said.content <> '' LIMIT 1"
    )
    return str(rows[0][0]) if rows else ""


def number_of(process_id: str) -> int:
    return int(process_id.split(".")[1])


def wait_for_the_end_of(together: Together, victim: int) -> None:
    """Until no reply goes on in the name of a process."""
    going_on = "SELECT 1 FROM chat_run WHERE status = 'running' AND holder LIKE %s"
    together.wait_until(lambda: not together.rows(going_on, f"%.{victim}.%"), 60)


def test_each_is_killed_in_turn_while_people_chat_and_nothing_is_lost_or_doubled(
    together: Together, people: list[dict[str, str]]
):
    over = threading.Event()
    urls = [web.url for web in together.webs]
    chatting = [Person(f"p{at}", cookies, urls, over) for at, cookies in enumerate(people)]
    threads = [threading.Thread(target=person.chat, daemon=True) for person in chatting]
    for thread in threads:
        thread.start()
    killed = set[int]()
    try:
        for _ in together.webs:
            # One that is in the middle of a reply, and not the same twice.
            together.wait_until(lambda: (found := busy(together)) and number_of(found) not in killed)
            victim = number_of(busy(together))
            killed.add(victim)
            os.kill(victim, signal.SIGKILL)
            # Others mark what it was saying, whether or not it comes back.
            wait_for_the_end_of(together, victim)
            together.wait_until(lambda: together.webs[0].says("processes").startswith("3 web"))
        for worker in together.workers:
            os.kill(worker.find("manage.py worker")[0], signal.SIGKILL)
            together.wait_until(lambda: together.webs[0].says("processes") == "3 web, 2 worker")
    finally:
        over.set()
        for thread in threads:
            thread.join(120)
    assert [person.wrong for person in chatting] == [[] for _ in chatting]
    together.wait_until(
        lambda: not together.rows("SELECT 1 FROM chat_run WHERE status IN ('queued', 'running')")
    )
    ended = check_all(together, chatting)
    assert ended["interrupted"] >= 1
    assert ended["done"] > ended["interrupted"]
    retry_one(together, people)
    # Nothing is in a worker's hands for ever.
    together.wait_until(lambda: not together.rows("SELECT 1 FROM django_q_ormq WHERE lock > now()"), 180)


def said_on(page: Page, words: str) -> Locator:
    return page.get_by_role("article", name="Reply").get_by_text(words).first


@pytest.mark.skipif(not chromium() and not os.environ.get("CI"), reason="no Chromium on this machine")
def test_pages_say_that_the_process_behind_a_reply_was_killed_and_offer_to_try_again(
    together: Together, people: list[dict[str, str]], models: ModelServer
):
    """In Chromium: a page on the process that dies, which `up` starts again, and one on another process."""
    gate = models.gated(said_of("seen-1"), after=20, match="question seen-1")
    with browser(together.webs[0].url, people[0]) as web:
        path = web.post("/chat/start/", data={"text": "question seen-1"}).headers["HX-Redirect"]
    with sync_playwright() as playwright:
        context = playwright.chromium.launch(executable_path=chromium(), args=FLAGS).new_context()
        context.set_default_timeout(60_000)
        context.add_cookies(
            [{"name": name, "value": value, "url": together.webs[0].url} for name, value in people[0].items()]
        )
        pages = [context.new_page() for _ in range(2)]
        for page, server in zip(pages, together.webs, strict=False):
            page.goto(f"{server.url}{path}")
            expect(said_on(page, "seen-1:3 ")).to_be_visible(timeout=60_000)
        os.kill(number_of(busy(together)), signal.SIGKILL)
        for page in pages:
            alert = page.get_by_role("alert").filter(has_text="What had arrived is kept")
            expect(alert).to_be_visible(timeout=60_000)
            expect(alert.get_by_role("button", name="Try again")).to_be_visible()
            expect(said_on(page, "seen-1:3 ")).to_be_visible()
        gate.release()
        pages[1].get_by_role("alert").get_by_role("button", name="Try again").click()
        expect(said_on(pages[1], "end-of-seen-1")).to_be_visible(timeout=60_000)
        expect(pages[1].get_by_role("alert").filter(has_text="What had arrived")).to_have_count(0)


def check_all(together: Together, chatting: list[Person]) -> dict[str, int]:
    """Every acknowledged message is there once with one reply: whole, or a beginning that is marked."""
    rows = together.rows(
        "SELECT asked.content, run.status, "
        "(SELECT string_agg(content, '|') FROM chat_message WHERE run_id = run.id AND type = 'ai_response'), "
        "(SELECT count(*) FROM chat_message WHERE run_id = run.id AND type = 'error') "
        "FROM chat_message asked LEFT JOIN chat_run run ON run.prompt_id = asked.id "
        "WHERE asked.type = 'user' ORDER BY asked.id"
    )
    counts = {"done": 0, "interrupted": 0}
    found = [NUMBER.findall(text)[0] for text, *_ in rows]
    assert len(found) == len(set(found)), "a message has two replies, or stands twice"
    assert {number for person in chatting for number in person.sent} <= set(found)
    for text, status, said, errors in rows:
        [number] = NUMBER.findall(text)
        counts[status] += 1
        if status == "done":
            assert (said, errors) == (said_of(number), 0)
        else:
            assert said_of(number).startswith(said)
            assert errors == 1
    return counts


def retry_one(together: Together, people: list[dict[str, str]]) -> None:
    """Its owner's page, on any process, says what happened and offers Retry, which works."""
    [(chat, reply, owner)] = together.rows(
        "SELECT run.session_id, min(said.id), session.owner_id FROM chat_run run "
        "JOIN chat_message said ON said.run_id = run.id AND said.type = 'ai_response' "
        "JOIN chat_session session ON session.id = run.session_id "
        "WHERE run.status = 'interrupted' GROUP BY run.id, session.owner_id "
        "ORDER BY min(said.id) DESC LIMIT 1"
    )
    owners = [row[0] for row in together.rows("SELECT id FROM people_user ORDER BY id")]
    with browser(together.webs[1].url, people[owners.index(owner)]) as web:
        page = web.get(f"/chat/{chat}/", params={"at": reply}).text
        assert "What had arrived is kept" in page
        retry = re.search(rf"/chat/{chat}/messages/{reply}/retry/", page)
        assert retry, page
        assert web.post(retry[0]).status_code == 200
    together.wait_until(
        lambda: together.rows(
            "SELECT 1 FROM chat_message said JOIN chat_run run ON run.id = said.run_id "
            "WHERE run.session_id = %s AND said.id > %s AND run.status = 'done' "
            "AND said.content LIKE '%%end-of%%'",
            chat,
            reply,
        )
    )
