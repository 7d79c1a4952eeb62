"""Everything of one person, deleted: no table and no file holds a word of it, and nobody else misses any."""

from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import ForeignObjectRel
from django.urls import reverse

from chat.attachments import storage as attachments
from chat.models import Attachment, Message, Session
from connect import erasing, tasks
from connect.exporting import archive
from connect.models import Erasure, Export, Import, KnownMessage, Token
from memory.jobs import claims
from memory.manager import MemoryManager
from memory.storage.files import MemoryFileStorage
from people.models import User
from tests.connect import exports

pytestmark = pytest.mark.django_db(transaction=True)

WORD = "Quetzalcoatlus"


def lived(user, tmp_path, bring, word: str) -> None:
    path = exports.chatgpt(
        tmp_path / f"{user}.zip", [exports.plain("c", word, f"I saw a {word}", f"A {word}!")]
    )
    bring(user, path)
    manager = MemoryManager(user)
    manager.save_to_long_term_memory(f"Studies the {word}")
    manager.files.append_to_daily_log("2026-04-11", f"- Drew a {word}")
    manager.files.create_backup()
    manager.keep_forgotten([f"Dislikes the {word}"])
    manager.refresh_index()
    folder = attachments.files(user.pk)
    folder.mkdir(parents=True)
    (folder / ("0" * 64)).write_text(word)
    message = Message.objects.filter(session__owner=user).earliest("id")
    by_v1(user, word)
    facts = {"name": word, "text": word, "kind": "text", "media_type": "text/plain", "sha256": "0" * 64}
    Attachment.objects.create(owner=user, session=message.session, message=message, size=15, **facts)
    Token.objects.create(owner=user, name=word, token_hash=str(user.pk))
    claims.ask(claims.refresh_index(user))
    export = Export.objects.create(owner=user, status="done")
    archive.write(user, export.path)
    upload = Import.objects.create(owner=user, file_name=f"{word}.zip", status="ready")
    upload.path.parent.mkdir(exist_ok=True)
    upload.path.write_text(word)
    Erasure.objects.create(owner=user)


def by_v1(user: User, word: str) -> None:
    """A chat that another program held by `/v1`."""
    session = Session.objects.create(owner=user, title=word, via="Laptop")
    message = Message.objects.create(session=session, type="user", content=f"Another {word}")
    KnownMessage.objects.create(owner=user, message=message, digest="0" * 64)


def everything() -> str:
    """All rows of all tables, virtual ones too."""
    with connection.cursor() as cursor:
        texts = []
        for name in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{name}"')
            texts += [str(row) for row in cursor.fetchall()]
    return "\n".join(texts).casefold()


def test_no_table_and_no_file_holds_a_word_of_it(ada, ben, tmp_path, bring):
    lived(ada, tmp_path, bring, WORD)
    lived(ben, tmp_path, bring, "Archaeopteryx")
    assert WORD.casefold() in everything()
    counts = erasing.erase(ada)
    assert (counts["chats"], counts["messages"], counts["token"]) == (2, 3, 1)
    assert WORD.casefold() not in everything()
    assert "archaeopteryx" in everything()
    for folder in ("memory", "imports", "exports", "files"):
        for path in (tmp_path / folder).rglob("*"):
            assert WORD.encode() not in path.read_bytes() if path.is_file() else True
    if connection.vendor == "sqlite":  # PostgreSQL's files are its own, and its VACUUM frees what was deleted
        assert WORD.encode() not in Path(connection.settings_dict["NAME"]).read_bytes()
    assert MemoryFileStorage(ben).list_daily_log_dates() == ["2026-04-11"]
    assert MemoryManager(ben).search_memory("Archaeopteryx")
    assert Erasure.objects.get(owner=ada).finished_at


def test_the_account_is_as_usable_as_a_new_one(ada, tmp_path, bring, client):
    lived(ada, tmp_path, bring, WORD)
    erasing.erase(ada)
    client.force_login(ada)
    assert client.get("/").status_code in (200, 302)
    manager = MemoryManager(ada)
    assert manager.search_memory(WORD) == []
    manager.save_to_long_term_memory(f"Likes the {WORD} after all")
    session = Session.objects.create(owner=ada)
    Message.objects.create(session=session, type="user", content="Hello again")
    assert manager.search_memory(f"{WORD}?")
    # It may be imported again: nothing remembers that it was here.
    assert bring(ada, tmp_path / "ada.zip").added["chats"] == 1


def test_every_table_of_a_persons_things_is_known():
    known = {model for model, _ in erasing.owned()}
    relations = User._meta.get_fields(include_hidden=True)
    owning = {each.related_model for each in relations if isinstance(each, ForeignObjectRel)}
    assert KnownMessage in owning  # which hides behind related_name="+"
    for model in owning - known:
        assert model._meta.app_label in {"people", "admin", "auth"}, model
    assert apps.get_model("connect", "Token") in known


def test_a_failure_is_said_with_what_to_do_and_tokens_are_revoked_by_then(
    ada, tmp_path, bring, client, monkeypatch
):
    lived(ada, tmp_path, bring, WORD)
    with monkeypatch.context() as patched:
        patched.setattr(erasing, "delete_for_good", lambda session_id: 1 / 0)
        assert tasks.erase(ada.pk) == "failed"
    assert not Token.objects.filter(owner=ada).exists()
    erasure = Erasure.objects.get(owner=ada)
    assert erasure.finished_at is None
    client.force_login(ada)
    page = client.get(reverse("settings:data")).content.decode()
    assert erasure.error in page
    assert "is being deleted" not in page
    assert "once more" in erasure.error
    # The next try, by the clock or by hand, does the rest.
    assert tasks.erase(ada.pk) == "done"
    erasure.refresh_from_db()
    assert (bool(erasure.finished_at), erasure.error) == (True, "")
    assert not Session.objects.filter(owner=ada).exists()
