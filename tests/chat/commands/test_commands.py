"""Commands in the composer: each does its work without a model and leaves a note that no model sees."""

from typing import Any

import pytest
from django.test import Client

from chat.commands import commands, notes
from chat.commands.commands import CommandResult, Place
from chat.models import AiModel, Message, Provider, Run, Session
from chat.replies import prompt
from memory.manager import MemoryManager
from people.models import User
from tests.chat.conftest import said

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(user: User, session: Session) -> Place:
    return Place(user, session)


def typed(place: Place, text: str) -> CommandResult:
    found = commands.parse(text)
    assert found
    return commands.run(place, found)


def a_model(name: str = "llama3", **values: Any) -> AiModel:
    provider = Provider.objects.create(name=f"P {name}", kind="openai", base_url="http://127.0.0.1:9/v1")
    return AiModel.objects.create(provider=provider, name=name, **values)


# What is a command


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "/usr/bin/env",
        "/etc/hosts",
        "//remember me",
        "a /remember",
        "/",
        "/ remember",
        "/123",
        "/Remember x",
    ],
)
def test_a_message_is_a_message(text: str):
    assert commands.parse(text) is None


def test_a_command_is_told_from_its_argument():
    found = commands.parse("  /remember I prefer\ntrains ")
    assert found
    assert found.command is commands.BY_NAME["remember"]
    assert found.argument == "I prefer\ntrains"


def test_a_slip_of_the_finger_is_not_sent_to_a_model(place: Place):
    outcome = typed(place, "/remeber I prefer trains")
    assert outcome.data["failed"]
    assert "/remember" in outcome.text
    assert not Run.objects.exists()


def test_two_slashes_send_one():
    assert commands.unescaped("//remember me") == "/remember me"
    assert commands.unescaped("// a comment") == "// a comment"


# What each does


def test_remember_keeps_the_words_as_asked_for(place: Place):
    outcome = typed(place, "/remember I prefer trains over planes")
    assert "User requested: I prefer trains over planes" in MemoryManager(place.user).read_long_term_memory()
    assert outcome.data["revision"]


def test_what_is_known_is_not_kept_twice(place: Place):
    typed(place, "/remember I prefer trains over planes")
    assert "already" in typed(place, "/remember  i prefer TRAINS over planes").text
    assert MemoryManager(place.user).read_long_term_memory().count("trains") == 1


@pytest.mark.parametrize("text", ["/remember", "/forget", "/search"])
def test_without_words_the_command_says_how_it_is_used(place: Place, text: str):
    outcome = typed(place, text)
    assert outcome.data["failed"]
    assert text in outcome.text


def test_too_much_is_not_remembered(place: Place):
    assert typed(place, "/remember " + "x" * 5001).data["failed"]
    assert MemoryManager(place.user).read_long_term_memory() == ""


@pytest.mark.parametrize("mode", [Session.MemoryMode.READ_ONLY, Session.MemoryMode.OFF])
def test_where_memory_is_not_written_remember_writes_nothing(place: Place, mode: str):
    assert place.session
    place.session.memory_mode = mode
    assert typed(place, "/remember I prefer trains").data["failed"]
    assert MemoryManager(place.user).read_long_term_memory() == ""


def test_where_memory_is_switched_off_for_the_user_nothing_is_written(place: Place):
    place.user.memory_enabled = False
    assert typed(place, "/remember I prefer trains").data["failed"]


def test_forget_shows_and_removes_nothing(place: Place):
    typed(place, "/remember I prefer trains over planes")
    typed(place, "/remember My sister is called Ana")
    outcome = typed(place, "/forget trains")
    assert [entry["text"] for entry in outcome.data["forget"]] == [
        "User requested: I prefer trains over planes"
    ]
    assert "trains" in MemoryManager(place.user).read_long_term_memory()


def test_forget_finds_other_words_for_the_same_thing(place: Place):
    typed(place, "/remember My sister is called Ana")
    typed(place, "/remember The budget for the kitchen is 9,000 euros")
    outcome = typed(place, "/forget what my sister's name is")
    assert ["Ana" in entry["text"] for entry in outcome.data["forget"]] == [True]


