"""The list of chats: rename, pin, delete with undo, search that jumps, keys."""

import re

from playwright.sync_api import Page, Route, expect

from tests.browser.chatting import asking, composer, covered, last_reply, open_chat, replies, say
from tests.browser.conftest import Person, send_form
from tests.modelserver import ModelServer


def open_drawer(page: Page) -> None:
    """On a phone the list is behind the menu button."""
    if page.get_by_role("link", name="Menu", exact=True).is_visible():
        page.get_by_role("link", name="Menu", exact=True).click()
        expect(page.get_by_role("searchbox")).to_be_in_viewport()


def act(page: Page, name: str) -> None:
    row = page.locator(".session").first
    row.hover()
    row.locator("summary").click()
    row.locator(".menu-item", has_text=name).click()


def test_a_chat_is_renamed_pinned_deleted_and_brought_back(
    person: Person, page: Page, models: ModelServer
) -> None:
    open_chat(page, person, "A chat about trains")
    last_reply(page)
    page.goto("/")
    open_drawer(page)
    act(page, "Rename")
    page.get_by_role("textbox", name="Title").fill("Night trains <b>")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".session-title")).to_have_text("Night trains <b>")
    act(page, "Pin")
    expect(page.locator(".group h2")).to_have_text("Pinned")
    act(page, "Delete")
    expect(page.locator(".session")).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".session-title")).to_have_text("Night trains <b>")
    expect(page.locator(".toast")).to_have_count(0)


def test_deleting_the_open_chat_leads_to_a_new_one_and_can_be_undone(
    person: Person, page: Page, models: ModelServer
) -> None:
    open_chat(page, person, "Delete me")
    last_reply(page)
    page.locator(".top summary").click()
    page.locator(".top").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("/$"))
    expect(page.locator(".toast")).to_be_visible()
    assert covered(page) == []
    page.locator(".toast").get_by_role("button", name="Undo").click()
    open_drawer(page)
    expect(page.locator(".session")).to_have_count(1)


def test_many_chats_are_archived_at_once(person: Person, desktop: Page, models: ModelServer) -> None:
    for word in ("one", "two", "three"):
        open_chat(desktop, person, word)
        last_reply(desktop)
    desktop.get_by_label("Select chats").check()
    for box in desktop.locator(".pick").all()[:2]:
        box.check()
    desktop.get_by_label("Select chats").click(trial=True)
    desktop.locator(".batch").get_by_role("button", name="Archive").click()
    expect(desktop.locator(".session")).to_have_count(1)
    desktop.get_by_role("link", name="Archived chats").click()
    expect(desktop.get_by_role("main").locator(".session")).to_have_count(2)


def test_search_finds_a_message_and_jumps_to_it(person: Person, page: Page, models: ModelServer) -> None:
    models.reply("\n\n".join(["Many words."] * 60), match=asking("quokka"))
    open_chat(page, person, "Tell me about the quokka island")
    last_reply(page)
    page.goto("/")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.get_by_role("searchbox").fill("quokka")
    hit = page.locator(".found-chat a").last
    expect(hit.locator("mark")).to_have_text("quokka")
    hit.click()
    page.wait_for_url("**/chat/**#message-*")
    expect(page.locator(".message.user .text")).to_be_in_viewport()


def test_a_new_title_reaches_the_page(person: Person, desktop: Page, models: ModelServer) -> None:
    models.reply("Trains at night", match=lambda asked: not asked.tool_names)
    models.reply("They are slow.", match=asking("tell me"))
    open_chat(desktop, person, "tell me of sleepers")
    last_reply(desktop)
    expect(desktop.get_by_role("heading", level=1)).to_have_text("Trains at night")
    expect(desktop.locator(".session-title")).to_have_text("Trains at night")
    expect(desktop).to_have_title("Trains at night · OneClaw")


