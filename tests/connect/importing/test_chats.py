"""Chats that come in: with dates and versions, once, and with what is new the next time."""

import html
import json
import zipfile
from datetime import date, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from PIL import Image

from chat.models import Message, Run, Session
from chat.replies import versions
from chat.sessions import search, thread
from connect.importing import preview
from connect.models import Import, Imported
from memory.manager import MemoryManager
from oneclaw import outside
from tests.connect import exports

pytestmark = pytest.mark.django_db


def saved(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def shown(session: Session) -> list[tuple[str, str]]:
    return [(row.type, row.content) for row in thread.shown(session)]


def test_a_chat_comes_with_its_dates_and_its_current_branch(ada, tmp_path, bring):
    import_ = bring(ada, exports.chatgpt(tmp_path / "a.zip", [exports.branching()]))
    assert import_.status == Import.Status.DONE
    assert (import_.added["chats"], import_.added["messages"]) == (1, 10)
    session = Session.objects.get(owner=ada)
    assert session.created_at == exports.SPRING
    assert session.active_at == exports.SPRING + timedelta(minutes=6)
    assert [text for kind, text in shown(session) if kind == "user"] == [
        "Where should we eat in Ghent with children?",
        "Is it open on Mondays?",
    ]
    assert session.preview == "Yes, from nine."
    assert not Run.objects.filter(status__in=Run.OPEN).exists()


def test_versions_can_be_turned_to_and_back(ada, tmp_path, bring):
    bring(ada, exports.chatgpt(tmp_path / "a.zip", [exports.branching()]))
    session = Session.objects.get(owner=ada)
    before = shown(session)
    first = Message.objects.get(content="Where should we eat in Ghent?")
    versions.switch(session, first.id)
    assert shown(session) == [("user", "Where should we eat in Ghent?"), ("ai_response", "Try the Graslei.")]
    item = thread.newest(session).items[0]
    assert (len(item.versions), item.number) == (2, 1)
    versions.switch(session, item.versions[1])
    assert shown(session) == before


def test_a_reply_with_tools_is_one_item_of_the_page(ada, tmp_path, bring):
    bring(ada, exports.chatgpt(tmp_path / "a.zip", [exports.branching()]))
    items = thread.newest(Session.objects.get(owner=ada)).items
    assert [item.kind for item in items] == ["user", "reply", "user", "reply"]
    call = items[1].parts[1]
    assert isinstance(call, thread.ShownCall)
    assert call.result
    assert call.result.content == "Mokabon, Max"


def test_the_same_archive_twice_adds_nothing(ada, tmp_path, bring):
    path = exports.chatgpt(
        tmp_path / "a.zip", [exports.branching(), exports.plain("c2", "Two", "Hello", "Hi")]
    )
    bring(ada, path)
    counts = Session.objects.count(), Message.objects.count(), Run.objects.count()
    again = bring(ada, path)
    assert again.added["chats"] == again.added["messages"] == again.added["memories"] == 0
    assert again.plan["known"] == 2
    assert (Session.objects.count(), Message.objects.count(), Run.objects.count()) == counts


def test_a_newer_export_adds_only_what_is_new(ada, tmp_path, bring):
    old = [exports.plain("c1", "One", "Hello", "Hi")]
    bring(ada, exports.chatgpt(tmp_path / "a.zip", old))
    new = [
        exports.plain("c1", "One", "Hello", "Hi", "How are you?", "Well"),
        exports.plain("c2", "Two", "A", "B"),
    ]
    import_ = bring(ada, exports.chatgpt(tmp_path / "b.zip", new))
    assert (import_.added["chats"], import_.added["more"]) == (1, 2)
    session = Session.objects.get(title="One")
    assert [text for _, text in shown(session)] == ["Hello", "Hi", "How are you?", "Well"]
    assert MemoryManager(ada).missed_chats() == []


def test_an_answer_made_again_there_is_the_version_on_the_page_here(ada, tmp_path, bring):
    chat = exports.plain("c1", "One", "Hello", "Hi")
    bring(ada, exports.chatgpt(tmp_path / "a.zip", [chat]))
    chat["mapping"]["new"] = exports.node("new", "c1-0", "assistant", "Good day")
    chat["current_node"] = "new"
    bring(ada, exports.chatgpt(tmp_path / "b.zip", [chat]))
    session = Session.objects.get()
    assert [text for _, text in shown(session)] == ["Hello", "Good day"]
    versions.switch(session, Message.objects.get(content="Hi").id)
    assert [text for _, text in shown(session)] == ["Hello", "Hi"]


def test_a_chat_gone_on_with_here_is_left_as_it_is_and_that_is_said(ada, tmp_path, bring):
    bring(ada, exports.chatgpt(tmp_path / "a.zip", [exports.plain("c1", "One", "Hello", "Hi")]))
    session = Session.objects.get()
    Message.objects.create(session=session, type="user", content="And here?")
    new = [exports.plain("c1", "One", "Hello", "Hi", "There", "Well")]
    import_ = bring(ada, exports.chatgpt(tmp_path / "b.zip", new))
    assert [text for _, text in shown(session)] == ["Hello", "Hi", "And here?"]
    assert "went on with this chat" in import_.added["skipped"][0]["why"]


def test_a_chat_deleted_here_stays_away(ada, tmp_path, bring):
    bring(ada, exports.chatgpt(tmp_path / "a.zip", [exports.plain("c1", "One", "Hello", "Hi")]))
    Session.objects.update(deleted_at=timezone.now())
    new = [exports.plain("c1", "One", "Hello", "Hi", "There", "Well")]
    assert "deleted" in bring(ada, exports.chatgpt(tmp_path / "b.zip", new)).plan["skipped"][0]["why"]
    assert Message.objects.count() == 2


def test_another_person_gets_chats_of_their_own(ada, ben, tmp_path, bring):
    path = exports.chatgpt(tmp_path / "a.zip", [exports.plain("c1", "One", "Hello", "Hi")])
    bring(ada, path)
    bring(ben, path)
    assert Session.objects.filter(owner=ada).count() == Session.objects.filter(owner=ben).count() == 1


def test_imported_chats_are_found_at_once(ada, tmp_path, bring):
    turns = ("Our plumber is called Wendelin Krause", "Noted.")
    bring(ada, exports.chatgpt(tmp_path / "a.zip", [exports.plain("c1", "House", *turns)]))
    assert search.find(ada, "Wendelin")[0].message_id
    hit = MemoryManager(ada).search_memory("What is the plumber called?")[0]
    assert "Wendelin Krause" in hit.chunk_text
    assert hit.source_date == "2026-04-11"


def test_no_trigger_summarises_what_was_imported(ada, tmp_path, bring):
    bring(ada, exports.chatgpt(tmp_path / "a.zip", [exports.branching()]))
    assert MemoryManager(ada).missed_chats() == []
    Message.objects.create(session=Session.objects.get(), type="user", content="And now?")
    assert MemoryManager(ada).flush_chats()[0].messages == 1


def test_a_dry_run_writes_nothing(ada, tmp_path, monkeypatch):
    from connect.importing.commands import from_disk

    import_ = from_disk(ada, exports.chatgpt(tmp_path / "a.zip", [exports.branching()]), dry_run=True)
    assert (import_.plan["chats"], import_.plan["messages"], import_.plan["memories"]) == (1, 10, 2)
    assert (import_.plan["first"], import_.plan["last"]) == ("2026-04-11", "2026-04-11")
    assert not Session.objects.exists()
    assert not Import.objects.exists()
    assert not Imported.objects.exists()
    assert MemoryManager(ada).read_long_term_memory() == ""


def undated(key: str, *turns: str, when: float = 0.0) -> dict[str, Any]:
    """A chat whose every date is 1970's, or 2090's."""
    chat = exports.plain(key, key, *turns)
    chat["create_time"] = chat["update_time"] = when
    for each in chat["mapping"].values():
        if each["message"]:
            each["message"]["create_time"] = when
    return chat


def made_in(path: Path, year: int, month: int, day: int) -> Path:
    """The same ZIP, its files of another day."""
    with zipfile.ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, data in files.items():
            new.writestr(zipfile.ZipInfo(name, (year, month, day, 12, 0, 0)), data)
    return path


@pytest.mark.parametrize("when", [0.0, 3_800_000_000.0])
def test_a_chat_without_a_usable_date_gets_that_of_the_export_and_it_is_said(
    ada, tmp_path, bring, when, client
):
    chats = [
        undated("odd", "The plumber is called Wendelin", "Noted.", when=when),
        exports.plain("even", "Even", "Hello", "Hi"),
    ]
    import_ = bring(ada, made_in(exports.chatgpt(tmp_path / "a.zip", chats), 2026, 5, 2))
    assert (import_.plan["undated"], import_.plan["undated_as"]) == (1, "2026-05-02")
    assert import_.added["undated"] == 1
    assert "it gets that of the export, 2026-05-02" in import_.added["redated"][0]["why"]
    session = Session.objects.get(title="odd")
    assert session.created_at.date() == session.active_at.date() == date(2026, 5, 2)
    hit = MemoryManager(ada).search_memory("What is the plumber called?")[0]
    assert hit.source_date == "2026-05-02"
    client.force_login(ada)
    page = client.get(reverse("settings:import", args=[import_.pk])).content.decode()
    said = "1 of the chats has no usable date and gets that of the export, 2 May 2026"
    assert said in " ".join(page.split())
    # What comes to it later and says no date either is not today's.
    more = [undated("odd", "The plumber is called Wendelin", "Noted.", "Thanks", "Welcome.", when=when)]
    bring(ada, made_in(exports.chatgpt(tmp_path / "b.zip", more), 2026, 6, 2))
    assert {row.created_at.date() for row in session.messages.all()} == {date(2026, 5, 2)}


def test_the_date_of_another_message_is_better_than_the_exports(ada, tmp_path, bring):
    chat = undated("odd", "Hello", "Hi", "How are you?", "Well")
    chat["mapping"]["odd-2"]["message"]["create_time"] = exports.SPRING.timestamp()
    import_ = bring(ada, made_in(exports.chatgpt(tmp_path / "a.zip", [chat]), 2026, 5, 2))
    assert import_.plan["undated"] == 0
    session = Session.objects.get()
    assert {row.created_at for row in session.messages.all()} == {session.created_at} == {exports.SPRING}


def open_webui_at(when: float) -> list[dict[str, Any]]:
    chats = exports.open_webui()
    chats[0]["chat"]["history"]["messages"]["a"]["timestamp"] = when
    return chats


def libre_at(when: str) -> dict[str, Any]:
    chat = exports.librechat()
    chat["messages"][1]["createdAt"] = when
    return chat


@pytest.mark.parametrize(("when", "day"), [(0.0, "1970-01-01"), (3_786_912_000.0, "2090-01-01")])
def test_a_message_with_an_impossible_date_comes_and_it_is_said_which(
    ada, tmp_path, bring, client, when, day
):
    chat = exports.plain("c1", "Bread", "Hello", "Hi", "How are you?", "Well")
    chat["mapping"]["c1-2"]["message"]["create_time"] = when
    import_ = bring(ada, exports.chatgpt(tmp_path / "a.zip", [chat]))
    why = f"The date of a message can't be ({day}): it gets that of the message before."
    assert import_.plan["redated"] == import_.added["redated"] == [{"what": "Bread", "why": why}]
    rows = list(Session.objects.get().messages.order_by("id"))
    assert rows[2].created_at == rows[1].created_at
    client.force_login(ada)
    page = html.unescape(client.get(reverse("settings:import", args=[import_.pk])).content.decode())
    assert "1 came with another date" in page
    assert why in page
    import_.status = Import.Status.READY
    import_.save()
    page = html.unescape(client.get(reverse("settings:import", args=[import_.pk])).content.decode())
    assert "1 would come with another date" in page
    assert why in page
    # The second time nothing comes, so nothing is said of it.
    assert bring(ada, exports.chatgpt(tmp_path / "b.zip", [chat])).plan["redated"] == []


@pytest.mark.parametrize("archive", [open_webui_at(0), libre_at("2090-01-01T00:00:00.000Z")])
def test_impossible_dates_are_said_of_every_kind(ada, tmp_path, bring, archive):
    import_ = bring(ada, saved(tmp_path / "a.json", archive))
    assert "The date of a message can't be" in import_.added["redated"][0]["why"]


def test_a_chat_whose_own_date_is_impossible_gets_its_first_messages(ada, tmp_path, bring):
    chat = exports.plain("c1", "Bread", "Hello", "Hi")
    chat["create_time"] = 0
    import_ = bring(ada, exports.chatgpt(tmp_path / "a.zip", [chat]))
    assert import_.added["redated"] == [
        {"what": "Bread", "why": "Its date can't be (1970-01-01): it gets that of its first message."}
    ]
    assert Session.objects.get().created_at == exports.SPRING


def test_an_archive_that_says_no_time_either_is_of_now(ada, tmp_path, bring):
    path = made_in(exports.chatgpt(tmp_path / "a.zip", [undated("odd", "Hello", "Hi")]), 1980, 1, 1)
    bring(ada, path)
    assert Session.objects.get().created_at.date() == timezone.now().date()


def test_the_preview_remembers_so_many_chats_only(ada, tmp_path, bring, monkeypatch):
    monkeypatch.setattr(preview, "MOST_SEEN", 2)
    chats = [exports.plain(f"c{number}", "One", "Hello", "Hi") for number in (1, 1, 2, 3, 4)]
    import_ = bring(ada, exports.chatgpt(tmp_path / "a.zip", chats))
    assert (import_.plan["chats"], import_.plan["known"], import_.added["chats"]) == (4, 1, 4)


def test_every_kind_comes_in(ada, tmp_path, bring):
    bring(ada, exports.claude(tmp_path / "c.zip"))
    bring(ada, saved(tmp_path / "o.json", exports.open_webui()))
    bring(ada, saved(tmp_path / "l.json", exports.librechat(recursive=True)))
    assert set(Session.objects.values_list("title", flat=True)) == {"Sourdough", "Weather", "Rivers"}
    assert Session.objects.get(title="Weather").pinned
    thinking = Message.objects.exclude(thinking="").values_list("thinking", flat=True)
    assert set(thinking) == {"Rye is slow.", "Oslo is cold.\nAsk the tool.", "Bonn lies on the Rhine."}
    for session in Session.objects.all():
        assert thread.newest(session).items


def test_script_in_a_title_is_text(ada, client, tmp_path, bring):
    title = "<script>alert(1)</script>"
    bring(ada, exports.chatgpt(tmp_path / "a.zip", [exports.plain("c1", title, "Hello", "<b>Hi</b>")]))
    client.force_login(ada)
    page = client.get(reverse("chat:session", args=[Session.objects.get().id])).content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_pictures_of_the_archive_come_with_their_messages(ada, tmp_path, bring):
    picture = BytesIO()
    Image.new("RGB", (20, 10), "red").save(picture, "PNG")
    asked = exports.node(
        "u",
        None,
        "user",
        content={
            "content_type": "multimodal_text",
            "parts": [
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-AbC1"},
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-Gone"},
                "What is this?",
            ],
        },
    )
    chat = exports.conversation([asked, exports.node("a", "u", "assistant", "Red.")], "a")
    path = exports.chatgpt(tmp_path / "a.zip", [chat])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("file-AbC1-holiday.png", picture.getvalue())
    import_ = bring(ada, path)
    assert import_.added["attachments"] == 1
    attachment = Message.objects.get(content="What is this?").attachments.get()
    assert (attachment.kind, attachment.width, attachment.height) == ("image", 20, 10)
    assert {"what": "file-Gone", "why": "The archive only names this file; it does not hold it."} in (
        import_.added["skipped"]
    )
    assert bring(ada, path).added["attachments"] == 0


def test_what_nests_too_deep_is_cut_off_not_raised(ada, tmp_path, bring):
    deep: Any = "\0end"
    for _ in range(5_000):
        deep = [deep]
    cut = json.dumps(outside.plain({"input": deep}), ensure_ascii=False)
    assert cut.count("[") == outside.DEEPEST
    assert outside.TOO_DEEP in cut


def test_a_receipt_is_one_that_any_database_takes(ada, tmp_path, bring):
    said = {"id": 1, "type": "user", "content": "Hello", "receipt": {"why": "a\0b"}}
    bring(ada, saved(tmp_path / "c.json", {"format": "oneclaw-chat", "id": "c", "messages": [said]}))
    assert Message.objects.get().receipt == {"why": "ab"}
