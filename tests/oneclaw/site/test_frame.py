"""The frame of the pages: what a phone needs to install it, no inline style or script, the About page."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from oneclaw.site.about import parts
from people.models import User


def test_the_manifest_names_icons_that_exist(client: Client, db: None):
    answer = client.get("/manifest.webmanifest")
    assert answer.headers["Content-Type"] == "application/manifest+json"
    icons = answer.json()["icons"]
    assert {icon.get("purpose", "any") for icon in icons} == {"any", "maskable"}
    for icon in icons:
        assert (settings.BASE_DIR / icon["src"].lstrip("/")).is_file()


def kept_by(worker: str) -> list[str]:
    """The addresses that a service worker's text says it keeps."""
    kept: str = re.findall(r'KEPT = "(.*?)"', worker)[0]
    return kept.encode().decode("unicode_escape").split()


def test_the_service_worker_rules_the_whole_app_and_keeps_nothing_personal(client: Client, db: None):
    answer = client.get("/service-worker.js")
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert "no-cache" in answer.headers["Cache-Control"]
    assert kept_by(answer.text)[0] == "/offline/"
    assert all(address.startswith("/static/") for address in kept_by(answer.text)[1:])


def test_the_service_worker_keeps_all_that_the_offline_page_shows(client: Client, db: None):
    shown = re.findall(r'<link [^>]*href="([^"]+)"', client.get("/offline/").text)
    assert sorted(kept_by(client.get("/service-worker.js").text)[1:]) == sorted(shown)


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


SCRIPTS = sorted(Path(settings.BASE_DIR, "static", "scripts").glob("*.js"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_is_short_and_knows_no_address(script: Path):
    text = script.read_text()
    assert len(text.splitlines()) < 100
    assert not re.findall(r"""["'`]/[a-z]""", text)


def test_our_own_scripts_are_small_modules(client: Client, ada: User):
    assert sum(script.stat().st_size for script in SCRIPTS) < 48_000
    client.force_login(ada)
    ours = [
        tag for tag in re.findall("<script[^>]*>", client.get("/memory/file/").text) if "/scripts/" in tag
    ]
    assert len(ours) == 2
    assert all('type="module"' in tag for tag in ours)


def test_modules_import_each_other_by_the_names_they_are_served_by(tmp_path: Path, settings: Settings):
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": "oneclaw.serving.static.HashedFiles"}}
    call_command("collectstatic", interactive=False, verbosity=0)
    served = {file.name: file for file in (tmp_path / "scripts").glob("*.????????????.js")}
    assert len(served) == len(SCRIPTS)
    for script in served.values():
        text = script.read_text()
        names = re.findall(r'^import .*"\./([^"]+)";$', text, re.M)
        assert len(names) == text.count("\nimport ")
        assert set(names) <= set(served), script.name


def test_the_theme_is_drawn_by_the_server(client: Client, ada: User):
    User.objects.filter(pk=ada.pk).update(theme="dark")
    client.force_login(ada)
    assert re.search(r'<html\s+lang="en"\s+data-theme="dark"', client.get("/").text)


def test_about_tells_the_data_folder_to_admins_alone(client: Client, ada: User, ben: User):
    client.force_login(ada)
    assert str(settings.DATA_DIR) in client.get("/settings/about/").text
    client.force_login(ben)
    assert str(settings.DATA_DIR) not in client.get("/settings/about/").text


def test_trouble_comes_with_advice():
    found = {part.name: part for part in parts({"database": "ok", "worker": "silent", "vectors": "scanned"})}
    assert found["Database"].ok
    assert not found["Worker"].ok
    assert "restarts" in found["Worker"].advice
    assert "sqlite-vec" in found["Vector index"].advice