def test_forget_of_something_unknown_offers_nothing(place: Place):
    typed(place, "/remember My sister is called Ana")
    assert "forget" not in typed(place, "/forget quantum chromodynamics").data


def test_memory_shows_the_file(place: Place):
    assert "empty" in typed(place, "/memory").text
    typed(place, "/remember I prefer trains")
    assert "I prefer trains" in typed(place, "/memory").data["markdown"]


def test_search_finds_in_all_of_memory_and_says_where(page: Client, session: Session, user: User):
    memory = MemoryManager(user)
    memory.save_to_long_term_memory("I prefer trains over planes")
    memory.files.append_to_daily_log("2026-02-28", "- Booked the night train to Lisbon")
    page.post(f"/chat/{session.id}/send/", {"text": "/search trains"})
    html = page.get(f"/chat/{session.id}/").content.decode()
    assert "I prefer trains over planes" in html
    assert "Booked the night train to Lisbon" in html
    assert 'href="/memory/logs/2026-02-28/"' in html


def test_a_hit_in_a_past_chat_leads_to_its_message(page: Client, session: Session, user: User):
    past = Session.objects.create(owner=user, title="Kitchen")
    first, _ = said(past, "The new oven is called Prometheus", "A good name for an oven.")
    page.post(f"/chat/{session.id}/send/", {"text": "/search Prometheus oven"})
    html = page.get(f"/chat/{session.id}/").content.decode()
    assert f"/chat/{past.id}/?at={first.id}" in html


def test_search_without_a_hit_says_so(place: Place):
    assert typed(place, "/search xylophone").text == "Nothing in memory matches."


def test_today_writes_the_log_now_and_shows_it(place: Place):
    assert place.session
    said(place.session, "I decided to move to Lisbon in May.", "Splendid!")
    outcome = typed(place, "/today")
    assert "I decided to move to Lisbon in May." in outcome.data["markdown"]
    assert "oneclaw:entry" not in outcome.data["markdown"]


def test_today_without_anything_said_says_so(place: Place):
    assert typed(place, "/today").text.startswith("No daily log of")


def test_today_in_a_chat_without_memory_writes_nothing(place: Place):
    assert place.session
    Session.objects.update(memory_mode=Session.MemoryMode.OFF)
    place.session.refresh_from_db()
    said(place.session, "I decided to move to Lisbon in May.", "Splendid!")
    assert typed(place, "/today").data["markdown"] == ""


def test_today_tells_of_a_model_that_is_down(place: Place):
    a_model(is_default=True)
    assert place.session
    said(place.session, "I decided to move to Lisbon in May.", "Splendid!")
    outcome = typed(place, "/today")
    assert "127.0.0.1:9" in outcome.text or "reach" in outcome.text


def test_model_lists_and_switches_for_this_chat_alone(place: Place):
    first, second = a_model("llama3", is_default=True), a_model("mistral")
    listed = typed(place, "/model").data["models"]
    assert [each["current"] for each in listed] == [True, False]
    typed(place, "/model mistral")
    assert place.session
    place.session.refresh_from_db()
    assert place.session.model == second
    first.refresh_from_db()
    assert first.is_default
    assert typed(place, "/model nonesuch").data["failed"]


def test_a_listed_models_button_switches_to_it(place: Place):
    a_model("llama3", is_default=True)
    other = a_model("llama3.1")
    label = next(m["label"] for m in typed(place, "/model").data["models"] if m["id"] == other.pk)
    typed(place, f"/model {label}")
    assert place.session
    assert place.session.model == other


def test_new_leads_to_a_new_chat(place: Place):
    assert typed(place, "/new").go_to == "/"


def test_new_with_words_sends_them_in_a_new_chat(place: Place):
    outcome = typed(place, "/new What is a bridge?")
    chat = Session.objects.get(title__startswith="What is a bridge")
    assert outcome.go_to == f"/chat/{chat.id}/"
    assert chat.messages.filter(type="user", content="What is a bridge?").exists()


