"""Talking in a real browser: words that grow, Stop, reload, two tabs, versions, errors, drafts."""

import re

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.chatting import asking, composer, last_reply, open_chat, replies, say, scrolls_sideways
from tests.browser.conftest import Person
from tests.modelserver import ModelServer

MARKDOWN = """\
Here is a **plan**:

1. First
2. Second with `code`

| Place | Cost |
|---|---:|
| Tram | 3 |

```python
def f(x: int) -> int:
    return x + 1
```

See [the site](https://example.org)."""


def test_a_reply_is_drawn_as_markdown(person: Person, page: Page, models: ModelServer) -> None:
    models.reply(MARKDOWN, match=asking("a plan please"))
    open_chat(page, person, "a plan please")
    reply = last_reply(page)
    expect(reply.locator("strong")).to_have_text("plan")
    expect(reply.locator("table td").last).to_have_text("3")
    expect(reply.locator(".code .k").first).to_have_text("def")
    expect(reply.get_by_role("link", name="the site")).to_have_attribute("rel", re.compile("noopener"))
    expect(page.locator(".message.user .text")).to_have_text("a plan please")
    assert not scrolls_sideways(page)


MATHS = r"""Euler: \(e^{i\pi} = -1\) and $a^2$, at $5 and $10.

\[ \int_0^1 x^2 \, dx \]

Broken: $\frac{1}$. See README.md and www.example.org."""

COPY = """(reply) => {
    let copied = "";
    addEventListener("copy", (event) => (copied = event.clipboardData.getData("text/plain")), { once: true });
    getSelection().selectAllChildren(reply);
    document.execCommand("copy");
    return copied;
}"""


def test_formulas_are_drawn_and_copied_as_tex_and_names_of_files_are_no_links(
    person: Person, page: Page, models: ModelServer
) -> None:
    models.reply(MATHS, match=asking("some maths"))
    open_chat(page, person, "some maths")
    reply = last_reply(page)
    expect(reply.locator("math")).to_have_count(3)
    formula = reply.locator("math[display=block]").bounding_box()
    assert formula
    assert formula["height"] > 20, "drawn, and not a line of text"
    expect(reply).to_contain_text("at $5 and $10.")
    expect(reply).to_contain_text(r"\frac{1}")
    expect(reply.get_by_role("link")).to_have_text(["www.example.org"])
    copied = reply.locator(".prose").first.evaluate(COPY)
    assert r"$e^{i\pi} = -1$" in copied
    assert r"\int_0^1 x^2" in copied
    assert not scrolls_sideways(page)


WIDE_MATHS = rf"""Long: $${" + ".join(f"x_{{{at}}}" for at in range(60))}$$

\begin{{align}}
a &= b + c \\
d + e + f &= g
\end{{align}}
"""


def test_equations_are_aligned_and_a_long_formula_scrolls_by_itself(
    person: Person, page: Page, models: ModelServer
) -> None:
    models.reply(WIDE_MATHS, match=asking("wide maths"))
    open_chat(page, person, "wide maths")
    reply = last_reply(page)
    column, formula = reply.locator(".prose").bounding_box(), reply.locator("p > math").bounding_box()
    assert column
    assert formula
    assert formula["width"] <= column["width"]
    signs = [sign.bounding_box() for sign in reply.locator("mtd:nth-child(2) mo:first-of-type").all()]
    assert len({round(sign["x"]) for sign in signs if sign}) == 1
    assert not scrolls_sideways(page)


