"""Two hundred payloads through every field: no page runs one, and none had to be stopped by the policy."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import Person, make_admin
from tests.running import ROOT, Running
from tests.running import oneclaw as running_oneclaw

# Calls of hit() and dialogs are what a payload wants; a violation is one that the policy had to stop.
WATCH = """
window.hits = [];
window.hit = (number) => window.hits.push(String(number));
window.alert = window.confirm = window.prompt = () => window.hits.push("dialog");
document.addEventListener("securitypolicyviolation", (event) =>
  window.hits.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`), true);
"""
# What no page of ours has: handlers in attributes, script in addresses, script that came with the page.
INJECTED = """
() => {
  const found = [];
  for (const element of document.querySelectorAll("*")) {
    for (const {name, value} of element.attributes) {
      if (/^on/i.test(name)) found.push(`${element.tagName} ${name}=${value}`);
      if (/^(href|src|action|formaction|data|srcdoc|xlink:href)$/i.test(name)
          && /^[\\s\\x00-\\x1f]*(javascript|vbscript|data:text)/i.test(value)) found.push(value);
      if (/hit\\(\\d/.test(value) && /^(hx-|data-hx-|sse-|style)/.test(name)) found.push(`${name}=${value}`);
    }
    if (element.tagName === "SCRIPT" && !element.src) found.push(element.outerHTML);
    if (/^(IFRAME|OBJECT|EMBED|BASE|PORTAL)$/.test(element.tagName)) found.push(element.tagName);
  }
  return found;
}
"""
# What is told in the address itself.
ADDRESSES = (
    "/chat/search/?q=%3Cscript%3Ehit(1)%3C/script%3E",
    "/memory/search/?q=%22%3E%3Cimg%20src=x%20onerror=hit(1)%3E",
    "/nowhere/%3Cscript%3Ehit(1)%3C/script%3E/",
    "/login/?next=javascript:hit(1)",
    "/chat/?q=%3Csvg%20onload=hit(1)%3E",
)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Person, list[str]]]:
    with running_oneclaw(tmp_path_factory.mktemp("xss")) as running:
        person = make_admin(running)
        yield person, plant(running, person.username)


def plant(running: Running, username: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.planting", username],
        cwd=ROOT,
        env=running.env,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_no_payload_runs_on_any_page(planted: tuple[Person, list[str]], browser: Browser) -> None:
    person, pages = planted
    context = browser.new_context(base_url=person.oneclaw.url)
    context.add_init_script(WATCH)
    page = context.new_page()
    person.sign_in(page)
    found, shown, missing = {}, 0, []
    for path in (*pages, *ADDRESSES):
        answer = page.goto(path, wait_until="load")
        assert answer is not None
        if answer.status >= 500:
            missing.append(f"{path} {answer.status}")
        excited(page)
        if bad := [*page.evaluate("() => window.hits"), *page.evaluate(INJECTED)]:
            found[path] = bad[:5]
        shown += page.content().count("hit(")
    context.close()
    assert missing == []
    assert found == {}
    assert shown > 3_000, "the payloads are not on the pages"


def excited(page: Page) -> None:
    """Opens what is closed and does what handlers wait for."""
    page.evaluate(
        """() => {
          for (const fold of document.querySelectorAll("details")) fold.open = true;
          for (const element of document.querySelectorAll("main *")) {
            for (const kind of ["mouseover", "focus", "pointerenter", "wheel", "input"]) {
              element.dispatchEvent(new Event(kind, {bubbles: false}));
            }
          }
        }"""
    )


def test_the_watch_would_see_one(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_context().new_page()
    page.add_init_script(WATCH)
    policy = "<meta http-equiv=Content-Security-Policy content=\"script-src 'self'\">"
    (tmp_path / "a.html").write_text(policy + "<p onclick=hit(1)>a<img src=x onerror=hit(2)>")
    page.goto((tmp_path / "a.html").as_uri())
    page.wait_for_function("() => window.hits.length")
    assert "script-src" in page.evaluate("() => window.hits")[0]
    assert any("onclick" in one for one in page.evaluate(INJECTED))
    page.context.close()
