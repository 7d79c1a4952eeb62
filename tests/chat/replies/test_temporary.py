"""Temporary chats: while a page shows them they are chats, and then there is nothing of them anywhere."""

import sqlite3
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat import tasks
from chat.attachments import storage
from chat.models import AiModel, Attachment, Message, OpenPage, Run, Session
from chat.replies import sending, temporary
from chat.sessions import search, sessions
from memory.manager import MemoryManager
from oneclaw import wiring
from oneclaw.backup import archive
from people.models import User
from tests.chat.conftest import settle, until
from tests.modelserver import ModelServer
from tests.running import database_of_tests

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
Make = Callable[..., AiModel]
SAID = "Quetzalcoatlus breakfast plan"
ANSWERED = "Feed it xiphosuran crumbs"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "GRACE", 0.05)


def begin(page: Client, server: ModelServer) -> Session:
    """A temporary chat with one reply."""
    server.reply(ANSWERED)
    page.post(reverse("chat:start"), {"text": SAID, "temporary": "1"})
    settle()
    return Session.objects.get(temporary=True)


def shown(page: Client, chat: Session) -> str:
    """Open the chat on a page; the page's token."""
    answer = page.get(reverse("chat:session", args=[chat.id]))
    assert SAID in answer.content.decode()
    return str(answer.context["open_page"])


def leave(who: Client, chat: Session, **fields: str) -> int:
    return who.post(reverse("chat:leave", args=[chat.id]), fields).status_code


def tables_with(words: str) -> list[str]:
    """The tables that hold words in any column, virtual ones and queues too."""
    with connection.cursor() as cursor:
        found = []
        for name in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{name}"')
            if any(words.casefold() in str(value).casefold() for row in cursor.fetchall() for value in row):
                found.append(name)
    return found


def files_with(folder: Path, *words: str) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(word.encode() in path.read_bytes() for word in words)]


def test_it_uses_no_memory_and_leaves_no_trace(
    page: Client, user: User, make_provider: Make, model_server: ModelServer, data_dir: Path
):
    make_provider()
    memory = MemoryManager(user)
    memory.save_to_long_term_memory("Keeps seven peacocks")
    chat = begin(page, model_server)
    assert "peacocks" not in model_server.asked[0].text
    assert "save_memory" not in model_server.asked[0].tool_names
    assert len(model_server.asked) == 1, "a title was asked for"
    token = shown(page, chat)
    assert tables_with("Quetzalcoatlus") == ["chat_message"]
    assert search.find(user, "Quetzalcoatlus") == []
    assert not memory.search_memory("Quetzalcoatlus breakfast")
    assert memory.flush_daily_log(chat.id).ok
    assert leave(page, chat, page=token) == 204
    until(lambda: not Session.objects.filter(id=chat.id).exists())
    for words in (SAID, "Quetzalcoatlus", "xiphosuran"):
        assert tables_with(words) == []
    assert not Run.objects.exists()
    assert not OpenPage.objects.exists()
    assert files_with(data_dir, "Quetzalcoatlus", "xiphosuran") == []


@pytest.mark.sqlite
def test_not_even_what_sqlite_has_marked_as_free_holds_it(
    page: Client, user: User, make_provider: Make, model_server: ModelServer
):
    make_provider()
    chat = begin(page, model_server)
    assert tables_with("Quetzalcoatlus") == ["chat_message"]
    assert leave(page, chat, page=shown(page, chat)) == 204
    until(lambda: not Session.objects.filter(id=chat.id).exists())
    temporary.empty_log()
    database = Path(connection.settings_dict["NAME"])
    assert b"Quetzalcoatlus" not in database.read_bytes()
    log = database.with_name(f"{database.name}-wal")
    assert not log.exists() or b"Quetzalcoatlus" not in log.read_bytes()


def test_it_is_in_no_list_and_can_not_be_kept(
    page: Client, user: User, make_provider: Make, model_server: ModelServer
):
    make_provider()
    chat = begin(page, model_server)
    reply = chat.messages.get(type="ai_response")
    assert sessions.page(user).groups == ()
    assert str(chat.id) not in page.get(reverse("chat:list")).content.decode()
    for name in ("chat:export_json", "chat:export_markdown", "chat:rename"):
        assert page.get(reverse(name, args=[chat.id])).status_code == 404
    assert page.post(reverse("chat:branch", args=[chat.id, reply.id])).status_code == 404
    page.post(reverse("chat:choose", args=[chat.id]), {"memory_mode": "normal"})
    chat.refresh_from_db()
    assert chat.memory_mode == Session.MemoryMode.OFF
    assert sessions.delete(user, [chat.id]) == []
    assert set(chat.messages.values_list("off_record", flat=True)) == {True}


def test_it_stays_through_a_reload_and_until_its_last_page_is_gone(
    page: Client, make_provider: Make, model_server: ModelServer
):
    make_provider()
    chat = begin(page, model_server)
    first, second = shown(page, chat), shown(page, chat)
    leave(page, chat, page=first)
    shut = temporary._close_unless_open
    shut(chat.id)
    assert Session.objects.filter(id=chat.id).exists(), "another page still shows it"
    # A page that the browser kept comes back just in time.
    OpenPage.objects.all().delete()
    leave(page, chat, page=first, back="1")
    shut(chat.id)
    assert SAID in page.get(reverse("chat:session", args=[chat.id])).content.decode()
    OpenPage.objects.exclude(token=second).delete()
    leave(page, chat, page=second)
    until(lambda: not Session.objects.filter(id=chat.id).exists())
    assert page.get(reverse("chat:session", args=[chat.id])).status_code == 404


