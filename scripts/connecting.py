"""Make the pictures of docs/connect.md: `.venv/bin/python -m scripts.connecting` writes docs/connect-*.png.

The demo's year, a real OneClaw, Chromium, and a program that saves a fact by MCP.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from demo.year import PASSWORD, USERNAME
from tests.browser.conftest import FLAGS, chromium
from tests.running import ADDRESS, ROOT

FACT = "The guest bed of the Heron is two boards of 18 mm ply on battens"


@contextmanager
def demo(folder: Path) -> Iterator[str]:
    """The demo in a folder of its own, on a free port; its address."""
    log = folder / "demo.log"
    command = [sys.executable, "-m", "demo", "--folder", str(folder / "data"), "--port", "0"]
    with log.open("wb") as file:
        process = subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT)  # noqa: S603
    try:
        while not (found := ADDRESS.search(log.read_text())):
            if process.poll() is not None:
                raise SystemExit(log.read_text())
            time.sleep(0.2)
        yield f"http://127.0.0.1:{found[1]}"
    finally:
        process.terminate()
        process.wait(60)


def save_by_mcp(address: str, secret: str) -> None:
    """Do as Claude Code does: introduce itself, then call a tool."""
    headers = {"Authorization": f"Bearer {secret}", "Accept": "application/json, text/event-stream"}
    info = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2"},
    }
    opened = httpx.post(f"{address}/mcp", json=message("initialize", info), headers=headers, timeout=60)
    headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
    called = {"name": "save_memory", "arguments": {"content": FACT, "category": "projects"}}
    saved = httpx.post(f"{address}/mcp", json=message("tools/call", called), headers=headers, timeout=60)
    assert saved.json()["result"]["isError"] is False, saved.text


def message(method: str, params: Mapping[str, object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def take(address: str, page: Page) -> None:
    page.goto("/login/")
    page.get_by_label("Username").fill(USERNAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(re.compile(r"/$"))
    page.goto("/settings/connections/")
    page.get_by_role("textbox", name="Program").fill("Laptop")
    page.get_by_label("Read and change memory").check()
    page.get_by_role("button", name="Create token").click()
    secret = page.get_by_label("Token", exact=True).input_value()
    page.mouse.move(0, 0)
    shot(page, "token")
    save_by_mcp(address, secret)
    page.goto("/memory/history/")
    shot(page, "history")


def shot(page: Page, name: str) -> None:
    page.wait_for_timeout(1000)
    path = ROOT / "docs" / f"connect-{name}.png"
    page.screenshot(path=path)
    # A page has few colours: a palette makes a third of the bytes.
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(128).save(path, optimize=True)


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        demo(Path(folder)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        take(address, browser.new_page(base_url=address, viewport={"width": 1100, "height": 700}))
        browser.close()


if __name__ == "__main__":
    main()
