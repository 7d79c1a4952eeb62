"""Pictures and files in the composer and in messages: chosen, pasted, dropped, removed, sent, seen."""

import base64
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import FilePayload, Locator, Page, Route, expect

from tests.browser.chatting import asking, composer, last_reply, scrolls_sideways
from tests.browser.conftest import Person, make_admin, provider
from tests.chat.attachments import made
from tests.modelserver import ModelServer
from tests.running import Running
from tests.running import oneclaw as running_oneclaw

GIVE = """([kind, files]) => {
    const data = new DataTransfer();
    for (const [name, type, text] of files) {
        const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
        data.items.add(new File([bytes], name, { type }));
    }
    const event = kind === "paste"
        ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
        : new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector("#composer textarea").dispatchEvent(event);
}"""


@pytest.fixture(scope="module")
def oneclaw(tmp_path_factory: pytest.TempPathFactory, shared_models: ModelServer) -> Iterator[Running]:
    """One with a model that sees, by its name, and one that doesn't."""
    settings = provider(shared_models) | {"ONECLAW_MODEL": "scripted-vl scripted-model"}
    with running_oneclaw(tmp_path_factory.mktemp("seeing"), **settings) as running:
        yield running


@pytest.fixture(scope="module")
def admin(oneclaw: Running) -> Person:
    return make_admin(oneclaw)