def test_blocks_stay_while_the_tail_grows_and_nothing_jumps(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    text = "A first paragraph.\n\n" + "Then *many* more words. " * 60 + "\n\n- a list\n- of two\n\nThe end."
    gate = models.gated(text, after=20, delay=0.02, match=asking("grow"))
    open_chat(desktop, person, "grow")
    first = desktop.locator(".reply.live .blocks > p").first
    expect(first).to_have_text("A first paragraph.")
    desktop.evaluate(
        """() => { window.shift = 0; window.first = document.querySelector('.reply.live .blocks > p');
            const add = (list) => list.getEntries().forEach((entry) => window.shift += entry.value);
            new PerformanceObserver(add).observe({ type: 'layout-shift' }); }"""
    )
    gate.release()
    expect(desktop.locator(".reply.live .tail")).to_contain_text("more words. Then many more words.")
    assert desktop.evaluate("window.first.isConnected"), "a finished block was drawn again"
    last_reply(desktop)
    assert desktop.evaluate("window.shift") < 0.05


def test_a_reader_who_scrolled_up_is_left_where_they_are(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    gate = models.gated(
        "\n\n".join(f"Paragraph {n}." for n in range(90)), after=60, delay=0.05, match=asking("scroll")
    )
    open_chat(desktop, person, "scroll")
    expect(desktop.locator(".reply.live .blocks > p").nth(25)).to_be_attached()
    top = "document.querySelector('.reply.live .blocks > p:nth-child(10)').getBoundingClientRect().top"
    desktop.evaluate("document.querySelector('#thread').scrollTop = -300")
    expect(desktop.get_by_role("link", name="Jump to latest message")).to_be_visible()
    before = desktop.evaluate(top)
    gate.release()
    expect(desktop.locator(".reply.live .blocks > p").nth(50)).to_be_attached()
    assert abs(desktop.evaluate(top) - before) < 3
    last_reply(desktop)
    desktop.get_by_role("link", name="Jump to latest message").click()
    expect(replies(desktop).get_by_text("Paragraph 89.")).to_be_in_viewport()


def test_stop_keeps_what_was_said(person: Person, page: Page, models: ModelServer) -> None:
    models.gated("One two three four five six", after=3, match=asking("stop me"))
    open_chat(page, person, "stop me")
    expect(page.locator(".reply.live")).to_contain_text("two")
    page.get_by_role("button", name="Stop the reply").click()
    reply = last_reply(page)
    expect(reply).to_contain_text("One two")
    expect(reply).to_contain_text("Stopped")
    expect(page.get_by_role("button", name="Stop the reply")).to_be_hidden()


def test_escape_stops_a_reply(person: Person, desktop: Page, models: ModelServer) -> None:
    models.gated("One two three four", after=2, match=asking("escape"))
    open_chat(desktop, person, "escape")
    expect(desktop.locator(".reply.live")).to_contain_text("One")
    desktop.keyboard.press("Escape")
    expect(last_reply(desktop)).to_contain_text("Stopped")


def test_a_reload_in_mid_reply_loses_and_repeats_nothing(
    person: Person, page: Page, models: ModelServer
) -> None:
    gate = models.gated("alpha\n\nbeta\n\ngamma\n\ndelta", after=2, match=asking("reload"))
    open_chat(page, person, "reload")
    expect(page.locator(".reply.live")).to_contain_text("alpha")
    page.reload()
    expect(page.locator(".reply.live")).to_contain_text("alpha")
    gate.release()
    reply = last_reply(page)
    expect(reply.locator("p")).to_have_text(["alpha", "beta", "gamma", "delta"])


def test_a_second_tab_follows_and_can_stop(person: Person, desktop: Page, models: ModelServer) -> None:
    models.gated("shared words and more", after=2, match=asking("two tabs"))
    open_chat(desktop, person, "two tabs")
    other = desktop.context.new_page()
    other.goto(desktop.url)
    expect(other.locator(".reply.live")).to_contain_text("shared")
    other.get_by_role("button", name="Stop the reply").click()
    expect(last_reply(desktop)).to_contain_text("Stopped")
    expect(last_reply(other)).to_contain_text("Stopped")
    say(other, "said in the other tab")
    expect(desktop.get_by_text("said in the other tab").first).to_be_visible(timeout=15_000)
    expect(last_reply(desktop, 2)).to_contain_text("Hello from the scripted model.")
    expect(desktop.locator(".message.user")).to_have_count(2)


STARTED = """\
event: start
id: 0.0
data: <div class="tail" sse-swap="tail" hx-swap="innerHTML"></div>

event: tail
data: <p>The first words</p>

"""


def test_words_right_behind_the_start_of_a_reply_are_shown(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    gate = models.gated("One Two Three", after=1, match=asking("at once"))
    open_chat(desktop, person, "at once")
    # Another tab: this stream breaks off, and htmx writes that to the console.
    other = desktop.context.new_page()
    stream = {"status": 200, "content_type": "text/event-stream", "body": STARTED}
    other.route("**/stream/**", lambda route: route.fulfill(**stream))
    other.goto(desktop.url)
    expect(other.locator(".reply.live .tail")).to_have_text("The first words")
    other.close()
    gate.release()
    last_reply(desktop)


def is_poll(request: Request) -> bool:
    return "/updates/" in request.url


@pytest.mark.parametrize("answered", ["before the send", "after the send"])
def test_a_poll_that_overlaps_a_send_repeats_nothing(
    person: Person, desktop: Page, models: ModelServer, answered: str
) -> None:
    gate = models.gated("One Two Three", after=2, match=asking("said once"))
    open_chat(desktop, person)
    last_reply(desktop)
    polls: list[Route] = []

    def answer_poll() -> None:
        with desktop.expect_event("requestfinished", is_poll):
            polls.pop().continue_()

    def send(route: Route) -> None:
        answer = route.fetch()
        if answered == "before the send":
            answer_poll()
        route.fulfill(response=answer)

    with desktop.expect_request(is_poll):
        desktop.route("**/updates/**", lambda route: polls.append(route))
    desktop.route("**/send/", send)
    say(desktop, "said once")
    expect(desktop.locator(".reply.live")).to_contain_text("One")
    if answered == "after the send":
        answer_poll()
    gate.release()
    last_reply(desktop, 2)
    expect(desktop.locator(".message.user .text")).to_have_text(["Hello", "said once"])
    expect(desktop.locator(".reply.live")).to_have_count(0)


def test_a_failed_poll_is_not_worth_a_toast(person: Person, desktop: Page, models: ModelServer) -> None:
    open_chat(desktop, person)
    last_reply(desktop)
    # Another tab: the console of the first one is watched, and htmx writes failures there.
    other = desktop.context.new_page()
    other.route("**/updates/**", lambda route: route.fulfill(status=500))
    other.goto(desktop.url)
    for _ in range(2):
        with other.expect_request(is_poll):
            pass
    expect(other.locator(".toast")).to_have_count(0)


def test_answering_again_and_editing_make_versions(person: Person, page: Page, models: ModelServer) -> None:
    models.reply("First answer", match=asking("versions"))
    open_chat(page, person, "versions")
    last_reply(page)
    models.reply("Second answer", match=asking("versions"))
    page.get_by_role("button", name="Regenerate").click()
    expect(replies(page)).to_contain_text(["Second answer"])
    expect(page.locator(".versions")).to_contain_text("2/2")
    page.get_by_role("button", name="Previous version").click()
    expect(replies(page)).to_contain_text(["First answer"])
    expect(page.get_by_role("button", name="Next version")).to_be_focused()
    page.get_by_role("button", name="Edit and resend").click()
    page.get_by_role("textbox", name="Edit message").press("Escape")
    expect(page.locator(".message.user .text")).to_have_text("versions")
    page.get_by_role("button", name="Edit and resend").click()
    models.reply("Third answer", match=asking("in other words"))
    page.get_by_role("textbox", name="Edit message").fill("in other words")
    page.get_by_role("button", name="Resend").click()
    expect(replies(page)).to_contain_text(["Third answer"])
    expect(page.locator(".message.user .text")).to_have_text("in other words")
    page.locator(".message.user").get_by_role("button", name="Previous version").click()
    expect(page.locator(".message.user .text")).to_have_text("versions")


def test_a_failure_says_why_and_can_be_tried_again(person: Person, page: Page, models: ModelServer) -> None:
    models.error(401, {"error": {"message": "bad key"}}, match=asking("please fail"))
    open_chat(page, person, "please fail")
    expect(page.get_by_role("alert")).to_contain_text("key")
    page.get_by_role("alert").get_by_role("button", name="Try again").click()
    expect(last_reply(page)).to_contain_text("Hello from the scripted model.")
    expect(page.locator(".banner.bad")).to_have_count(0)


def test_thinking_and_tools_are_folded_and_readable(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    models.tool_calls(("get_current_time", {"time_zone": "<b>Europe/Lisbon</b>"}), match=asking("what time"))
    models.thinking("Let me look at the clock.", "It is late.", match=asking("what time"))
    open_chat(desktop, person, "what time")
    reply = last_reply(desktop)
    expect(reply.get_by_text("Let me look at the clock.")).to_be_hidden()
    reply.get_by_text("Thought for").click()
    expect(reply.get_by_text("Let me look at the clock.")).to_be_visible()
    reply.get_by_text("get_current_time").click()
    expect(reply.locator(".tool pre").first).to_contain_text('"<b>Europe/Lisbon</b>"')


def test_how_long_a_model_thought_is_told_live_and_after_a_reload(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    gate = models.gated("Forty-two.", after=2, thinking="Let me see.", match=asking("the answer"))
    open_chat(desktop, person, "the answer")
    fold = desktop.locator(".reply .fold summary")
    expect(fold).to_have_text(re.compile("Thinking( for [0-9]+ s)?|Thought for"))
    desktop.wait_for_timeout(1100)  # the time that is told below
    gate.release()
    last_reply(desktop)
    expect(fold).to_have_text(re.compile("Thought for ([0-9]+ s|less than a second)"))
    told = fold.inner_text()
    desktop.reload()
    expect(fold).to_have_text(told)


def test_memory_saved_by_a_tool_can_be_undone_from_its_chip(
    person: Person, page: Page, models: ModelServer
) -> None:
    models.tool_calls(
        ("save_memory", {"content": "Likes trains", "category": "interests"}), match=asking("trains")
    )
    models.reply("Noted.", match=asking("trains"))
    open_chat(page, person, "I like trains, remember it")
    chip = page.locator(".chip", has_text="Saved to memory")
    expect(chip).to_contain_text("Likes trains")
    # One line tells it: the call behind it is folded.
    expect(last_reply(page).locator(".tool-use")).to_have_count(1)
    expect(chip.get_by_text("save_memory")).to_be_hidden()
    chip.locator("summary").click()
    expect(chip.get_by_text("save_memory")).to_be_visible()
    chip.get_by_role("button", name="Undo").click()
    expect(chip.locator(".chip-end")).to_have_text("Undone.")
    expect(chip).to_contain_text("Likes trains")
    page.reload()
    expect(chip).to_contain_text("Undone")
    expect(chip.get_by_role("button", name="Undo")).to_have_count(0)
    page.goto("/memory/")
    expect(page.get_by_role("main")).not_to_contain_text("Likes trains")


def test_a_draft_outlives_a_reload_and_an_ended_session(
    person: Person, page: Page, models: ModelServer
) -> None:
    open_chat(page, person)
    last_reply(page)
    composer(page).fill("words I would hate to lose")
    page.reload()
    expect(composer(page)).to_have_value("words I would hate to lose")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url("**/login/**")
    page.get_by_label("Username").fill(person.username)
    page.locator("[name=password]").fill(person.password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/chat/**")
    expect(composer(page)).to_have_value("words I would hate to lose")
    page.get_by_role("button", name="Send", exact=True).click()
    last_reply(page, 2)
    expect(composer(page)).to_have_value("")
    page.reload()
    expect(composer(page)).to_have_value("")


def test_a_second_retry_at_the_same_moment_leaves_the_first_ones_reply_alone(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    open_chat(desktop, person, "twice")
    last_reply(desktop)
    gate = models.gated("One reply and no other.", after=2, match=asking("twice"))
    button = desktop.get_by_role("button", name="Regenerate", exact=True)
    statuses = desktop.evaluate(
        """([button]) => Promise.all([0, 1].map(() => fetch(button.formAction, {
            method: "POST", body: new FormData(button.form), redirect: "manual",
        }).then((answer) => answer.status)))""",
        [button.element_handle()],
    )
    assert set(statuses) <= {0, 404}, "one began it, the other came too late"
    desktop.reload()
    expect(desktop.locator(".reply.live")).to_contain_text("One reply")
    gate.release()
    expect(last_reply(desktop)).to_contain_text("One reply and no other.")
    expect(desktop.locator(".reply")).not_to_contain_text("Stopped")
    expect(desktop.locator(".versions")).to_contain_text("2/2")


def test_a_double_click_on_regenerate_makes_one_reply(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    open_chat(desktop, person, "double")
    last_reply(desktop)
    gate = models.gated("One reply and no other.", after=2, match=asking("double"))
    desktop.get_by_role("button", name="Regenerate", exact=True).dblclick()
    expect(desktop.locator(".reply.live")).to_contain_text("One reply")
    gate.release()
    expect(last_reply(desktop)).to_contain_text("One reply and no other.")
    expect(desktop.locator(".reply")).not_to_contain_text("Stopped")
    expect(desktop.locator(".versions")).to_contain_text("2/2")
    expect(desktop.locator(".toast")).to_have_count(0)


MANY = """
from chat.models import Message
Message.objects.bulk_create(
    Message(session_id="{chat}", type="user", content=f"Row {{number}}.") for number in range(230)
)
"""

# Not a real click: on a link that has just come, before htmx knows of it, that would open another page.
EARLIER = """(seen) => { const link = document.querySelector('.older');
    if (link) htmx.trigger(link, 'click');
    return document.querySelectorAll('.message.user').length !== seen; }"""


def test_a_page_that_was_away_for_more_than_200_rows_shows_them_all(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    open_chat(desktop, person, "before I went")
    last_reply(desktop)
    chat = desktop.url.rstrip("/").rsplit("/", 1)[-1]
    person.oneclaw.manage("shell", "-c", MANY.format(chat=chat))
    rows = desktop.locator(".message.user")
    expect(rows.last).to_contain_text("Row 229.")
    while (seen := rows.count()) < 231:
        desktop.wait_for_function(EARLIER, arg=seen, polling=200)
    expect(rows).to_have_count(231)
    expect(rows.first).to_contain_text("before I went")
    expect(rows.nth(1)).to_contain_text("Row 0.")
