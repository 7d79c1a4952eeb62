"""What is attached: read for what it is, kept once, refused with a reason, and gone when it should be."""

import io
import os
import subprocess
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from PIL import Image
from pytest_django.fixtures import Settings

from chat.attachments import reading, storage, uploads
from chat.attachments.kinds import FileRefused, clean_name
from chat.models import Attachment, Message, Session
from people.models import User
from tests.chat.attachments import made

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def receive(user: User, name: str, data: bytes, session: Session | None = None) -> Attachment:
    return uploads.receive(user, session, made.upload(name, data))


def refusal(user: User, name: str, data: bytes) -> str:
    with pytest.raises(FileRefused) as caught:
        receive(user, name, data)
    assert not Attachment.objects.exists()
    assert not any(path.is_file() for path in storage.files(user.pk).rglob("*")), "something was left behind"
    return str(caught.value)


def kept(attachment: Attachment) -> bytes:
    data = storage.read(attachment.owner_id, attachment.sha256)
    assert data is not None
    return data


def opened(attachment: Attachment) -> Image.Image:
    return Image.open(io.BytesIO(kept(attachment)))


# Pictures


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"])
def test_a_picture_of_any_common_format_becomes_png_or_jpeg(ada: User, kind: str) -> None:
    found = receive(ada, f"shot.{kind.lower()}", made.picture(kind=kind))
    assert (found.kind, found.width, found.height) == ("image", 40, 30)
    picture = opened(found)
    assert picture.format in ("PNG", "JPEG")
    assert found.media_type == f"image/{picture.format.lower()}"
    assert found.size == len(kept(found))


def test_a_phones_heic_is_read(ada: User) -> None:
    import pillow_heif

    out = io.BytesIO()
    pillow_heif.from_pillow(Image.new("RGB", (64, 48), "green")).save(out)
    found = receive(ada, "IMG_0001.HEIC", out.getvalue())
    assert (found.media_type, found.width, found.height) == ("image/jpeg", 64, 48)
    assert opened(found).format == "JPEG"


def test_a_photo_is_turned_upright_and_tells_nothing_of_its_place(ada: User) -> None:
    data = made.photo_with_place()
    assert b"SecretCameraMaker" in data
    found = receive(ada, "IMG_1.jpg", data)
    assert (found.width, found.height) == (40, 60)
    red, green, blue = opened(found).convert("RGB").getpixel((20, 5))  # type: ignore[misc]
    assert min(red, green) > 200 > 60 > blue, "the yellow half is on top now"
    assert not opened(found).getexif()
    for word in (b"SecretCameraMaker", b"SecretComment", b"Exif"):
        assert word not in kept(found)


def test_what_hides_behind_a_pictures_end_is_gone(ada: User) -> None:
    found = receive(ada, "poly.png", made.picture() + b"<script>alert(1)</script>PK\x03\x04")
    assert b"script" not in kept(found)
    assert b"PK\x03\x04" not in kept(found)


