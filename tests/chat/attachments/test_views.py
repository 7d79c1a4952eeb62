"""Attached files over HTTP: up, down, away, sent, refused; and never another person's."""

import io
import json
import zipfile
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from PIL import Image
from pytest_django.fixtures import Settings

from chat.attachments import uploads
from chat.models import AiModel, Attachment, Message, Provider, Run, Session
from chat.sessions import sessions, thread
from people.models import User
from tests.chat.attachments import made

HTML = b"<html><script>alert(document.domain)</script>"


@pytest.fixture
def blind(db: None) -> AiModel:
    """A model behind an address where nobody is; what is sent to it is stored all the same."""
    provider = Provider.objects.create(name="Nobody", kind="openai", base_url="http://127.0.0.1:9/v1")
    return AiModel.objects.create(provider=provider, name="blind-model", is_default=True)


def put(page: Client, name: str, data: bytes, session: Session | None = None) -> Any:
    given = {"file": made.upload(name, data), "session": session.pk if session else ""}
    return page.post(reverse("chat:attach"), given)


def newest() -> Attachment:
    return Attachment.objects.latest("created_at")


def test_a_file_comes_into_the_composer_and_stays_there_over_a_reload(page: Client, session: Session) -> None:
    answer = put(page, "notes.txt", b"Hello", session)
    assert answer.status_code == 200
    assert f'name="attachment" value="{newest().id}"' in answer.content.decode()
    assert "notes.txt" in page.get(reverse("chat:session", args=[session.pk])).content.decode()
    assert "notes.txt" not in page.get(reverse("home")).content.decode()
    put(page, "other.txt", b"Hi")
    assert "other.txt" in page.get(reverse("home")).content.decode()


def test_a_refused_file_says_why_in_plain_text(page: Client) -> None:
    answer = put(page, "<b>x</b>.png", b"no picture")
    assert (answer.status_code, answer["Content-Type"]) == (422, "text/plain; charset=utf-8")
    assert answer.content.decode() == "b>.png is not what its name says: it isn't a picture."
    assert page.post(reverse("chat:attach")).status_code == 422
    assert not Attachment.objects.exists()


def test_nothing_goes_into_another_persons_composer(page: Client, other: User) -> None:
    theirs = Session.objects.create(owner=other)
    assert put(page, "a.txt", b"x", theirs).status_code == 404
    assert page.post(reverse("chat:attach"), {"session": "nonsense"}).status_code == 404
    assert not Attachment.objects.exists()


def test_a_picture_is_shown_and_anything_else_saved(page: Client) -> None:
    put(page, "Grüße.png", made.picture((900, 600)))
    picture = newest()
    for address, sides in (("chat:file", (900, 600)), ("chat:thumbnail", (480, 320))):
        answer = page.get(reverse(address, args=[picture.id]))
        assert answer["Content-Type"] == "image/png"
        assert answer["Content-Disposition"].startswith("inline")
        assert Image.open(io.BytesIO(answer.content)).size == sides
    for name in ("page.html", "logo.svg", "run.js"):
        put(page, name, HTML)
        answer = page.get(reverse("chat:file", args=[newest().id]))
        assert answer["Content-Type"] == "text/plain; charset=utf-8"
        assert answer["Content-Disposition"].startswith("attachment")
        assert page.get(reverse("chat:thumbnail", args=[newest().id])).status_code == 404


def test_headers_leave_a_browser_nothing_to_guess(page: Client) -> None:
    put(page, 'a"\r\nX-Evil: 1.txt', b"x")
    answer = page.get(reverse("chat:file", args=[newest().id]))
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert answer["Cache-Control"] == "no-store"
    assert "X-Evil" not in answer.headers


