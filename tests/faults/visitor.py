"""Somebody with a browser, who says things, adds facts, and notes which of them were taken."""

import random
import re
import time
from pathlib import Path

import httpx

from tests.faults import world
from tests.faults.work import Journal
from tests.running import Running

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
NOT_WRITTEN = re.compile(r"[\w.]+ could not be written: [^<]+")
CHAT = re.compile(r"/chat/([0-9a-f-]{36})/")


class Refused(Exception):
    """OneClaw said why it could not: the sentence."""


class Visitor:
    """A browser that says things and notes which of them were taken."""

    def __init__(self, running: Running, home: Path, dice: random.Random) -> None:
        self.dice = dice
        self.journal = Journal(home / "journal.jsonl")
        self.client = httpx.Client(base_url=running.url, timeout=20)
        self.words, self.chats, self.token = 0, list[str](), ""

    def log_in(self) -> None:
        page = self.client.get("/login/").text
        found = TOKEN.search(page)
        assert found, page
        fields = {"username": "ada", "password": "correct horse battery", "csrfmiddlewaretoken": found[1]}
        assert self.client.post("/login/", data=fields).status_code == 302
        self.token = self.client.cookies["csrftoken"]

    def visit(self, seconds: float) -> None:
        """Something new all the time; a server that is being killed takes some of it."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                self.dice.choice([self.say, self.say, self.end, self.add, self.compact, self.look])()
            except httpx.TransportError:
                time.sleep(0.05)

    def send(self, address: str, **fields: str) -> httpx.Response:
        headers = {"X-CSRFToken": self.token, "HX-Request": "true"}
        answer = self.client.post(address, data=fields, headers=headers)
        if answer.status_code == 503:
            raise Refused(answer.text)
        assert answer.status_code in (200, 204, 302), (address, answer.status_code, answer.text[:500])
        return answer

    def say(self) -> None:
        self.words += 1
        word = f"m{self.words}"
        self.journal.note(begin="say", message=word)
        new = not self.chats or self.dice.random() < 0.3
        address = "/chat/start/" if new else f"/chat/{self.dice.choice(self.chats)}/send/"
        answer = self.send(address, text=f"Please remember {word}")
        if new:
            found = CHAT.search(answer.headers["HX-Redirect"])
            assert found
            self.chats.append(found[1])
        self.journal.note(ack="say", result=True)

    def end(self) -> None:
        if self.chats:
            self.send(f"/chat/{self.dice.choice(self.chats)}/end/")

    def add(self) -> None:
        self.words += 1
        fact = world.FACT.format(f"f{self.words}")
        self.journal.note(begin="add", fact=fact)
        answer = self.send("/memory/entry/", action="add", words=fact, section="Notes")
        # A form that could not be saved comes back as a page.
        if found := NOT_WRITTEN.search(answer.text):
            raise Refused(found[0])
        self.journal.note(ack="add", result=True)

    def compact(self) -> None:
        self.send("/memory/compaction/propose/")

    def look(self) -> None:
        assert self.client.get("/memory/logs/").status_code == 200