def test_a_large_picture_is_shrunk_and_keeps_its_shape(ada: User) -> None:
    found = receive(ada, "wide.jpg", made.picture((6000, 3000), "JPEG"))
    assert (found.width, found.height) == (reading.LONGEST_SIDE, reading.LONGEST_SIDE // 2)


def test_a_screenshot_that_stays_too_large_becomes_a_jpeg(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGEST_PICTURE", 100_000)
    assert receive(ada, "noise.png", made.noise((400, 400))).media_type == "image/jpeg"


def test_transparency_is_kept(ada: User) -> None:
    found = receive(ada, "logo.png", made.picture(mode="RGBA", colour=(255, 0, 0, 0)))
    assert opened(found).mode == "RGBA"


def test_a_decompression_bomb_is_refused_before_it_unpacks(ada: User) -> None:
    assert "50 million pixels" in refusal(ada, "bomb.png", made.bomb())


def test_a_picture_over_its_limit_is_refused(ada: User, settings: Settings) -> None:
    settings.IMAGE_MB, settings.FILE_MB = 1, 3
    said = refusal(ada, "big.png", made.noise((1200, 1000)))
    assert "at most 1 MB" in said
    assert "larger than 3 MB" in refusal(ada, "huge.png", made.picture() + bytes(3 * 2**20))


@pytest.mark.parametrize("cut", [9, 40, 90])
def test_a_broken_picture_is_refused(ada: User, cut: int) -> None:
    assert "damaged" in refusal(ada, "cut.png", made.noise((64, 64))[:cut])


# Texts


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("notes.md", "Grüße, 世界".encode(), "Grüße, 世界"),
        ("bom.txt", b"\xef\xbb\xbfHello", "Hello"),
        ("wide.txt", "Hallo Ümlaut".encode("utf-16"), "Hallo Ümlaut"),
        ("old.csv", "Zürich;1\r\nGenf;2".encode("cp1252"), "Zürich;1\nGenf;2"),
        ("japanese.txt", "こんにちは、今日はお元気ですか".encode("cp932"), "こんにちは、今日はお元気ですか"),
        ("main.py", b"print('hi')\x00"[:-1], "print('hi')"),
        ("Makefile", b"run:\n\ttrue\n", "run:\n\ttrue\n"),
        ("bell.log", b"x" * 300 + b"\x07", "x" * 300),
    ],
)
def test_text_and_code_are_read_in_their_encoding(ada: User, name: str, data: bytes, text: str) -> None:
    found = receive(ada, name, data)
    assert (found.kind, found.text, found.size) == ("text", text, len(data))
    assert kept(found) == data


def test_markup_with_a_script_is_only_ever_text(ada: User) -> None:
    for name, data in (("logo.svg", SVG), ("page.html", b"<html><script>alert(1)</script>")):
        found = receive(ada, name, data)
        assert (found.kind, found.media_type) == ("text", "text/plain; charset=utf-8")


def test_a_long_text_is_cut_and_says_so(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_LETTERS", 1_000)
    found = receive(ada, "long.txt", b"0123456789" * 500)
    assert len(found.text) == 1_000
    assert found.note == "Only the first 1,000 characters were read."


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("photo.png", b"<html>hello", "isn't a picture"),
        ("photo.jpg", made.pdf("x"), "isn't a picture"),
        ("paper.pdf", b"plain text", "isn't a PDF"),
        ("greek.txt", "Καλημέρα, τι κάνετε;".encode("cp1253"), "save it as UTF-8 first"),
        ("paper.pdf", made.picture(), "isn't a PDF"),
        ("letter.docx", b"plain text", "isn't a Word document"),
        ("sheet.xlsx", made.zipped({"xl/workbook.xml": b"<x/>"}), "Save it as PDF or CSV"),
        ("run.exe", b"MZ\x90\0\x03\0\0\0\xff\xff", "can't be read"),
        ("noise.txt", bytes(range(256)) * 4, "can't be read"),
        ("empty.txt", b"", "is empty"),
        ("blank.txt", b" \n\n ", "is empty"),
    ],
)
def test_what_is_not_what_its_name_says_is_refused(ada: User, name: str, data: bytes, why: str) -> None:
    said = refusal(ada, name, data)
    assert why in said
    assert said.startswith(name)


def test_a_picture_under_another_pictures_name_is_what_it_is(ada: User) -> None:
    assert receive(ada, "shot.png", made.picture(kind="JPEG")).media_type == "image/jpeg"


# PDF and DOCX


def test_a_pdf_is_read_page_by_page(ada: User) -> None:
    found = receive(ada, "paper.pdf", made.pdf("First things", "", "Last things"))
    assert (found.kind, found.pages, found.note) == ("pdf", 3, "")
    assert found.text == "[Page 1]\nFirst things\n\n[Page 2]\n\n\n[Page 3]\nLast things"
    assert kept(found).startswith(b"%PDF-")


