"""What people set for themselves, what their browser reports, and accounts that admins make."""

from pathlib import Path

import pytest
from django.test import Client

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


@pytest.mark.parametrize("name", ["ada", "ADA", "../etc", ".", "a/b", "a\0b", "x" * 81, "𐍈" * 60])
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
