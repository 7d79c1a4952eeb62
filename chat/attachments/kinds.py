"""What a file is: by its first bytes, never by its name alone; and what its name may look like here."""

import codecs
import re
import unicodedata
from pathlib import PurePosixPath

from chat.attachments import encodings
from chat.models import Attachment

Kind = Attachment.Kind

LONGEST_NAME = 120
LONGEST_SUFFIX = 12
PICTURES = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"II*\0",
    b"MM\0*",
)
# ISO media files that hold a picture: HEIC of phones, AVIF.
BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"avif", b"avis"}
PICTURE_NAMES = {
    *(".png", ".jpg", ".jpeg", ".jpe", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif")
}
CLAIMS = dict.fromkeys(PICTURE_NAMES, Kind.IMAGE) | {".pdf": Kind.PDF, ".docx": Kind.DOCX}
PROMISES = {Kind.IMAGE: "a picture", Kind.PDF: "a PDF", Kind.DOCX: "a Word document"}
MEDIA_TYPES = {
    Kind.TEXT: "text/plain; charset=utf-8",
    Kind.PDF: "application/pdf",
    Kind.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
TAKEN = "Pictures, text, code, CSV, PDF and DOCX can be attached."
# The longest first: UTF-32's mark begins like UTF-16's.
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# One control character in so many is still text: old files end in ^Z or hold page breaks.
FEW = 200
# No language that Windows-1252 is for marks one letter in three.
FOREIGN = 3


class FileRefused(Exception):
    """A file that is not taken, and why, in a sentence for the person who attached it."""


def clean_name(name: str) -> str:
    """A name to show: no folders, nothing unprintable, nothing that turns the direction of writing."""
    name = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    kept = (" " if letter.isspace() else letter for letter in name)
    name = " ".join("".join(c for c in kept if c.isprintable() and unicodedata.category(c)[0] != "C").split())
    if len(name) > LONGEST_NAME:
        suffix = PurePosixPath(name).suffix
        suffix = suffix if len(suffix) <= LONGEST_SUFFIX else ""
        name = f"{name[: LONGEST_NAME - len(suffix) - 1]}…{suffix}"
    return name.strip(". ") or "file"


def kind_of(name: str, data: bytes) -> Attachment.Kind:
    """What the bytes are. A name that promises something else is a reason to refuse."""
    found = by_content(data)
    suffix = PurePosixPath(name.lower()).suffix
    claimed = CLAIMS.get(suffix)
    if claimed and found != claimed:
        raise FileRefused(f"{name} is not what its name says: it isn't {PROMISES[claimed]}.")
    if found is None:
        if data.startswith(b"PK\x03\x04"):
            raise FileRefused(f"{name} can't be read. {TAKEN} Save it as PDF or CSV first.")
        hint = "" if b"\0" in data else " If it is text, save it as UTF-8 first."
        raise FileRefused(f"{name} can't be read. {TAKEN}{hint}")
    return found


def by_content(data: bytes) -> Attachment.Kind | None:
    riff = data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    iso = data[4:8] == b"ftyp" and data[8:12] in BRANDS
    bitmap = data[:2] == b"BM" and data[6:10] == b"\0\0\0\0"
    if data.startswith(PICTURES) or riff or iso or bitmap:
        return Kind.IMAGE
    if data.startswith(b"%PDF-"):
        return Kind.PDF
    if data.startswith(b"PK\x03\x04"):
        return Kind.DOCX if b"word/document.xml" in data else None
    return Kind.TEXT if is_text(data) else None


def is_text(data: bytes) -> bool:
    """Whether the bytes decode to something that a person wrote."""
    text = decoded(data)
    return text is not None and len(CONTROL.findall(text)) * FEW <= len(text)


def western(text: str) -> str | None:
    """The text, unless most of it would be letters with marks: then it was written in another alphabet."""
    letters = sum(letter.isalpha() for letter in text)
    marked = sum(letter.isalpha() and not letter.isascii() for letter in text)
    return text if marked * FOREIGN <= letters else None


def decoded(data: bytes) -> str | None:
    """The text: by its byte order mark, else UTF-8, else an older encoding where it is certain which.

    Windows-1252 comes last, where nothing speaks against it.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                return None
    if b"\0" in data:
        return encodings.unmarked_utf16(data)
    try:
        return data.decode()
    except UnicodeDecodeError:
        try:
            return encodings.old(data) or western(data.decode("cp1252"))
        except UnicodeDecodeError:
            return None
