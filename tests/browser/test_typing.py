"""Typing without waiting: where words go right after a send, on opening a chat, and while editing."""

import re

from playwright.sync_api import Page, Route, expect

from tests.browser.chatting import asking, composer, last_reply, open_chat, replies, say
from tests.browser.conftest import Person
from tests.modelserver import ModelServer


def memory_switch(page: Page) -> str:
    return page.locator(".mode summary > span:visible").inner_text().strip()


def test_a_new_chat_begins_empty_after_the_last_one_was_started(person: Person, page: Page) -> None:
    open_chat(page, person, "The last chat's first words")
    last_reply(page)
    page.goto("/")
    expect(composer(page)).to_have_value("")


def test_a_draft_of_a_new_chat_survives_a_visit_elsewhere(person: Person, desktop: Page) -> None:
    person.sign_in(desktop)
    desktop.goto("/")
    composer(desktop).fill("half a thought")
    desktop.goto("/memory/")
    desktop.goto("/")
    expect(composer(desktop)).to_have_value("half a thought")


def test_words_typed_right_after_the_first_send_stay_words(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    gate = models.gated("One two three", after=1, match=asking("first of all"))
    person.sign_in(desktop)
    desktop.goto("/")
    desktop.keyboard.type("first of all")
    desktop.keyboard.press("Enter")
    desktop.wait_for_url("**/chat/*-*/")
    expect(composer(desktop)).to_be_focused()
    desktop.keyboard.type("my name, maybe")
    expect(composer(desktop)).to_have_value("my name, maybe")
    gate.release()
    last_reply(desktop)
    expect(composer(desktop)).to_have_value("my name, maybe")
    assert memory_switch(desktop) == "Memory on"


class SlowServer:
    """One that answers some addresses only when it is told to."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.held = list[Route]()

    def wait_for(self, address: str | re.Pattern[str]) -> None:
        self.page.route(address, lambda route: self.held.append(route))

    def answer(self) -> None:
        for _ in range(500):
            if self.held:
                break
            self.page.wait_for_timeout(20)
        self.held.pop().continue_()


def test_no_letter_is_lost_however_slow_the_answer_to_a_send_is(person: Person, desktop: Page) -> None:
    """A person types on at once: into a new chat, into one that is there, and on the way to the next one."""
    server = SlowServer(desktop)
    person.sign_in(desktop)
    desktop.goto("/")
    server.wait_for(re.compile("/(start|send)/$"))
    desktop.keyboard.type("Hello there")
    desktop.keyboard.press("Enter")
    desktop.keyboard.type("one two three")
    server.answer()
    desktop.wait_for_url("**/chat/*-*/")
    expect(composer(desktop)).to_have_value("one two three")
    expect(composer(desktop)).to_be_focused()
    desktop.keyboard.press("Enter")
    desktop.keyboard.type("seven eight nine")
    server.answer()
    expect(desktop.locator(".message.user").nth(1)).to_contain_text("one two three")
    expect(composer(desktop)).to_have_value("seven eight nine")
    # Nothing of it is the draft of another chat, and none of that chat's draft is lost.
    first = desktop.url
    server.wait_for(f"{person.oneclaw.url}/")
    desktop.keyboard.press("Control+Shift+O")
    desktop.keyboard.type("ten eleven")
    server.answer()
    desktop.wait_for_url(f"{person.oneclaw.url}/")
    expect(composer(desktop)).to_have_value("ten eleven")
    desktop.goto(first)
    expect(composer(desktop)).to_have_value("seven eight nine")


def test_a_message_that_was_not_taken_comes_back_with_what_was_typed_since(
    person: Person, desktop: Page
) -> None:
    person.sign_in(desktop)
    desktop.goto("/")
    server = SlowServer(desktop)
    server.wait_for("**/start/")
    desktop.keyboard.type("/nonsense")
    desktop.keyboard.press("Enter")
    desktop.keyboard.type("and more")
    server.answer()
    expect(desktop.locator("#refusal")).to_contain_text("no such command")
    expect(composer(desktop)).to_have_value("/nonsense\nand more")
    desktop.reload()
    expect(composer(desktop)).to_have_value("/nonsense\nand more")


def test_the_composer_keeps_the_focus_after_a_click_on_send(person: Person, desktop: Page) -> None:
    open_chat(desktop, person)
    last_reply(desktop)
    say(desktop, "again")
    expect(composer(desktop)).to_be_focused()
    desktop.keyboard.type("next")
    last_reply(desktop, 2)
    expect(composer(desktop)).to_have_value("next")


def test_letters_typed_anywhere_go_into_the_composer(person: Person, desktop: Page) -> None:
    open_chat(desktop, person)
    last_reply(desktop)
    url = desktop.url
    for place in ("#thread", ".side .brand", "body"):
        composer(desktop).fill("")
        desktop.locator(place).evaluate("(box) => { document.activeElement.blur(); box.focus(); }")
        desktop.keyboard.type("major new jazz kit")
        expect(composer(desktop)).to_have_value("major new jazz kit")
    assert desktop.url == url
    assert memory_switch(desktop) == "Memory on"


def test_shortcuts_take_a_modifier(person: Person, desktop: Page) -> None:
    open_chat(desktop, person, "The older one")
    last_reply(desktop)
    older = desktop.url
    desktop.keyboard.press("Control+Shift+O")
    desktop.wait_for_url(f"{person.oneclaw.url}/")
    desktop.keyboard.type("The newer one")
    desktop.keyboard.press("Enter")
    desktop.wait_for_url("**/chat/*-*/")
    last_reply(desktop)
    desktop.keyboard.press("Alt+ArrowDown")
    desktop.wait_for_url(older)
    desktop.keyboard.press("Escape")
    desktop.locator("#thread").focus()
    desktop.keyboard.press("?")
    expect(desktop.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_each_memory_mode_has_a_line_that_says_what_it_does(person: Person, page: Page) -> None:
    open_chat(page, person)
    last_reply(page)
    menu = page.locator(".mode")
    menu.locator("summary").click()
    expect(menu.get_by_text("recalls and remembers")).to_be_visible()
    page.get_by_role("radio", name=re.compile("Memory off")).check(force=True)
    expect(menu.locator("summary")).to_contain_text("Memory off")
    page.reload()
    expect(page.locator(".mode summary")).to_contain_text("Memory off")


def test_the_memory_mode_is_chosen_by_keyboard_and_sends_nothing(person: Person, desktop: Page) -> None:
    open_chat(desktop, person)
    last_reply(desktop)
    composer(desktop).fill("not yet")
    desktop.locator(".mode summary").focus()
    desktop.keyboard.press("Enter")
    expect(desktop.get_by_role("radio", name="Memory on")).to_be_focused()
    desktop.keyboard.press("ArrowDown")
    expect(desktop.locator(".mode summary")).to_contain_text("Read-only")
    desktop.keyboard.press("Enter")
    expect(composer(desktop)).to_be_focused()
    expect(composer(desktop)).to_have_value("not yet")
    expect(replies(desktop)).to_have_count(1)


def test_a_message_is_edited_by_keyboard(person: Person, desktop: Page, models: ModelServer) -> None:
    models.reply("First answer", match=asking("colour"))
    open_chat(desktop, person, "Which colour?")
    last_reply(desktop)
    desktop.evaluate("window.here = true")
    edit = desktop.get_by_role("button", name="Edit and resend")
    edit.focus()
    desktop.keyboard.press("Enter")
    field = desktop.get_by_role("textbox", name="Edit message")
    expect(field).to_be_focused()
    desktop.keyboard.press("End")
    desktop.keyboard.type(" thrown away")
    desktop.keyboard.press("Escape")
    expect(desktop.locator(".message.user .text")).to_have_text("Which colour?")
    expect(edit).to_be_focused()
    assert desktop.evaluate("window.here"), "the page was loaded again"
    desktop.keyboard.press("Enter")
    expect(field).to_be_focused()
    models.reply("Second answer", match=asking("sizes"))
    field.fill("Which sizes?")
    desktop.keyboard.press("End")
    desktop.keyboard.press("Shift+Enter")
    desktop.keyboard.type("And why?")
    desktop.keyboard.press("Enter")
    expect(desktop.locator(".message.user .text")).to_have_text("Which sizes?\nAnd why?")
    expect(last_reply(desktop)).to_contain_text("Second answer")
    expect(composer(desktop)).to_be_focused()


def test_an_unknown_command_is_answered_and_stays_in_the_composer(person: Person, desktop: Page) -> None:
    open_chat(desktop, person)
    last_reply(desktop)
    say(desktop, "/frobnicate now")
    expect(desktop.locator("#refusal")).to_contain_text("no such command")
    expect(composer(desktop)).to_have_value("/frobnicate now")
    say(desktop, "//frobnicate now")
    expect(desktop.locator(".message.user .text").last).to_have_text("/frobnicate now")


def test_nothing_to_summarise_is_a_toast_and_not_a_message(person: Person, desktop: Page) -> None:
    open_chat(desktop, person)
    last_reply(desktop)
    desktop.get_by_label("Chat actions").click()
    desktop.get_by_role("button", name="Summarise earlier messages").click()
    expect(desktop.locator(".toast")).to_contain_text("nothing to summarise")
    desktop.reload()
    last_reply(desktop)
    expect(desktop.locator("#messages .note")).to_have_count(0)


def test_search_hits_are_chosen_by_arrow_keys(person: Person, desktop: Page) -> None:
    open_chat(desktop, person, "A walk in Coimbra")
    last_reply(desktop)
    chat = desktop.url
    desktop.goto("/")
    desktop.keyboard.press("Control+k")
    expect(desktop.get_by_role("searchbox", name="Search")).to_be_focused()
    desktop.keyboard.type("coimbra")
    hit = desktop.locator("#found a").first
    expect(hit).to_contain_text("Coimbra")
    desktop.keyboard.press("ArrowDown")
    expect(hit).to_be_focused()
    desktop.keyboard.press("ArrowUp")
    expect(desktop.get_by_role("searchbox", name="Search")).to_be_focused()
    desktop.keyboard.press("Enter")
    desktop.wait_for_url(re.compile(re.escape(chat)))


def test_a_search_that_is_given_up_leaves_the_list_of_chats(person: Person, desktop: Page) -> None:
    open_chat(desktop, person, "A walk in Coimbra")
    last_reply(desktop)
    desktop.keyboard.press("Control+k")
    desktop.keyboard.type("coimbra")
    expect(desktop.locator("#found a").first).to_be_visible()
    desktop.keyboard.press("Escape")
    expect(desktop.locator("#found a")).to_have_count(0)
    expect(desktop.locator("#chat-list .session")).to_be_visible()


def test_long_lines_of_code_wrap_on_request(person: Person, desktop: Page, models: ModelServer) -> None:
    models.reply(f"```\n{'word ' * 200}\n```", match=asking("code"))
    open_chat(desktop, person, "code")
    code = last_reply(desktop).locator(".code")
    assert code.locator("pre").evaluate("(box) => box.scrollWidth > box.clientWidth")
    code.get_by_role("button", name="Wrap").click()
    expect(code.get_by_role("button", name="Wrap")).to_have_attribute("aria-pressed", "true")
    assert not code.locator("pre").evaluate("(box) => box.scrollWidth > box.clientWidth")


def test_search_finds_memory_too_and_names_a_chat_once(person: Person, desktop: Page) -> None:
    person.sign_in(desktop)
    desktop.goto("/")
    say(desktop, "/remember My bicycle is a green Brompton")
    expect(desktop.locator("#messages")).to_contain_text("Remembered")
    say(desktop, "Where is my Brompton?")
    desktop.wait_for_url("**/chat/*-*/")
    last_reply(desktop)
    say(desktop, "Is the Brompton in the cellar?")
    last_reply(desktop, 2)
    desktop.keyboard.press("Control+k")
    desktop.keyboard.type("Brompton")
    found = desktop.locator("#found")
    expect(found.get_by_role("heading", name="Memory")).to_be_visible()
    expect(found.get_by_text("green Brompton")).to_be_visible()
    expect(found.locator(".found-chat")).to_have_count(1)
    expect(found.locator(".found-chat a")).to_have_count(2)


def test_the_text_of_a_reply_stays_where_it_is_when_the_reply_ends(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    gate = models.gated("One line that stays.", after=3, match=asking("stay"))
    open_chat(desktop, person, "stay")
    growing = desktop.locator(".reply.live .tail p")
    expect(growing).to_contain_text("One line")
    before = growing.bounding_box()
    gate.release()
    after = last_reply(desktop).locator("p").first.bounding_box()
    assert before
    assert after
    assert abs(before["y"] - after["y"]) < 1


def test_an_opened_fold_stays_open_through_tool_rounds_and_the_end(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    models.tool_calls(
        ("get_current_time", {}), match=asking("what time"), thinking="Let me look at the clock."
    )
    gate = models.gated("It is late.", after=1, match=asking("what time"))
    open_chat(desktop, person, "what time")
    desktop.locator(".reply.live .fold summary").first.click()
    gate.release()
    expect(last_reply(desktop).locator(".fold").first).to_have_attribute("open", "")


def test_a_chip_that_was_undone_during_its_reply_says_so_to_the_end(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    models.tool_calls(
        ("save_memory", {"content": "Likes trams", "category": "interests"}), match=asking("trams")
    )
    gate = models.gated("One two three", after=1, match=asking("trams"))
    open_chat(desktop, person, "I like trams")
    desktop.locator(".reply.live .chip").get_by_role("button", name="Undo").click()
    expect(desktop.locator(".reply.live .chip-end")).to_have_text("Undone.")
    gate.release()
    expect(last_reply(desktop).locator(".chip")).to_contain_text("Undone")


def test_an_entry_that_was_deleted_comes_back_by_undo_and_an_edit_is_given_up(
    person: Person, desktop: Page
) -> None:
    person.sign_in(desktop)
    desktop.goto("/")
    say(desktop, "/remember The blue door sticks")
    expect(desktop.locator("#messages")).to_contain_text("Remembered")
    desktop.goto("/memory/")
    entry = desktop.locator(".entry", has_text="blue door")
    entry.get_by_label("Edit this entry").click()
    entry.get_by_label("What to remember").fill("Something else")
    desktop.keyboard.press("Escape")
    expect(entry.get_by_label("What to remember")).to_be_hidden()
    expect(entry.locator("summary")).to_be_focused()
    desktop.keyboard.press("Enter")
    expect(entry.get_by_label("What to remember")).to_have_value(re.compile("blue door"))
    entry.get_by_role("button", name="Delete").click()
    expect(entry).to_have_count(0)
    desktop.locator(".toast").get_by_role("button", name="Undo").click()
    expect(entry).to_have_count(1)
    expect(desktop).to_have_url(re.compile("/memory/$"))


def test_a_form_that_is_refused_leads_to_its_field(person: Person, desktop: Page) -> None:
    person.sign_in(desktop)
    desktop.goto("/settings/agents/new/")
    desktop.get_by_label("Name").fill("   ")
    desktop.get_by_label("Name").press("Enter")
    expect(desktop.locator("[aria-invalid=true]").first).to_be_focused()