def test_of_a_pdf_of_five_hundred_pages_the_first_are_read(ada: User, settings: Settings) -> None:
    settings.PDF_PAGES = 5
    found = receive(ada, "long.pdf", made.pdf(*(f"Page number {n}" for n in range(1, 501))))
    assert (found.pages, found.note) == (500, "Only the first 5 of 500 pages were read.")
    assert "Page number 5" in found.text
    assert "Page number 6" not in found.text


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (made.pdf("", ""), "no text"),
        (b"%PDF-1.4\nnothing more", "damaged"),
        (made.pdf("x")[:200], "damaged"),
    ],
)
def test_a_pdf_that_says_nothing_is_refused(ada: User, data: bytes, why: str) -> None:
    assert why in refusal(ada, "scan.pdf", data)


def test_a_word_document_is_read_with_headings_and_tables(ada: User) -> None:
    cells = "".join(f"<w:tc>{made.paragraph(each)}</w:tc>" for each in ("Name", "Age"))
    body = (
        made.paragraph("Plan", "Heading2")
        + made.paragraph("Go &amp; see")
        + f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
    )
    found = receive(ada, "plan.docx", made.docx(body))
    assert (found.kind, found.text) == ("docx", "## Plan\nGo & see\nName\tAge")


def test_a_word_document_that_unpacks_to_gigabytes_is_refused(ada: User) -> None:
    assert "unpacks to too much" in refusal(ada, "bomb.docx", made.docx(" " * (65 * 2**20)))


def test_entities_are_refused(ada: User) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    head = f'<!DOCTYPE x [<!ENTITY l0 "ha">{laughs}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    assert "damaged" in refusal(ada, "laughs.docx", made.docx(made.paragraph("&l9;&f;"), head))


# The process that reads


def test_the_reader_sees_nothing_of_our_environment(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}
    run = subprocess.run

    def spy(command: list[str], **how: Any) -> Any:
        seen.update(how)
        return run(command, **how)

    monkeypatch.setenv("ONECLAW_API_KEY", "sk-secret")
    monkeypatch.setattr(subprocess, "run", spy)
    receive(ada, "a.png", made.picture())
    assert seen["env"] == {"PATH": os.defpath}


def test_a_reader_that_takes_too_long_is_stopped(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE", 0.01)
    assert "took too long" in refusal(ada, "a.png", made.picture())


# Names


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\notes.txt", "notes.txt"),
        ("invoice\u202egpj.exe", "invoicegpj.exe"),
        ("a\x00b\nc\td.txt", "ab c d.txt"),
        ("..", "file"),
        ("", "file"),
        ("<img src=x onerror=alert(1)>.txt", "<img src=x onerror=alert(1)>.txt"),
        ("x" * 300 + ".pdf", "x" * 115 + "….pdf"),
        ("Ärger.txt", "Ärger.txt"),
    ],
)
def test_names_are_names(given: str, name: str) -> None:
    assert clean_name(given) == name


# Kept


def test_the_same_content_is_kept_once_and_for_each_owner(ada: User, ben: User) -> None:
    first, second = receive(ada, "a.txt", b"same"), receive(ada, "b.txt", b"same")
    theirs = receive(ben, "a.txt", b"same")
    assert first.sha256 == second.sha256 == theirs.sha256
    for user in (ada, ben):
        assert [path.name for path in storage.files(user.pk).iterdir()] == [first.sha256]
    assert uploads.remove(ada, first.id)
    assert kept(second) == b"same"
    assert uploads.remove(ada, second.id)
    assert storage.read(ada.pk, second.sha256) is None
    assert kept(theirs) == b"same"