def test_another_persons_file_is_not_there(page: Client, other: User) -> None:
    theirs = uploads.receive(other, None, made.upload("secret.txt", b"secret"))
    for address in ("chat:file", "chat:thumbnail"):
        assert page.get(reverse(address, args=[theirs.id])).status_code == 404
        assert page.get(reverse(address, args=[uuid4()])).status_code == 404
    assert page.post(reverse("chat:detach", args=[theirs.id])).status_code == 404
    page.post(reverse("chat:start"), {"text": "Hello", "attachment": str(theirs.id)})
    assert Attachment.objects.get().message is None
    assert not Message.objects.exists()


def test_a_deleted_chats_files_are_gone_until_it_comes_back(
    page: Client, user: User, session: Session
) -> None:
    put(page, "a.txt", b"x", session)
    address = reverse("chat:file", args=[newest().id])
    sessions.delete(user, [session.id])
    assert page.get(address).status_code == 404
    sessions.undelete(user, [session.id])
    assert page.get(address).status_code == 200


def test_a_file_is_taken_out_of_the_composer(page: Client, session: Session) -> None:
    put(page, "a.txt", b"x", session)
    address = reverse("chat:detach", args=[newest().id])
    assert page.get(address).status_code == 405
    assert page.post(address).headers["Location"] == reverse("chat:session", args=[session.pk])
    assert page.post(address).status_code == 404
    assert not Attachment.objects.exists()


def test_a_message_takes_its_files_in_the_order_given(page: Client, session: Session, blind: AiModel) -> None:
    for number in range(3):
        put(page, f"{number}.txt", b"x", session)
    ids = [str(each.id) for each in Attachment.objects.order_by("-created_at")]
    given = {"text": "", "attachment": ids}
    answer = page.post(reverse("chat:send", args=[session.pk]), given, headers={"HX-Request": "true"})
    assert [each.name for each in Message.objects.get(type="user").attachments.all()] == [
        "2.txt", "1.txt", "0.txt",
    ]  # fmt: skip
    shown = answer.content.decode()
    assert all(f'<div id="attached-{each}" hx-swap-oob="delete">' in shown for each in ids)
    assert shown.index("2.txt") < shown.index("0.txt")
    assert "0.txt" in page.get(reverse("chat:session", args=[session.pk])).content.decode()


def test_a_refused_message_keeps_its_words_and_files(page: Client, session: Session, blind: AiModel) -> None:
    put(page, "shot.png", made.picture(), session)
    given = {"text": "What is <this>?", "attachment": str(newest().id)}
    answer = page.post(reverse("chat:send", args=[session.pk]), given)
    shown = answer.content.decode()
    assert "blind-model can&#x27;t see pictures" in shown
    assert "What is &lt;this&gt;?" in shown
    assert "shot.png" in shown
    answer = page.post(reverse("chat:send", args=[session.pk]), given, headers={"HX-Request": "true"})
    assert answer["HX-Retarget"] == "#refusal"
    assert not Message.objects.exists()


def test_without_scripts_files_come_with_the_message(page: Client, blind: AiModel) -> None:
    files = [made.upload("a.txt", b"one"), made.upload("b.txt", b"two")]
    page.post(reverse("chat:start"), {"text": "Read", "files": files})
    assert [each.name for each in Message.objects.get(type="user").attachments.all()] == ["a.txt", "b.txt"]
    answer = page.post(reverse("chat:start"), {"text": "Keep me", "files": [made.upload("x.png", b"no")]})
    assert "Keep me" in answer.content.decode()
    assert "isn&#x27;t a picture" in answer.content.decode()


def test_an_upload_over_every_limit_is_refused(page: Client, settings: Settings) -> None:
    settings.IMAGE_MB = settings.FILE_MB = 1
    assert b"larger than 1 MB" in put(page, "a.txt", b"x" * (2**20 + 1)).content


def test_a_name_is_escaped_wherever_it_is_shown(page: Client, session: Session, blind: AiModel) -> None:
    put(page, "<img src=x onerror=alert(1)>.txt", b"x", session)
    page.post(reverse("chat:send", args=[session.pk]), {"text": "", "attachment": str(newest().id)})
    shown = page.get(reverse("chat:session", args=[session.pk])).content.decode()
    assert "<img src=x" not in shown
    assert "&lt;img src=x" in shown


