"""kill -9 of the real tree: web, worker and `up` itself, while a browser chats and memory is written."""

import os
import random
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.faults import world
from tests.faults.kills import Killer, killer, seeds
from tests.faults.work import Journal
from tests.running import Running, alive, oneclaw

# A chain of rounds here is a whole `up` with three kills: one in the suite, more in `make soak`.
ROUNDS, SHARE = 5, 10
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
CHAT = re.compile(r"/chat/([0-9a-f-]{36})/")


@pytest.fixture(scope="module")
def hand() -> Iterator[Killer]:
    with killer() as made:
        yield made


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
        self.send("/memory/entry/", action="add", words=fact, section="Notes")
        self.journal.note(ack="add", result=True)

    def compact(self) -> None:
        self.send("/memory/compaction/propose/")

    def look(self) -> None:
        assert self.client.get("/memory/logs/").status_code == 200


@pytest.mark.parametrize("seed", seeds(ROUNDS, share=SHARE))
def test_the_whole_tree_survives_kills(hand: Killer, seed: int) -> None:
    dice = random.Random(seed)
    with hand.installation(f"up-{seed}") as home:
        with oneclaw(home) as running:
            visitor = Visitor(running, home, dice)
            visitor.log_in()
            for words in dice.sample(["oneclaw.server.web", "manage.py worker"], 2):
                visitor.visit(dice.uniform(0.3, 2.0))
                os.kill(dice.choice(running.find(words)), signal.SIGKILL)
                visitor.visit(dice.uniform(0.0, 1.0))
                running.wait_until(lambda: running.health()["status"] == "ok")
            visitor.visit(dice.uniform(0.3, 2.0))
            family = list(running.processes())
            running.kill()
            running.wait_until(lambda: not alive(family))
        problems = hand.inspect(home)
        assert not problems, f"FAULTS_SEED={seed}\n" + "\n".join(problems) + f"\n{running.log[-2000:]}"
