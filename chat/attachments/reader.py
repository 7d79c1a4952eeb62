"""Reads one stranger's file in a process of its own, with little time and memory, and says what it found.

    python -m chat.attachments.reader image|pdf|docx SOURCE TARGET LIMITS

LIMITS is JSON. Prints JSON: what was found, or {"refused": why}. Knows nothing of the project: a file that
takes this process over finds no settings, no keys and no database connection in it.
"""

import json
import re
import resource
import sys
import zipfile
from contextlib import suppress
from typing import Any

SECONDS = 20
MEMORY = 1024 * 2**20
LARGEST_OUTPUT = 64 * 2**20
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF", "HEIF")
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
DOCUMENT = "word/document.xml"
# Bytes of XML that a DOCX may unpack to.
MOST_XML = 64 * 2**20
HEADING = re.compile(r"(?:heading|berschrift|titre|t.tulo) ?([1-6])", re.I)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Unreadable(Exception):
    """The reason for the person who attached the file."""


def confine() -> None:
    """Before anything of the file is looked at."""
    for what, most in (
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, LARGEST_OUTPUT),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most, most))


def image(source: str, target: str, limits: dict[str, int]) -> dict[str, Any]:
    """A picture made anew from its pixels: upright, without place, camera or anything hidden in it."""
    import warnings

    from PIL import Image, ImageOps

    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = limits["pixels"]
    with open(source, "rb") as file:
        if file.read(12)[4:8] == b"ftyp":
            import pillow_heif

            pillow_heif.register_heif_opener(thumbnails=False)
    bomb = f"has more than {limits['pixels'] // 1_000_000} million pixels. Make it smaller first."
    side = limits["side"]
    try:
        picture = Image.open(source, formats=FORMATS)
        # One that says so itself is not looked at further.
        if picture.width * picture.height > limits["pixels"]:
            raise Unreadable(bomb)
        lossless = picture.format in ("PNG", "GIF", "BMP")
        picture.draft("RGB", (side, side))
        upright = ImageOps.exif_transpose(picture)
        upright.thumbnail((side, side), Image.Resampling.LANCZOS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise Unreadable(bomb) from None
    transparent = upright.has_transparency_data
    plain = in_srgb(upright).convert("RGBA" if transparent else "RGB")
    plain.info = {}
    if lossless or transparent:
        plain.save(target, "PNG")
        if size_of(target) <= limits["bytes"]:
            return {"media_type": "image/png", "width": plain.width, "height": plain.height}
        if transparent:
            paper = Image.new("RGB", plain.size, "white")
            paper.paste(plain, mask=plain.getchannel("A"))
            plain = paper
    plain.save(target, "JPEG", quality=90)
    return {"media_type": "image/jpeg", "width": plain.width, "height": plain.height}


def in_srgb(picture: Any) -> Any:
    """The colours as every browser and model takes them; a profile that makes no sense is left out."""
    from io import BytesIO

    from PIL import ImageCms

    profile = picture.info.get("icc_profile")
    if not profile or picture.mode not in ("RGB", "RGBA", "CMYK", "L"):
        return picture
    try:
        given, wanted = ImageCms.ImageCmsProfile(BytesIO(profile)), ImageCms.createProfile("sRGB")
        mode = "RGBA" if picture.mode == "RGBA" else "RGB"
        return ImageCms.profileToProfile(picture, given, wanted, outputMode=mode)
    except (ImageCms.PyCMSError, OSError, ValueError):
        return picture


def size_of(path: str) -> int:
    with open(path, "rb") as file:
        return file.seek(0, 2)


def pdf(source: str, target: str, limits: dict[str, int]) -> dict[str, Any]:
    """The text by page, as far as it is read."""
    import logging

    import pypdf

    logging.disable(logging.CRITICAL)
    with open(source, "rb") as file:
        document = pypdf.PdfReader(file, strict=False)
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("is protected by a password. Remove it first.")
        total = len(document.pages)
        parts: list[str] = []
        left, read, empty = limits["letters"], 0, 0
        for number in range(min(total, limits["pages"])):
            text = cleaned(document.pages[number].extract_text() or "").strip()
            read += 1
            empty += not text
            part = f"[Page {number + 1}]\n{text}"
            left -= len(part)
            if left < 0:
                parts.append(part[:left])
                break
            parts.append(part)
    if empty == read:
        raise Unreadable("has no text in it: its pages may be scans. Attach them as pictures instead.")
    write(target, "\n\n".join(parts))
    unread = f"Only the first {read} of {total} pages were read." if read < total else ""
    return {"pages": total, "note": unread or (CUT.format(limits["letters"]) if left < 0 else "")}


CUT = "Only the first {:,} characters were read."


def docx(source: str, target: str, limits: dict[str, int]) -> dict[str, Any]:
    """The words of the body: paragraphs, headings, list items, and tables row by row."""
    from defusedxml.ElementTree import iterparse  # type: ignore[import-untyped]

    try:
        archive = zipfile.ZipFile(source)
        info = archive.getinfo(DOCUMENT)
    except KeyError:
        raise Unreadable("is not a Word document inside.") from None
    if info.file_size > MOST_XML:
        raise Unreadable("unpacks to too much. Save it as PDF or plain text first.")
    text = Text(limits["letters"])
    with archive.open(info) as packed:
        for event, element in iterparse(Bounded(packed), events=("start", "end"), forbid_dtd=True):
            if event == "start":
                text.begin(element)
            else:
                text.end(element)
                element.clear()
            if text.full:
                break
    text.close()
    if not text.written.strip():
        raise Unreadable("has no text in it.")
    write(target, text.written)
    return {"note": CUT.format(limits["letters"]) if text.full else ""}


class Bounded:
    """A file that ends with an error where it unpacks to more than it said."""

    def __init__(self, file: Any) -> None:
        self.file, self.left = file, MOST_XML

    def read(self, size: int = 65_536) -> bytes:
        data: bytes = self.file.read(min(size, 65_536) if size > 0 else 65_536)
        self.left -= len(data)
        if self.left < 0:
            raise Unreadable("unpacks to too much. Save it as PDF or plain text first.")
        return data


class Text:
    """Text from WordprocessingML as its elements come and go."""

    PARAGRAPH, CELL, ROW = f"{WORD}p", f"{WORD}tc", f"{WORD}tr"
    STYLE, NUMBERED = f"{WORD}pStyle", f"{WORD}numPr"

    def __init__(self, most: int) -> None:
        self.lines: list[str] = []
        self.line: list[str] = []
        self.cells: list[list[str]] = []
        self.mark = ""
        self.left = most

    @property
    def full(self) -> bool:
        return self.left <= 0

    @property
    def written(self) -> str:
        return cleaned("\n".join(self.lines))

    def begin(self, element: Any) -> None:
        if element.tag == self.PARAGRAPH:
            self.line, self.mark = [], ""
        elif element.tag == self.ROW:
            self.cells.append([])

    def end(self, element: Any) -> None:
        tag = element.tag
        if tag == f"{WORD}t":
            self.say(element.text or "")
        elif tag in (f"{WORD}tab", f"{WORD}ptab"):
            self.say("\t")
        elif tag in (f"{WORD}br", f"{WORD}cr"):
            self.say("\n")
        elif tag == self.STYLE and (found := HEADING.match(element.get(f"{WORD}val", ""))):
            self.mark = "#" * int(found[1]) + " "
        elif tag == self.NUMBERED:
            self.mark = self.mark or "- "
        elif tag == self.PARAGRAPH:
            self.finish("".join(self.line))
        elif tag == self.ROW and self.cells:
            self.lines.append("\t".join(self.cells.pop()))

    def finish(self, said: str) -> None:
        if self.cells:
            self.cells[-1].append(" ".join(said.split()))
        else:
            self.lines.append(f"{self.mark}{said}" if said.strip() else "")

    def say(self, text: str) -> None:
        if self.left > 0:
            self.line.append(text[: self.left])
            self.left -= len(text) + 1

    def close(self) -> None:
        """What was begun when the reading stopped."""
        if self.full:
            self.finish("".join(self.line))
            self.lines.extend("\t".join(cells) for cells in self.cells)


def cleaned(text: str) -> str:
    return CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def write(target: str, text: str) -> None:
    with open(target, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


READERS = {"image": image, "pdf": pdf, "docx": docx}


def main(kind: str, source: str, target: str, limits: str) -> None:
    confine()
    try:
        found = READERS[kind](source, target, json.loads(limits))
    except Unreadable as why:
        found = {"refused": str(why)}
    except MemoryError:
        found = {"refused": "needs too much memory to read."}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
