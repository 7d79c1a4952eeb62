"""Icons are those of the library, drawn once."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from heroicons.templatetags import heroicons

from oneclaw.site import icons

TAG = re.compile(r'heroicon_(\w+) "([\w-]+)"')
USED = sorted(
    {
        pair
        for file in Path(settings.BASE_DIR, "templates").rglob("*.html")
        for pair in TAG.findall(file.read_text())
    }
)


@pytest.mark.parametrize(("style", "name"), USED)
def test_an_icon_is_drawn_as_the_library_draws_it(style: str, name: str) -> None:
    draw = getattr(heroicons, f"heroicon_{style}")
    assert icons.icon(name, style) == draw(name)
    assert icons.icon(name, style, size=16, class_="a&b") == draw(name, size=16, class_="a&b")


def test_an_attribute_can_not_leave_its_place() -> None:
    assert '"><b>' not in icons.icon("clock", "outline", title='"><b>')