def test_an_export_has_the_files(page: Client, session: Session, blind: AiModel) -> None:
    put(page, "../notes.md", b"Hello", session)
    put(page, "again.md", b"Hello", session)
    ids = [str(each.id) for each in Attachment.objects.order_by("created_at")]
    page.post(reverse("chat:send", args=[session.pk]), {"text": "Read", "attachment": ids})
    put(page, "unsent.txt", b"Not said", session)
    answer = page.get(reverse("chat:export_zip", args=[session.pk]))
    assert answer["Content-Disposition"] == 'attachment; filename="bridges.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        names = archive.namelist()
        whole = json.loads(archive.read("chat.json"))
        files = [row["attachments"] for row in whole["messages"] if "attachments" in row]
        (first, second) = files[0]
        assert (first["name"], second["name"], first["file"]) == ("notes.md", "again.md", second["file"])
        assert sorted(names) == ["chat.json", "chat.md", first["file"]], "the same content once"
        assert archive.read(first["file"]) == b"Hello"
        assert "> Attached: “notes.md” (Text, 5 bytes)" in archive.read("chat.md").decode()


def hang(message: Message, name: str, data: bytes) -> Attachment:
    """A file on a message of any kind, as an import hangs it there."""
    file = uploads.kept(message.session.owner, name, [data])
    file.session, file.message = message.session, message
    file.save(force_insert=True)
    return file


def test_what_a_model_or_a_tool_made_is_shown_in_its_reply(
    page: Client, other: User, session: Session
) -> None:
    asked = Message.objects.create(session=session, type=Message.Type.USER, content="Draw a bridge")
    run = Run.objects.create(session=session, prompt=asked, status=Run.Status.DONE)
    kinds = (Message.Type.AI_RESPONSE, Message.Type.TOOL_CALL, Message.Type.TOOL_RESULT)
    reply, _, result = (
        Message.objects.create(session=session, type=kind, run=run, tool_call_id="t", content="Here it is")
        for kind in kinds
    )
    url = reverse("chat:session", args=[session.pk])
    assert 'class="attachments"' not in page.get(url).content.decode()
    files = [hang(reply, "bridge.png", made.picture()), hang(result, "plan.png", made.picture(colour="blue"))]
    files.append(hang(reply, "page.html", HTML))
    shown = page.get(url).content.decode()
    for file in files:
        assert f'href="{reverse("chat:file", args=[file.pk])}"' in shown
        sent = page.get(reverse("chat:file", args=[file.pk]))
        assert "sandbox" in sent["Content-Security-Policy"]
        assert sent["X-Content-Type-Options"] == "nosniff"
    assert reverse("chat:thumbnail", args=[files[1].pk]) in shown
    # Only to be saved: it is no picture.
    assert sent["Content-Disposition"].startswith("attachment")
    page.force_login(other)
    assert page.get(reverse("chat:file", args=[files[0].pk])).status_code == 404


def test_files_of_replies_cost_a_page_no_query_each(
    page: Client, session: Session, django_assert_num_queries: Any
) -> None:
    for number in range(6):
        asked = Message.objects.create(session=session, type=Message.Type.USER, content="Draw")
        run = Run.objects.create(session=session, prompt=asked, status=Run.Status.DONE)
        reply = Message.objects.create(session=session, type=Message.Type.AI_RESPONSE, run=run, content="!")
        hang(reply, f"{number}.png", made.picture(size=(10, 10 + number)))
    rows = list(thread.shown(session).select_related("run"))
    with django_assert_num_queries(2):
        # Versions and files.
        found = thread.items(rows)
        names = [file.name for item in found for part in item.parts for file in part.attachments.all()]
    assert names == [f"{number}.png" for number in range(6)]