def payload(name: str, data: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


def choose(page: Page, *files: tuple[str, bytes]) -> None:
    page.get_by_label("Attach files", exact=True).set_input_files([payload(*file) for file in files])


def give(page: Page, kind: str, *files: tuple[str, bytes]) -> None:
    """Paste or drop files as the person's system would."""
    packed = [[name, "image/png", base64.b64encode(data).decode()] for name, data in files]
    page.evaluate(GIVE, [kind, packed])


def attached(page: Page) -> Locator:
    return page.locator("#attached li")


def ready(page: Page, count: int) -> None:
    expect(page.locator("#attached [name=attachment]")).to_have_count(count)


def begin(page: Page, person: Person) -> None:
    person.sign_in(page)
    page.goto("/")


def press_send(page: Page) -> None:
    page.get_by_role("button", name="Send", exact=True).click()


def test_a_pasted_screenshot_is_sent_without_the_mouse(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    models.reply("A red square.", match=asking("What colour"))
    begin(desktop, person)
    expect(composer(desktop)).to_be_focused()
    give(desktop, "paste", ("image.png", made.picture((300, 200))))
    desktop.keyboard.type("What colour is it?")
    ready(desktop, 1)
    expect(composer(desktop)).to_be_focused()
    desktop.keyboard.press("Enter")
    desktop.wait_for_url("**/chat/*-*/")
    expect(last_reply(desktop)).to_contain_text("A red square.")
    shown = desktop.get_by_role("img", name="image.png")
    expect(shown).to_be_visible()
    assert shown.evaluate("(image) => image.naturalWidth") == 300
    assert any("data:image/png;base64," in each.text for each in models.asked)
    expect(attached(desktop)).to_have_count(0)


def test_several_files_keep_their_order_and_one_is_taken_out(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    begin(desktop, person)
    give(desktop, "drop", ("one.png", made.picture()), ("two.png", made.picture(colour="blue")))
    choose(desktop, ("three.txt", b"Three"), ("four.pdf", made.pdf("Four", "More")))
    ready(desktop, 4)
    expect(attached(desktop)).to_contain_text(["one.png", "two.png", "three.txt", "four.pdf"])
    expect(attached(desktop).last).to_contain_text("PDF, 2 pages")
    desktop.get_by_role("button", name="Remove two.png").click()
    expect(attached(desktop)).to_have_count(3)
    desktop.reload()
    expect(attached(desktop)).to_contain_text(["one.png", "three.txt", "four.pdf"])
    press_send(desktop)
    desktop.wait_for_url("**/chat/*-*/")
    last_reply(desktop)
    message = desktop.locator(".message.user")
    expect(message.locator(".attachments li")).to_have_count(3)
    expect(message).to_contain_text("three.txt")
    expect(attached(desktop)).to_have_count(0)
    message.get_by_role("img", name="one.png").click()
    with desktop.expect_popup() as opened:
        desktop.get_by_role("link", name="Open in a new tab").click()
    opened.value.wait_for_load_state()
    assert opened.value.evaluate("document.images[0].naturalWidth") == 40
    opened.value.close()
    desktop.keyboard.press("Escape")
    with desktop.expect_download() as saved:
        message.get_by_role("link", name="three.txt").click()
    assert saved.value.suggested_filename == "three.txt"


def test_a_refused_file_says_why_at_its_place_and_the_message_stays(person: Person, desktop: Page) -> None:
    begin(desktop, person)
    composer(desktop).fill("Look at this")
    choose(desktop, ("photo.png", b"not a picture"), ("notes.txt", b"fine"))
    expect(attached(desktop).first).to_contain_text("photo.png is not what its name says")
    ready(desktop, 1)
    expect(composer(desktop)).to_have_value("Look at this")
    desktop.get_by_role("button", name="Dismiss photo.png").click()
    expect(attached(desktop)).to_have_count(1)
    press_send(desktop)
    desktop.wait_for_url("**/chat/*-*/")
    expect(desktop.locator(".message.user")).to_contain_text("notes.txt")


def test_a_message_waits_for_the_file_that_goes_up(person: Person, desktop: Page) -> None:
    begin(desktop, person)
    held: list[Route] = []
    desktop.route("**/chat/files/", lambda route: held.append(route))
    composer(desktop).fill("With a file")
    choose(desktop, ("late.txt", b"Late, but there"))
    expect(desktop.locator("#attached progress")).to_be_visible()
    press_send(desktop)
    expect(desktop.locator("#composer")).to_have_attribute("aria-busy", "true")
    press_send(desktop)
    assert "/chat/" not in desktop.url
    while not held:
        desktop.wait_for_timeout(20)
    held[0].continue_()
    desktop.wait_for_url("**/chat/*-*/")
    expect(desktop.locator(".message.user")).to_have_count(1)
    expect(desktop.locator(".message.user")).to_contain_text("late.txt")


def test_a_model_that_can_not_see_says_so_before_sending(person: Person, desktop: Page) -> None:
    begin(desktop, person)
    said = desktop.get_by_text("This model can't see pictures.")
    choose(desktop, ("shot.png", made.picture()))
    ready(desktop, 1)
    expect(said).to_be_hidden()
    picker = desktop.get_by_label("Model", exact=True)
    picker.select_option(label=f"scripted-model · 127.0.0.1:{port(desktop)}")
    expect(said).to_be_visible()
    composer(desktop).fill("What is it?")
    press_send(desktop)
    expect(desktop.locator("#refusal")).to_contain_text("scripted-model can't see pictures")
    expect(said).to_be_hidden()  # once is enough
    expect(composer(desktop)).to_have_value("What is it?")
    picker.select_option("")
    expect(desktop.locator("#refusal")).to_be_hidden()
    expect(said).to_be_hidden()
    press_send(desktop)
    desktop.wait_for_url("**/chat/*-*/")
    expect(desktop.get_by_role("img", name="shot.png")).to_be_visible()


def port(page: Page) -> str:
    """The scripted server's, which is part of its provider's name."""
    options = page.get_by_label("Model", exact=True).locator("option").all_inner_texts()
    return next(text for text in options if "·" in text).rpartition(":")[2]


def test_everything_can_be_done_by_keyboard(person: Person, desktop: Page) -> None:
    begin(desktop, person)
    choose(desktop, ("a.txt", b"A"), ("b.txt", b"B"))
    ready(desktop, 2)
    expect(composer(desktop)).to_be_focused()
    desktop.keyboard.press("Shift+Tab")
    expect(desktop.get_by_role("button", name="Remove b.txt")).to_be_focused()
    desktop.keyboard.press("Enter")
    expect(attached(desktop)).to_have_count(1)
    expect(composer(desktop)).to_be_focused()
    desktop.keyboard.press("Tab")
    expect(desktop.get_by_label("Attach files", exact=True)).to_be_focused()
    composer(desktop).focus()
    desktop.keyboard.press("Enter")
    desktop.wait_for_url("**/chat/*-*/")
    expect(desktop.locator(".message.user")).to_contain_text("a.txt")


def test_a_picture_opens_whole_over_the_page_and_is_left_by_keyboard(person: Person, page: Page) -> None:
    begin(page, person)
    give(page, "drop", ("one.png", made.picture((300, 200))), ("two.png", made.picture(colour="blue")))
    ready(page, 2)
    viewer = page.get_by_role("dialog")
    page.get_by_role("link", name="Look at one.png").press("Enter")
    expect(viewer).to_contain_text("one.png")
    page.keyboard.press("Escape")
    expect(viewer).to_be_hidden()
    press_send(page)
    page.wait_for_url("**/chat/*-*/")
    last_reply(page)
    picture = page.locator(".message.user").get_by_role("link", name="one.png")
    picture.press("Enter")
    expect(viewer).to_contain_text("1 of 2")
    expect(viewer.get_by_role("button", name="Close")).to_be_focused()
    shown = viewer.get_by_role("img")
    expect(shown).to_have_js_property("naturalWidth", 300)
    page.keyboard.press("ArrowRight")
    expect(viewer.get_by_role("heading")).to_have_text("two.png")
    expect(shown).to_have_js_property("naturalWidth", 40)
    page.keyboard.press("ArrowRight")
    expect(viewer).to_contain_text("1 of 2")
    assert not scrolls_sideways(page)
    assert Axe().run(page).violations_count == 0
    page.keyboard.press("Escape")
    expect(viewer).to_be_hidden()
    expect(picture).to_be_focused()
    picture.click()
    viewer.get_by_role("button", name="Previous picture").click()
    expect(viewer.get_by_role("heading")).to_have_text("two.png")
    # Beside the picture is nothing: that closes it too.
    viewer.locator(".viewer-stage").click(position={"x": 3, "y": 3})
    expect(viewer).to_be_hidden()


def test_an_edited_message_shows_and_keeps_its_files(person: Person, desktop: Page) -> None:
    begin(desktop, person)
    choose(desktop, ("shot.png", made.picture()))
    ready(desktop, 1)
    composer(desktop).fill("First words")
    press_send(desktop)
    desktop.wait_for_url("**/chat/*-*/")
    last_reply(desktop)
    desktop.locator(".message.user").hover()
    desktop.get_by_label("Edit and resend").click()
    editing = desktop.get_by_role("textbox", name="Edit message")
    expect(editing).to_be_visible()
    expect(desktop.get_by_role("img", name="shot.png")).to_be_visible()
    editing.fill("Other words")
    editing.press("Enter")
    expect(desktop.locator(".message.user .text")).to_have_text("Other words")
    expect(desktop.get_by_role("img", name="shot.png")).to_be_visible()


def test_text_copied_with_a_picture_of_itself_is_pasted_as_text(person: Person, desktop: Page) -> None:
    begin(desktop, person)
    desktop.evaluate(
        """() => {
            const data = new DataTransfer();
            data.setData("text/plain", "cells");
            data.items.add(new File(["x"], "image.png", { type: "image/png" }));
            const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true });
            document.querySelector("#composer textarea").dispatchEvent(event);
        }"""
    )
    expect(attached(desktop)).to_have_count(0)


def test_a_phone_shows_files_and_a_camera_without_scrolling_sideways(person: Person, phone: Page) -> None:
    begin(phone, person)
    phone.get_by_label("Attach", exact=True).tap()
    camera = phone.get_by_label("Take a photo")
    expect(camera).to_be_visible()
    assert (camera.get_attribute("capture"), camera.get_attribute("accept")) == ("environment", "image/*")
    camera.set_input_files([payload("IMG_1.jpg", made.photo_with_place())])
    ready(phone, 1)
    expect(camera).to_be_hidden()
    wide = "a rather long name for a file that somebody keeps on a phone.png"
    choose(phone, (wide, made.picture((900, 300))), ("b.csv", b"a,b\n1,2"), ("c.txt", b"C"))
    ready(phone, 4)
    assert not scrolls_sideways(phone)
    press_send(phone)
    phone.wait_for_url("**/chat/*-*/")
    last_reply(phone)
    assert not scrolls_sideways(phone)
    box = phone.get_by_role("img", name=wide).bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(person: Person, desktop: Page, theme: str) -> None:
    desktop.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    begin(desktop, person)
    choose(desktop, ("shot.png", made.picture()), ("b.csv", b"a,b\n1,2"), ("bad.png", b"no"))
    ready(desktop, 2)
    expect(desktop.locator("#attached .failed")).to_be_visible()
    assert Axe().run(desktop).response["violations"] == []
    press_send(desktop)
    desktop.wait_for_url("**/chat/*-*/")
    last_reply(desktop)
    assert Axe().run(desktop).response["violations"] == []


def by_tab(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Move the focus as a person without a mouse does."""
    for _ in range(60):
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} never came to {wanted}")


def test_a_conversation_with_a_screenshot_and_memory_needs_no_mouse(
    person: Person, desktop: Page, models: ModelServer
) -> None:
    """Write, paste a screenshot, ask about it, see what memory was used, forget a line of it, begin anew."""
    models.reply("It shows a map.", match=asking("map"))
    log = person.oneclaw.data_dir / "memory" / person.username / "daily" / "2026-02-28.md"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("# Daily Log - 2026-02-28\n\n- Bought a map of night trains in Porto\n")
    desktop.context.grant_permissions(["clipboard-read", "clipboard-write"])
    keys = desktop.keyboard
    begin(desktop, person)
    keys.type("/remember I collect maps of night trains")
    keys.press("Enter")
    expect(desktop.get_by_text("Remembered.")).to_be_visible()
    packed = base64.b64encode(made.picture((300, 200))).decode()
    desktop.evaluate(
        """async (text) => {
            const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
            const picture = new Blob([bytes], { type: "image/png" });
            await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
        }""",
        packed,
    )
    keys.press("Control+V")
    keys.type("Which of my maps of night trains is this?")
    ready(desktop, 1)
    keys.press("Enter")
    desktop.wait_for_url("**/chat/*-*/")
    reply = last_reply(desktop)
    expect(reply).to_contain_text("It shows a map.")
    expect(composer(desktop)).to_be_focused()
    by_tab(desktop, reply.get_by_role("link", name="2 memories"), "Shift+Tab")
    keys.press("Enter")
    dialog = desktop.get_by_role("dialog", name="Memory in this reply")
    line = dialog.locator(".recalled > li", has_text="Porto").first
    by_tab(desktop, line.get_by_role("button", name="Forget"))
    keys.press("Enter")
    expect(line).to_contain_text("Forgotten: 1 log item.")
    assert not log.exists()
    keys.press("Escape")
    expect(dialog).to_be_hidden()
    keys.press("Control+Shift+O")
    desktop.wait_for_url(f"{person.oneclaw.url}/")
    keys.type("my next question, at once")
    expect(composer(desktop)).to_have_value("my next question, at once")
    keys.press("Enter")
    desktop.wait_for_url("**/chat/*-*/")
    expect(desktop.locator(".message.user .text")).to_have_text("my next question, at once")