def test_closing_stops_a_reply_and_deletes_at_once(
    page: Client, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated(ANSWERED, after=2)
    page.post(reverse("chat:start"), {"text": SAID, "temporary": "1"})
    gate.wait_until_reached()
    chat = Session.objects.get()
    assert leave(page, chat, now="1") == 302
    assert not Session.objects.exists()
    assert not Message.objects.exists()
    gate.release()
    settle()
    assert tables_with("xiphosuran") == []


@pytest.mark.parametrize("how", ["start", "log-out", "a day"])
def test_it_is_deleted_by_a_start_a_log_out_and_after_a_day(
    how: str, page: Client, make_provider: Make, model_server: ModelServer
):
    make_provider()
    chat = begin(page, model_server)
    shown(page, chat)
    lasting = Session.objects.create(owner=chat.owner, active_at=timezone.now() - timedelta(days=9))
    assert tasks.close_temporary_chats() == 0
    if how == "start":
        assert wiring.close_temporary_chats in wiring.ON_START
        wiring.close_temporary_chats()
    elif how == "log-out":
        page.post(reverse("logout"))
    else:
        Session.objects.filter(id=chat.id).update(active_at=timezone.now() - timedelta(hours=25))
        assert tasks.close_temporary_chats() == 1
    assert list(Session.objects.all()) == [lasting]
    assert tables_with("Quetzalcoatlus") == []


def attached(chat: Session, digit: str) -> Attachment:
    """A file in the chat's first message."""
    folder = storage.files(chat.owner_id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (digit * 64)).write_text("Notes")
    kept = {"owner": chat.owner, "session": chat, "message": chat.messages.earliest("id"), "name": "a.txt"}
    return Attachment.objects.create(**kept, kind="text", media_type="text/plain", sha256=digit * 64, size=5)


def test_its_files_go_with_it_unless_another_chat_has_them(
    page: Client, session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    sending.send(session, "A word that stays")
    settle()
    chat = begin(page, model_server)
    attached(chat, "a")
    attached(chat, "b")
    attached(session, "b")
    temporary.close(chat)
    folder = storage.files(session.owner_id)
    assert [path.name for path in folder.iterdir()] == ["b" * 64]


def test_no_backup_has_it(
    page: Client,
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    for name, value in database_of_tests().items():  # PostgreSQL is copied by a process of its own
        monkeypatch.setenv(name, value)
    make_provider()
    sending.send(session, "A word that stays")
    settle()
    chat = begin(page, model_server)
    shown(page, chat)
    here, kept = (attached(each, digit) for each, digit in ((chat, "a"), (session, "b")))
    archive.save(tmp_path / "backup.zip")
    with zipfile.ZipFile(tmp_path / "backup.zip") as made:
        made.extract("db.sqlite3", tmp_path / "out")
        assert f"files/{session.owner_id}/{kept.sha256}" in made.namelist()
        assert f"files/{session.owner_id}/{here.sha256}" not in made.namelist()
    raw = (tmp_path / "out" / "db.sqlite3").read_bytes()
    assert b"A word that stays" in raw
    assert b"Quetzalcoatlus" not in raw
    assert b"xiphosuran" not in raw
    with sqlite3.connect(tmp_path / "out" / "db.sqlite3") as copy:
        assert copy.execute("SELECT count(*) FROM chat_session WHERE temporary").fetchone() == (0,)
        assert copy.execute("PRAGMA foreign_key_check").fetchall() == []
    assert Session.objects.filter(id=chat.id).exists(), "the chat itself goes on"


def test_everything_that_belongs_to_a_chat_is_taken_out_of_backups():
    belong = {
        model
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if field.many_to_one and field.related_model in (Session, Message, Run)
    }
    assert belong == {*temporary.TABLES, Session}


def test_others_can_neither_close_nor_hold_it(
    client: Client, page: Client, other: User, make_provider: Make, model_server: ModelServer
):
    make_provider()
    chat = begin(page, model_server)
    lasting = Session.objects.create(owner=chat.owner)
    assert leave(page, lasting, now="1") == 404
    stranger = Client()
    stranger.force_login(other)
    for fields in ({"now": "1"}, {"page": "x"}, {"page": "x", "back": "1"}):
        assert leave(stranger, chat, **fields) == 404
    assert Session.objects.count() == 2


def test_a_command_is_refused_before_it_leaves_words_with_the_browsers_session(page: Client, user: User):
    answer = page.post(reverse("chat:start"), {"text": "/remember Quetzalcoatlus", "temporary": "1"})
    text = answer.content.decode()
    assert "after your first message" in text
    assert 'name="temporary"' in text, "the next try would not be temporary"
    assert "Quetzalcoatlus" not in MemoryManager(user).read_long_term_memory()
    assert tables_with("Quetzalcoatlus") == []
