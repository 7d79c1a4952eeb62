"""Heroicons' tags, with each icon drawn once: a page has dozens, and drawing them was a tenth of its time."""

from functools import cache, partial
from typing import Any

from django import template
from django.utils.safestring import SafeString
from heroicons.templatetags import heroicons

register = template.Library()
STYLES = ("micro", "mini", "outline", "solid")


@cache
def drawn(style: str, name: str, attributes: tuple[tuple[str, Any], ...]) -> SafeString:
    draw = getattr(heroicons, f"heroicon_{style}")
    icon: SafeString = draw(name, **dict(attributes))
    return icon


def icon(name: str, style: str, **attributes: Any) -> SafeString:
    return drawn(style, name, tuple(attributes.items()))


for each in STYLES:
    register.simple_tag(partial(icon, style=each), name=f"heroicon_{each}")