def test_files_are_their_owners_alone(ada: User) -> None:
    found = receive(ada, "a.txt", b"mine")
    path = storage.files(ada.pk) / found.sha256
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_smaller_picture_is_made_once_and_goes_with_its_original(ada: User) -> None:
    found = receive(ada, "a.png", made.picture((900, 600)))
    data = storage.smaller(ada.pk, found.sha256, 300)
    assert data is not None
    assert Image.open(io.BytesIO(data)).size == (300, 200)
    (path,) = storage.made(ada.pk).iterdir()
    path.write_bytes(b"from the second time on")
    assert storage.smaller(ada.pk, found.sha256, 300) == b"from the second time on"
    uploads.remove(ada, found.id)
    assert list(storage.made(ada.pk).iterdir()) == []
    assert storage.smaller(ada.pk, found.sha256, 300) is None


def test_at_most_ten_wait_in_a_composer(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST", 2)
    session = Session.objects.create(owner=ada)
    for _ in range(2):
        receive(ada, "a.txt", b"x")
    with pytest.raises(FileRefused):
        receive(ada, "a.txt", b"x")
    assert receive(ada, "a.txt", b"x", session).session == session


# Tidied


def aged(path: Path) -> None:
    long_ago = time.time() - 2 * storage.SETTLED
    os.utime(path, (long_ago, long_ago))


def test_what_was_never_sent_goes_after_a_day(ada: User) -> None:
    session = Session.objects.create(owner=ada)
    sent, _, fresh = (receive(ada, f"{n}.txt", f"{n}".encode(), session) for n in range(3))
    uploads.attach(Message.objects.create(session=session, type="user"), [sent])
    Attachment.objects.exclude(id=fresh.id).update(created_at=timezone.now() - timedelta(days=2))
    for path in storage.files(ada.pk).iterdir():
        aged(path)
    uploads.tidy()
    assert set(Attachment.objects.all()) == {sent, fresh}
    assert {path.name for path in storage.files(ada.pk).iterdir()} == {sent.sha256, fresh.sha256}


def test_files_go_with_a_chat_that_is_deleted_for_good(ada: User) -> None:
    session = Session.objects.create(owner=ada)
    sent = receive(ada, "a.txt", b"x", session)
    uploads.attach(Message.objects.create(session=session, type="user"), [sent])
    aged(storage.files(ada.pk) / sent.sha256)
    uploads.tidy()
    assert kept(sent)
    session.delete()
    uploads.tidy()
    assert not storage.files(ada.pk).exists()


def test_a_file_whose_row_is_being_written_is_left_alone(ada: User) -> None:
    storage.files(ada.pk).mkdir(parents=True)
    (storage.files(ada.pk) / ("a" * 64)).write_bytes(b"x")
    assert uploads.tidy() == 0
    aged(storage.files(ada.pk) / ("a" * 64))
    assert uploads.tidy() == 1


# Sent


def test_only_ones_own_waiting_files_can_be_sent_and_only_once(ada: User, ben: User) -> None:
    mine, theirs = receive(ada, "a.txt", b"x"), receive(ben, "b.txt", b"x")
    for ids in (
        [str(theirs.id)],
        [str(mine.id), str(theirs.id)],
        ["nonsense"],
        [str(mine.id)[:-1] + "0"] * 2,
    ):
        with pytest.raises(FileRefused):
            uploads.chosen(ada, ids)
    assert uploads.chosen(ada, [str(mine.id)] * 2) == [mine]
    message = Message.objects.create(session=Session.objects.create(owner=ada), type="user")
    uploads.attach(message, [mine])
    with pytest.raises(FileRefused):
        uploads.chosen(ada, [str(mine.id)])
    with pytest.raises(FileRefused):
        uploads.attach(message, [mine])
    assert not uploads.remove(ada, mine.id)


def test_a_copy_has_the_same_files_in_order(ada: User) -> None:
    session = Session.objects.create(owner=ada)
    files = [receive(ada, f"{n}.txt", f"{n}".encode(), session) for n in range(3)]
    first, second = (Message.objects.create(session=session, type="user") for _ in range(2))
    uploads.attach(first, reversed(files))
    uploads.copy(first, second)
    for message in (first, second):
        assert [each.name for each in message.attachments.all()] == ["2.txt", "1.txt", "0.txt"]
    assert Attachment.objects.count() == 6
