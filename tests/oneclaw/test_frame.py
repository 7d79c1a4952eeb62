"""The frame of the pages: what a phone needs to install it, no inline style or script, the About page."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from oneclaw.about import parts
from people.models import User


def test_the_manifest_names_icons_that_exist(client: Client, db: None):
    answer = client.get("/manifest.webmanifest")
    assert answer.headers["Content-Type"] == "application/manifest+json"
    icons = answer.json()["icons"]
    assert {icon.get("purpose", "any") for icon in icons} == {"any", "maskable"}
    for icon in icons:
        assert (settings.BASE_DIR / icon["src"].lstrip("/")).is_file()


def test_the_service_worker_rules_the_whole_app_and_keeps_nothing_personal(client: Client, db: None):
    answer = client.get("/service-worker.js")
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert "no-cache" in answer.headers["Cache-Control"]
    kept = re.findall(r"KEPT = \[(.*?)\]", answer.text)[0]
    assert kept.count('"') == 6
    assert "/offline/" in answer.text


def test_the_offline_page_needs_nobody_and_nothing_else(client: Client, db: None):
    page = client.get("/offline/").text
    assert "can't be reached" in page
    assert "csrf" not in page


@pytest.mark.parametrize(
    "path", ["/", "/settings/profile/", "/settings/agents/", "/settings/about/", "/memory/"]
)
def test_no_page_has_inline_script_or_style(client: Client, ada: User, path: str):
    client.force_login(ada)
    page = client.get(path).text
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert "<style" not in page
    assert not re.search(r"<[^>]+\s(style|on\w+)=", page)


def test_our_own_script_is_under_three_hundred_lines():
    files = list(Path(settings.BASE_DIR, "static").glob("*.js"))
    assert sum(len(file.read_text().splitlines()) for file in files) < 300


def test_the_theme_is_drawn_by_the_server(client: Client, ada: User):
    User.objects.filter(pk=ada.pk).update(theme="dark")
    client.force_login(ada)
    assert '<html lang="en" data-theme="dark">' in client.get("/").text


def test_about_tells_the_data_folder_to_admins_alone(client: Client, ada: User, ben: User):
    client.force_login(ada)
    assert str(settings.DATA_DIR) in client.get("/settings/about/").text
    client.force_login(ben)
    assert str(settings.DATA_DIR) not in client.get("/settings/about/").text


def test_trouble_comes_with_advice():
    found = {part.name: part for part in parts({"database": "ok", "worker": "silent", "vectors": "scanned"})}
    assert found["Database"].ok
    assert not found["Worker"].ok
    assert "restarted" in found["Worker"].advice
    assert "sqlite-vec" in found["Vector index"].advice
