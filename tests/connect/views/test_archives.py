"""Settings → Import & export: uploads in pieces, the page of an import, downloads, and whose they are."""

import zipfile
from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from chat.models import Session
from connect import tasks
from connect.models import Erasure, Export, Import
from tests.connect import exports

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queue(monkeypatch) -> list[tuple[object, ...]]:
    sent: list[tuple[object, ...]] = []
    for place in ("importing.uploads", "importing.pastlogs", "tasks", "exporting.work", "views.archives"):
        monkeypatch.setattr(f"connect.{place}.async_task", lambda *args: sent.append(args))
    monkeypatch.setattr("memory.index.backfill.async_task", lambda *args: None)
    return sent


@pytest.fixture
def page(client, ada):
    client.force_login(ada)
    return client


def export_of(tmp_path) -> bytes:
    return exports.chatgpt(tmp_path / "a.zip", [exports.branching()]).read_bytes()


def begun(page, size: int) -> str:
    return str(page.post(reverse("settings:upload"), {"name": "export.zip", "size": size}).json()["id"])


def put(page, key: str, data: bytes, offset: int):
    url = reverse("settings:upload_part", args=[key])
    return page.post(f"{url}?offset={offset}", data, content_type="application/octet-stream")


def test_an_archive_comes_in_pieces_and_is_imported_and_undone(page, tmp_path):
    data = export_of(tmp_path)
    key = begun(page, len(data))
    assert put(page, key, data[:700], 0).json() == {"received": 700}
    assert put(page, key, data[:700], 0).json()["received"] == 700
    assert put(page, key, data[700:], 700).json() == {"received": len(data)}
    url = reverse("settings:import", args=[key])
    assert "being read" in page.get(url).content.decode()
    tasks.look(key)
    preview = page.get(url).content.decode()
    assert "1 chat with 10 messages" in preview
    assert "11 Apr 2026 to 11 Apr 2026" in preview
    assert "2 memories for MEMORY.md" in preview
    page.post(reverse("settings:import_act", args=[key, "start"]))
    assert "chats so far" in page.get(url, headers={"HX-Request": "true"}).content.decode()
    tasks.take_in(key)
    assert "From ChatGPT came" in page.get(url).content.decode()
    assert Session.objects.count() == 1
    page.post(reverse("settings:import_act", args=[key, "undo"]))
    tasks.undo(key)
    assert "Undone: 1 chats" in page.get(url).content.decode()
    assert not Session.objects.exists()


def test_without_a_script_the_form_brings_the_file(page, tmp_path, queue):
    file = SimpleUploadedFile("export.zip", export_of(tmp_path))
    response = page.post(reverse("settings:upload"), {"file": file})
    import_ = Import.objects.get()
    assert response.url == reverse("settings:import", args=[import_.pk])
    assert import_.status == Import.Status.CHECKING
    assert queue == [("connect.tasks.look", str(import_.pk))]


def test_what_is_refused_is_said(page, settings):
    settings.IMPORT_MB = 1
    response = page.post(reverse("settings:upload"), {"name": "x", "size": 2**21})
    assert response.status_code == 409
    assert "larger than 1 MB" in response.json()["error"]
    for size in ("-1", "x", "٣", "9" * 40):
        assert page.post(reverse("settings:upload"), {"name": "x", "size": size}).status_code == 409
    key = begun(page, 10)
    for offset in ("5", "-1", "x", ""):
        url = reverse("settings:upload_part", args=[key])
        response = page.post(f"{url}?offset={offset}", b"12345", content_type="application/octet-stream")
        assert response.status_code == 409


def test_anothers_imports_and_exports_are_not_there(page, ben):
    theirs = Import.objects.create(owner=ben, file_name="x", status="done")
    export = Export.objects.create(owner=ben, status="done")
    export.path.parent.mkdir(parents=True)
    export.path.write_bytes(b"secret")
    for url in (
        reverse("settings:import", args=[theirs.pk]),
        reverse("settings:download", args=[export.pk]),
    ):
        assert page.get(url).status_code == 404
    for url in (
        reverse("settings:import_act", args=[theirs.pk, "undo"]),
        reverse("settings:upload_part", args=[theirs.pk]),
        reverse("settings:import_logs", args=[theirs.pk]),
    ):
        assert page.post(url).status_code == 404
    assert "x" not in [each.file_name for each in page.get(reverse("settings:data")).context["imports"]]


def test_an_archive_is_made_and_fetched(page, ada, tmp_path):
    page.post(reverse("settings:export"))
    export = Export.objects.get()
    assert "being made" in page.get(reverse("settings:data")).content.decode()
    tasks.export(str(export.pk))
    assert "Download" in page.get(reverse("settings:export"), headers={"HX-Request": "true"}).content.decode()
    response = page.get(reverse("settings:download", args=[export.pk]))
    with pytest.warns(Warning, match="asynchronous"):
        whole = b"".join(response)
    assert int(response["Content-Length"]) == len(whole)
    assert "manifest.json" in zipfile.ZipFile(BytesIO(whole)).namelist()
    # Another takes its place: two gigabytes are not kept twice.
    page.post(reverse("settings:export"))
    assert not export.path.exists()


def test_deleting_everything_asks_for_the_password(page, ada, queue):
    url = reverse("settings:erase")
    assert "can't be undone" in page.get(url).content.decode()
    assert "Wrong password" in page.post(url, {"password": "no"}).content.decode()
    assert not Erasure.objects.exists()
    page.post(url, {"password": "correct horse battery"})
    assert queue == [("connect.tasks.erase", ada.pk)]
    tasks.erase(ada.pk)
    assert "everything of yours was deleted" in page.get(reverse("settings:data")).content.decode()
    assert tasks.erase(ada.pk) == "nothing"


def test_a_first_visit_offers_to_bring_chats(page, ada):
    assert (
        reverse("settings:data")
        in page.get("/", follow=True).content.decode().split("Bring your chats")[0][-200:]
    )
    Session.objects.create(owner=ada, title="One")
    assert "Bring your chats" not in page.get("/", follow=True).content.decode()


def test_unknown_actions_and_running_imports_are_left_alone(page, ada):
    import_ = Import.objects.create(owner=ada, file_name="x", status="running")
    assert page.post(reverse("settings:import_act", args=[import_.pk, "explode"])).status_code == 404
    assert page.post(reverse("settings:import_act", args=[import_.pk, "discard"])).status_code == 404
    assert page.get(reverse("settings:import_act", args=[import_.pk, "undo"])).status_code == 405
