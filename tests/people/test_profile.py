"""What people set for themselves, what their browser reports, and accounts that admins make."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from django.test import Client, RequestFactory
from django.utils import timezone

from chat.models import Message, Run, Session
from chat.views.stream import finished
from people.access import UserRequest
from people.models import User

PASSWORD = "correct horse battery"
PROFILE = {"time_zone": "", "theme": "system", "memory_enabled": "on"}


@pytest.fixture
def as_ben(client: Client, ben: User) -> Client:
    client.force_login(ben)
    return client


def test_the_browsers_time_zone_is_kept(as_ben: Client, ben: User) -> None:
    for name in ("Europe/Lisbon", "Asia/Tokyo"):
        assert as_ben.post("/people/zone/", {"zone": name}).status_code == 204
        ben.refresh_from_db()
        assert ben.time_zone == name


def test_a_time_zone_chosen_by_hand_stays(as_ben: Client, ben: User) -> None:
    as_ben.post("/settings/profile/", PROFILE | {"time_zone": "America/Lima"})
    as_ben.post("/people/zone/", {"zone": "Asia/Tokyo"})
    ben.refresh_from_db()
    assert ben.time_zone == "America/Lima"
    # Going back to the browser's keeps the last one until the browser speaks.
    as_ben.post("/settings/profile/", PROFILE)
    ben.refresh_from_db()
    assert (ben.time_zone, ben.zone_from_browser) == ("America/Lima", True)
    as_ben.post("/people/zone/", {"zone": "Asia/Tokyo"})
    ben.refresh_from_db()
    assert ben.time_zone == "Asia/Tokyo"


@pytest.mark.parametrize("name", ["", "Nowhere/Land", "../../etc/passwd", "Europe", "x" * 200, "a\0b"])
def test_nonsense_is_no_time_zone(as_ben: Client, ben: User, name: str) -> None:
    assert as_ben.post("/people/zone/", {"zone": name}).status_code == 400
    ben.refresh_from_db()
    assert ben.time_zone == ""


def test_pages_tell_the_time_of_their_readers_clock(as_ben: Client, ben: User) -> None:
    chat = Session.objects.create(owner=ben, title="Late")
    moment = datetime(2025, 7, 1, 22, 30, tzinfo=UTC)
    said = Message.objects.create(session=chat, type=Message.Type.USER, content="Hello", created_at=moment)
    run = Run.objects.create(session=chat, prompt=said, status=Run.Status.DONE)
    reply = Message.Type.AI_RESPONSE
    Message.objects.create(session=chat, type=reply, run=run, content="Hi", created_at=moment)
    request = RequestFactory().get("/")
    for name, told in (("", "1 Jul 2025, 22:30"), ("Asia/Tokyo", "2 Jul 2025, 07:30")):
        User.objects.filter(pk=ben.pk).update(time_zone=name)
        assert as_ben.get(f"/chat/{chat.id}/").text.count(told) == 2
        # The end of a stream is drawn long after its request was answered.
        request.user = User.objects.get(pk=ben.pk)
        assert told in finished(cast(UserRequest, request), run.id)
    assert timezone.get_current_timezone_name() == "UTC"


def test_memory_is_switched_off_and_on(as_ben: Client, ben: User) -> None:
    as_ben.post("/settings/profile/", {"time_zone": "", "theme": "dark"})
    ben.refresh_from_db()
    assert (ben.memory_enabled, ben.theme) == (False, "dark")
    as_ben.post("/settings/profile/", PROFILE)
    ben.refresh_from_db()
    assert ben.memory_enabled
    # What was said in between stays out of memory.
    assert ben.memory_since


def test_the_theme_is_one_of_three(as_ben: Client, ben: User) -> None:
    as_ben.post("/settings/profile/", PROFILE | {"theme": "dark"})
    as_ben.post("/settings/profile/", PROFILE | {"theme": "pink"})
    ben.refresh_from_db()
    assert ben.theme == "dark"


def test_a_changed_password_keeps_this_session_and_ends_the_others(as_ben: Client, ben: User) -> None:
    elsewhere = Client()
    elsewhere.force_login(ben)
    new = {"old_password": PASSWORD, "new_password1": "another horse", "new_password2": "another horse"}
    assert as_ben.post("/settings/password/", new).status_code == 302
    assert as_ben.get("/settings/profile/").status_code == 200
    assert elsewhere.get("/settings/profile/").status_code == 302


def test_a_wrong_old_password_changes_nothing(as_ben: Client, ben: User) -> None:
    new = {"old_password": "wrong", "new_password1": "another horse", "new_password2": "another horse"}
    assert as_ben.post("/settings/password/", new).status_code == 200
    ben.refresh_from_db()
    assert ben.check_password(PASSWORD)


def account(**change: str) -> dict[str, str]:
    return {"username": "eve", "password1": PASSWORD, "password2": PASSWORD} | change


def test_an_admin_makes_further_accounts(client: Client, ada: User) -> None:
    client.force_login(ada)
    client.post("/settings/people/", account())
    client.post("/settings/people/", account(username="sam", is_admin="on"))
    assert list(User.objects.order_by("pk").values_list("username", "is_staff", "is_superuser")) == [
        ("ada", True, True),
        ("eve", False, False),
        ("sam", True, True),
    ]


def test_only_an_admin_does(as_ben: Client) -> None:
    assert as_ben.post("/settings/people/", account()).status_code == 403
    assert not User.objects.filter(username="eve").exists()


@pytest.mark.parametrize("name", ["ada", "ADA", "../etc", ".", "a/b", "x" * 81, "𐍈" * 60])
def test_a_bad_or_taken_name_comes_back_with_the_form(client: Client, ada: User, name: str) -> None:
    client.force_login(ada)
    response = client.post("/settings/people/", account(username=name))
    assert response.status_code == 200
    assert "username" in response.context["form"].errors
    assert User.objects.count() == 1


def test_a_new_account_never_inherits_a_former_ones_memory(client: Client, ada: User, data_dir: Path) -> None:
    (data_dir / "memory" / "eve").mkdir(parents=True)
    client.force_login(ada)
    response = client.post("/settings/people/", account())
    assert b"still on disk" in response.content
    assert User.objects.count() == 1


def test_the_menu_sets_the_theme(as_ben: Client, ben: User) -> None:
    answer = as_ben.post("/people/theme/", {"theme": "dark", "next": "/memory/"})
    assert answer["Location"] == "/memory/"
    ben.refresh_from_db()
    assert ben.theme == "dark"
    assert (
        as_ben.post("/people/theme/", {"theme": "light"}, headers={"HX-Request": "true"}).status_code == 204
    )
    ben.refresh_from_db()
    assert ben.theme == "light"


@pytest.mark.parametrize("back", ["https://example.com/", "//example.com/", "javascript:alert(1)", ""])
def test_the_menu_leads_to_no_other_site(as_ben: Client, back: str) -> None:
    assert as_ben.post("/people/theme/", {"theme": "dark", "next": back})["Location"] == "/settings/profile/"


def test_there_is_no_other_theme(as_ben: Client, ben: User) -> None:
    for theme in ("", "neon", "<b>"):
        assert as_ben.post("/people/theme/", {"theme": theme}).status_code == 400
    assert as_ben.get("/people/theme/").status_code == 405
    ben.refresh_from_db()
    assert ben.theme == "system"


def test_the_time_zones_are_places(as_ben: Client) -> None:
    html = as_ben.get("/settings/profile/").content.decode()
    zones = re.findall(r'<option value="([^"]*)"', html)
    assert {"Europe/Lisbon", "Asia/Kolkata", "America/Argentina/Buenos_Aires", "UTC"} <= set(zones)
    for name in (
        "EST",
        "EST5EDT",
        "GB",
        "GB-Eire",
        "Etc/GMT+5",
        "PRC",
        "US/Pacific",
        "posixrules",
        "Factory",
    ):
        assert name not in zones