def test_help_names_every_command(page: Client, session: Session):
    page.post(f"/chat/{session.id}/send/", {"text": "/help"})
    html = page.get(f"/chat/{session.id}/").content.decode()
    assert all(html.count(f"/{name}") >= 2 for name in commands.BY_NAME)


def test_a_command_that_breaks_says_so(place: Place, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: Any) -> str:
        raise OSError("disk")

    monkeypatch.setattr(MemoryManager, "read_long_term_memory", broken)
    assert typed(place, "/memory").data["failed"]


# In the chat


def test_a_command_is_a_note_and_no_message(page: Client, session: Session):
    page.post(f"/chat/{session.id}/send/", {"text": "/remember I prefer trains"})
    (note,) = session.messages.all()
    assert (note.type, note.tool_name) == ("system", "command")
    assert not Run.objects.exists()


def test_the_page_gets_the_note_as_a_fragment(page: Client, session: Session):
    answer = page.post(f"/chat/{session.id}/send/", {"text": "/remember I prefer trains"}, headers=HTMX)
    html = answer.content.decode()
    assert "<html" not in html
    assert "Remembered." in html
    assert "Undo" in html


@pytest.mark.parametrize(
    "text", ["/remember " + "x" * 6000, "/remeber I prefer trains", "/etc", "/news of the day"]
)
def test_a_command_that_failed_is_refused_and_stays_in_the_composer(
    page: Client, session: Session, text: str
):
    for address in (f"/chat/{session.id}/send/", "/chat/start/"):
        assert page.post(address, {"text": text}, headers=HTMX)["HX-Retarget"] == "#refusal"
        assert text in page.post(address, {"text": text}).content.decode()
    assert not session.messages.exists()


def test_a_command_on_a_new_chats_page_makes_no_chat(page: Client, user: User):
    answer = page.post("/chat/start/", {"text": "/remember I prefer trains"}, follow=True)
    assert "Remembered." in answer.content.decode()
    assert not Session.objects.exists()
    assert "trains" in MemoryManager(user).read_long_term_memory()
    assert "Remembered." not in page.get("/").content.decode()


def test_what_was_done_there_can_be_undone_there(page: Client, user: User):
    page.post("/chat/start/", {"text": "/remember I prefer trains"}, headers=HTMX)
    answer = page.post("/chat/notes/0/undo/", headers=HTMX)
    assert "Undone." in answer.content.decode()
    assert "trains" not in MemoryManager(user).read_long_term_memory()


def test_undo_takes_back_and_says_so_after_a_reload(page: Client, session: Session, user: User):
    page.post(f"/chat/{session.id}/send/", {"text": "/remember I prefer trains"})
    page.post(f"/chat/notes/{session.messages.get().id}/undo/")
    html = page.get(f"/chat/{session.id}/").content.decode()
    assert "Undone." in html
    assert ">Undo<" not in html
    assert "trains" not in MemoryManager(user).read_long_term_memory()


def test_an_undo_that_can_not_be_says_why(page: Client, session: Session, user: User):
    page.post(f"/chat/{session.id}/send/", {"text": "/remember I prefer trains"})
    MemoryManager(user).long_term.write("# Long-term Memory\n")
    answer = page.post(f"/chat/notes/{session.messages.get().id}/undo/", headers=HTMX)
    assert "can&#x27;t be undone" in answer.content.decode()


def test_forgetting_takes_one_entry_out_and_can_be_undone(page: Client, session: Session, user: User):
    memory = MemoryManager(user)
    memory.save_to_long_term_memory("I prefer trains over planes")
    memory.save_to_long_term_memory("I take trains to Porto")
    page.post(f"/chat/{session.id}/send/", {"text": "/forget trains"})
    note = session.messages.get()
    assert note.tool_data
    assert len(note.tool_data["forget"]) == 2
    page.post(f"/chat/notes/{note.id}/forget/", {"ref": note.tool_data["forget"][0]["ref"]})
    assert "planes" not in memory.read_long_term_memory()
    assert "Porto" in memory.read_long_term_memory()
    page.post(f"/chat/notes/{note.id}/undo/")
    assert "planes" in memory.read_long_term_memory()