def test_the_list_follows_though_the_reply_it_was_asked_for_is_replaced(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    held: list[Route] = []
    desktop.route("**/heading/", lambda route: held.append(route))
    gate = models.gated("First words, then others", after=1, match=asking("again and again"))
    open_chat(desktop, person, "again and again")
    expect(desktop.locator(".reply.live")).to_be_visible()
    with desktop.expect_request("**/heading/"):
        gate.release()
        expect(replies(desktop)).to_contain_text(["then others"])
    models.reply("Second", match=asking("again and again"))
    desktop.get_by_role("button", name="Regenerate").click()
    expect(replies(desktop)).to_contain_text(["Second"])
    with person.client() as client:
        chat = desktop.url.rstrip("/").rsplit("/", 1)[1]
        send_form(client, f"/chat/{chat}/rename/", title="Trains at night")
    for route in held:
        route.continue_()
    expect(desktop.locator(".session-title")).to_have_text("Trains at night")


def test_the_list_waits_while_something_is_done_in_it(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    gate = models.gated("One Two Three", after=2, match=asking("a long story"))
    open_chat(desktop, person, "a long story")
    expect(desktop.locator(".reply.live")).to_contain_text("One")
    act(desktop, "Rename")
    desktop.get_by_role("textbox", name="Title").fill("Half a na")
    with desktop.expect_event("requestfinished", lambda asked: asked.url.endswith("/heading/")):
        gate.release()
    # The heading comes twice: when this second one is there, the first has been put in place.
    with desktop.expect_request("**/heading/"):
        pass
    expect(desktop.get_by_role("textbox", name="Title")).to_have_value("Half a na")


def test_the_open_chat_is_renamed_in_the_list(person: Person, desktop: Page, models: ModelServer) -> None:
    gate = models.gated("One Two Three", after=2, match=asking("a story"))
    open_chat(desktop, person, "a story")
    expect(desktop.locator(".reply.live")).to_contain_text("One")
    act(desktop, "Rename")
    desktop.get_by_role("textbox", name="Title").fill("Never said")
    desktop.keyboard.press("Escape")
    expect(desktop.locator(".session-title")).to_have_text("a story")
    act(desktop, "Rename")
    desktop.get_by_role("textbox", name="Title").fill("A tale")
    desktop.keyboard.press("Enter")
    expect(desktop.locator(".session-title")).to_have_text("A tale")
    expect(desktop.get_by_role("heading", level=1)).to_have_text("A tale")
    expect(desktop).to_have_title("… A tale · OneClaw")
    gate.release()
    expect(desktop).to_have_title("A tale · OneClaw")


def test_everything_is_done_by_keyboard(person: Person, desktop: Page, models: ModelServer) -> None:
    person.sign_in(desktop)
    desktop.goto("/")
    expect(composer(desktop)).to_be_focused()
    desktop.keyboard.type("one line")
    desktop.keyboard.press("Shift+Enter")
    desktop.keyboard.type("and another")
    desktop.keyboard.press("Enter")
    desktop.wait_for_url("**/chat/**")
    last_reply(desktop)
    expect(desktop.locator(".message.user .text")).to_have_text("one line\nand another")
    first = desktop.url
    desktop.keyboard.press("Control+Shift+O")
    expect(desktop).to_have_url(f"{person.oneclaw.url}/")
    expect(composer(desktop)).to_be_focused()
    say(desktop, "second chat")
    desktop.wait_for_url("**/chat/**")
    last_reply(desktop)
    desktop.reload()
    desktop.keyboard.press("Alt+ArrowDown")
    expect(desktop).to_have_url(first)
    desktop.keyboard.press("Escape")
    desktop.keyboard.press("?")
    expect(desktop.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    desktop.keyboard.press("Escape")
    expect(desktop.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()
    desktop.keyboard.press("/")
    expect(composer(desktop)).to_be_focused()
    desktop.goto("/memory/")
    desktop.keyboard.press("Tab")
    expect(desktop.get_by_role("link", name="Skip to content")).to_be_focused()
    desktop.keyboard.press("Enter")
    expect(desktop.get_by_role("main")).to_be_focused()


MANY = """
from chat.models import Message, Session
from people.models import User
user = User.objects.get(username="{name}")
chats = Session.objects.bulk_create(Session(owner=user, title=f"Chat {{n}}") for n in range(45))
rows = (Message(session=chats[0], type="user", content=f"Message {{n}}") for n in range(70))
Message.objects.bulk_create(rows)
print(chats[0].id)
"""


def test_long_lists_load_as_one_scrolls(person: Person, desktop: Page, models: ModelServer) -> None:
    chat = person.oneclaw.manage("shell", "-v", "0", "-c", MANY.format(name=person.username)).split()[-1]
    person.sign_in(desktop)
    desktop.goto(f"/chat/{chat}/")
    expect(desktop.get_by_text("Message 69", exact=True)).to_be_in_viewport()
    expect(desktop.locator(".session")).to_have_count(30)
    desktop.get_by_role("link", name="More", exact=True).scroll_into_view_if_needed()
    expect(desktop.locator(".session")).to_have_count(45)
    expect(desktop.locator(".message.user")).to_have_count(50)
    desktop.locator("#thread").hover()
    desktop.mouse.wheel(0, -20_000)
    expect(desktop.locator(".message.user")).to_have_count(70)
    expect(desktop.get_by_text("Message 20", exact=True)).to_be_in_viewport()
