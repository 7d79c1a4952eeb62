"""A killed worker is none of the page's business: it comes back by itself."""

import os
import signal

from playwright.sync_api import Page, expect

from tests.browser.conftest import Person
from tests.running import Running, alive


def test_pages_work_while_a_killed_worker_comes_back(oneclaw: Running, person: Person, phone: Page) -> None:
    workers = oneclaw.find("manage.py worker")
    os.kill(workers[0], signal.SIGKILL)
    person.sign_in(phone)
    phone.goto("/settings/profile/")
    expect(phone.get_by_role("button", name="Save")).to_be_visible()
    oneclaw.wait_until(lambda: "The worker stopped (killed by SIGKILL)" in oneclaw.log)
    oneclaw.wait_until(lambda: not alive(workers))
    (oneclaw.data_dir / "worker.beat").unlink(missing_ok=True)
    oneclaw.wait_until(lambda: oneclaw.says("worker") == "ok")
