"""Heroicons' tags, with each icon drawn once: a page has dozens, and drawing them was a tenth of its time."""

from functools import cache, partial
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from django import template
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
# The styles, and how many pixels wide the icons of each are made.
SIZES = {"micro": 16, "mini": 20, "outline": 24, "solid": 24}
NAMESPACE = "http://www.w3.org/2000/svg"


@cache
def archive() -> ZipFile:
    """All icons. The library's own tags read the list of a thousand files again for each icon.

    That was half a second of a process's first page.
    """
    return ZipFile((files("heroicons") / "heroicons.zip").open("rb"))


@cache
def drawn(style: str, name: str, attributes: tuple[tuple[str, Any], ...]) -> SafeString:
    svg = ElementTree.fromstring(archive().read(f"{style}/{name}.svg"))  # noqa: S314  (the library's own)
    for node in svg.iter():
        node.tag = ElementTree.QName(node.tag.removeprefix(f"{{{NAMESPACE}}}"))  # type: ignore[assignment]
    given = dict(attributes)
    size = str(given.pop("size", SIZES[style]))
    svg.attrib |= {"width": size, "height": size}
    svg.attrib |= {key.replace("_", "-"): str(value) for key, value in given.items()}
    # In a page's own text an icon needs no namespace.
    text = ElementTree.tostring(svg, encoding="unicode").replace(f' xmlns="{NAMESPACE}"', "", 1)
    return mark_safe(text)  # noqa: S308  (escaped by ElementTree)


def icon(name: str, style: str, **attributes: Any) -> SafeString:
    return drawn(style, name, tuple(attributes.items()))


for each in SIZES:
    register.simple_tag(partial(icon, style=each), name=f"heroicon_{each}")
