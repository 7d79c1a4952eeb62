"""Files to attach, good and hostile, made when a test wants them."""

import io
import struct
import zipfile
import zlib
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

PAGE = b"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R >>"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def upload(name: str, data: bytes) -> SimpleUploadedFile:
    file = SimpleUploadedFile("placeholder", data)
    # As it came: Django's own cleaning of names is not relied upon.
    file._name = name  # type: ignore[attr-defined]
    return file


def picture(
    size: tuple[int, int] = (40, 30), kind: str = "PNG", mode: str = "RGB", colour: Any = "red", **how: Any
) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size, colour).save(out, kind, **how)
    return out.getvalue()


def noise(size: tuple[int, int], kind: str = "PNG") -> bytes:
    """A picture that no format makes small."""
    out = io.BytesIO()
    Image.effect_noise(size, 200).convert("RGB").save(out, kind)
    return out.getvalue()


def photo_with_place() -> bytes:
    """A JPEG lying on its side, with a maker, a place and a comment in it."""
    image = Image.new("RGB", (60, 40), "blue")
    for x in range(30):
        for y in range(40):
            image.putpixel((x, y), (255, 255, 0))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    exif[0x010F] = "SecretCameraMaker"
    exif.get_ifd(0x8825).update({1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 36.0)})
    out = io.BytesIO()
    image.save(out, "JPEG", exif=exif, comment=b"SecretComment")
    return out.getvalue()


def bomb(width: int = 60_000, height: int = 60_000) -> bytes:
    """A PNG of a few kilobytes that says it has 3.6 billion pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1_000_000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page; an empty one has no text at all."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    kids = []
    for text in pages:
        drawn = f"BT /F 12 Tf 50 700 Td ({text}) Tj ET".encode() if text else b""
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn))
        objects.append(PAGE % len(objects))
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode()
    out = b"%PDF-1.4\n"
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start = len(out)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (count, table)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, start)


def docx(body: str, head: str = "", **others: bytes) -> bytes:
    """A Word document with this XML as its body."""
    xml = f'<?xml version="1.0"?>{head}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": xml.encode(), **others})


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"