def test_an_entry_that_changed_meanwhile_is_not_forgotten(page: Client, session: Session, user: User):
    memory = MemoryManager(user)
    memory.save_to_long_term_memory("I prefer trains over planes")
    page.post(f"/chat/{session.id}/send/", {"text": "/forget trains"})
    note = session.messages.get()
    assert note.tool_data
    memory.update_long_term_memory("trains over planes", "trains over ships")
    answer = page.post(
        f"/chat/notes/{note.id}/forget/", {"ref": note.tool_data["forget"][0]["ref"]}, headers=HTMX
    )
    assert "changed or removed in the meantime" in answer.content.decode()
    assert "ships" in memory.read_long_term_memory()


def test_anothers_note_is_not_there(page: Client, other: User):
    theirs = Session.objects.create(owner=other)
    note = notes.write(theirs, CommandResult("Remembered.", {"revision": 1}))
    assert page.post(f"/chat/notes/{note.id}/undo/").status_code == 404
    assert page.post("/chat/notes/0/undo/").status_code == 404


@pytest.mark.parametrize("action", ["explode", "forget", "undo"])
def test_a_button_that_is_not_there_is_a_404(page: Client, session: Session, action: str):
    note = notes.write(session, CommandResult("Hello"))
    assert page.post(f"/chat/notes/{note.id}/{action}/").status_code == 404


def test_an_ordinary_note_of_the_app_has_no_buttons(page: Client, session: Session):
    row = Message.objects.create(session=session, type="system", content="Agent changed")
    assert page.post(f"/chat/notes/{row.id}/undo/").status_code == 404


def test_what_was_typed_is_escaped(page: Client, session: Session):
    page.post(f"/chat/{session.id}/send/", {"text": "/remember <script>alert(1)</script>"})
    assert "<script>alert" not in page.get(f"/chat/{session.id}/").content.decode()


# Offers


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Remember that I prefer trains.", "I prefer trains"),
        ("please remember: my sister is Ana", "my sister is Ana"),
        ("Don't forget I'm vegetarian!", "I'm vegetarian"),
        ("Merk dir, dass ich Züge mag", "ich Züge mag"),
        ("记住：我喜欢茶", "我喜欢茶"),
        ("Do you remember that trip?", ""),
        ("I remember that day.", ""),
        ("remember", ""),
    ],
)
def test_a_plain_request_to_remember_is_heard(text: str, what: str):
    assert commands.asked_to_remember(text) == what


def test_it_is_offered_where_the_model_can_not_call_tools(page: Client, session: Session, user: User):
    a_model(supports_tools=False, is_default=True)
    page.post(f"/chat/{session.id}/send/", {"text": "Remember that I prefer trains"})
    note = session.messages.get(tool_name="command")
    assert "trains" not in MemoryManager(user).read_long_term_memory()
    page.post(f"/chat/notes/{note.id}/remember/")
    assert "User requested: I prefer trains" in MemoryManager(user).read_long_term_memory()
    note.refresh_from_db()
    assert note.content == "Remembered."


def test_it_is_not_offered_where_the_model_can(session: Session):
    a_model(is_default=True)
    assert notes.offer(session, "Remember that I prefer trains") is None


def test_it_is_not_offered_where_nothing_may_be_kept(session: Session):
    session.memory_mode = Session.MemoryMode.READ_ONLY
    assert notes.offer(session, "Remember that I prefer trains") is None


# Unseen by models


def test_no_model_log_or_index_sees_a_note(session: Session, user: User):
    said(session, "Hello there, how are you?", "Very well, thank you!")
    notes.write(session, CommandResult("Remembered.", {"saved": "zanzibar"}), "/remember zanzibar")
    assert [row.type for row in prompt.said_before(session)] == ["user", "ai_response"]
    memory = MemoryManager(user)
    memory.flush_daily_log(session.id)
    assert "zanzibar" not in memory.read_log(user.today())
    memory.rebuild_index()
    assert not any("zanzibar" in hit.chunk_text for hit in memory.search_memory("zanzibar", 10))


HTMX = {"HX-Request": "true"}
