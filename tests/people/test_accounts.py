"""Accounts on the app's own pages: invitations, new passwords, disabled accounts, other devices."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from people.models import Invitation, User

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
NEW = {"username": "cleo", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def admin(ada: User) -> Client:
    ada.is_staff = ada.is_superuser = True
    ada.save()
    client = Client()
    client.force_login(ada)
    return client


def link_on(page: bytes) -> str:
    found = re.search(r"http://testserver(/join/[\w-]+/)", page.decode())
    assert found, page.decode()
    return found[1]


def test_who_is_invited_creates_an_account_and_is_in(admin: Client, client: Client) -> None:
    address = link_on(admin.post("/settings/people/invite/").content)
    assert "You were invited" in client.get(address).content.decode()
    assert client.post(address, NEW).status_code == 302
    cleo = User.objects.get(username="cleo")
    assert not cleo.is_staff
    assert client.get("/").status_code == 200
    assert "cleo" in admin.get("/settings/people/").content.decode()


def test_an_invited_admin_is_an_admin(admin: Client, client: Client) -> None:
    client.post(link_on(admin.post("/settings/people/invite/", {"is_admin": "on"}).content), NEW)
    assert User.objects.get(username="cleo").is_staff


def test_the_page_of_people_takes_no_focus_from_its_list(admin: Client) -> None:
    assert "autofocus" not in admin.get("/settings/people/").content.decode()


def test_a_link_works_once_and_is_shown_once(admin: Client) -> None:
    address = link_on(admin.post("/settings/people/invite/").content)
    assert address not in admin.get("/settings/people/").content.decode()
    assert Client().post(address, NEW).status_code == 302
    again = Client().post(address, NEW | {"username": "dora"})
    assert again.status_code == 404
    assert "Ask for a new one" in again.content.decode()
    assert not User.objects.filter(username="dora").exists()


@pytest.mark.parametrize("how", ["old", "withdrawn", "invented"])
def test_a_link_that_is_not_valid_says_so(admin: Client, client: Client, how: str) -> None:
    address = link_on(admin.post("/settings/people/invite/").content)
    if how == "old":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif how == "withdrawn":
        admin.post(f"/settings/people/invitations/{Invitation.objects.get().pk}/withdraw/")
    else:
        address = "/join/made-up/"
    assert client.get(address).status_code == 404
    assert client.post(address, NEW).status_code == 404
    assert not User.objects.filter(username="cleo").exists()


def test_the_link_itself_is_stored_nowhere(admin: Client) -> None:
    token = link_on(admin.post("/settings/people/invite/").content).split("/")[2]
    assert token not in str(list(Invitation.objects.values()))


def test_a_name_that_is_taken_keeps_the_link(admin: Client, client: Client, ben: User) -> None:
    address = link_on(admin.post("/settings/people/invite/").content)
    assert "taken" in client.post(address, NEW | {"username": "BEN"}).content.decode()
    assert client.post(address, NEW).status_code == 302


def test_a_new_password_by_link_ends_the_log_ins_before(admin: Client, ben: User) -> None:
    before = Client()
    before.force_login(ben)
    assert before.get("/").status_code == 200
    address = link_on(admin.post(f"/settings/people/{ben.pk}/reset/").content)
    there = Client()
    fields = {"new_password1": "another long phrase", "new_password2": "another long phrase"}
    assert there.post(address, fields).status_code == 302
    assert there.get("/").status_code == 200
    assert before.get("/").status_code == 302
    ben.refresh_from_db()
    assert ben.check_password("another long phrase")
    assert not ben.is_staff


def test_a_second_reset_makes_the_first_link_void(admin: Client, client: Client, ben: User) -> None:
    first = link_on(admin.post(f"/settings/people/{ben.pk}/reset/").content)
    admin.post(f"/settings/people/{ben.pk}/reset/")
    assert client.get(first).status_code == 404


def test_a_disabled_account_is_out_at_once_and_comes_back_with_everything(admin: Client, ben: User) -> None:
    his = Client()
    his.force_login(ben)
    reset = link_on(admin.post(f"/settings/people/{ben.pk}/reset/").content)
    assert "signed out" in admin.post(f"/settings/people/{ben.pk}/disable/", follow=True).content.decode()
    assert his.get("/").status_code == 302
    assert Client().get(reset).status_code == 404
    admin.post(f"/settings/people/{ben.pk}/enable/")
    his.force_login(ben)
    assert his.get("/").status_code == 200


def test_nobody_disables_themselves(admin: Client, ada: User) -> None:
    answer = admin.post(f"/settings/people/{ada.pk}/disable/", follow=True)
    assert "your own account" in answer.content.decode()
    ada.refresh_from_db()
    assert ada.is_active


def test_others_can_do_none_of_it(client: Client, ada: User, ben: User) -> None:
    client.force_login(ben)
    for address in ("invite/", f"{ada.pk}/disable/", f"{ada.pk}/reset/", "invitations/1/withdraw/"):
        assert client.post(f"/settings/people/{address}").status_code == 403
    assert not Invitation.objects.exists()


def test_other_devices_are_signed_out_and_this_one_stays(ben: User) -> None:
    here, there = Client(), Client()
    for device in (here, there):
        device.force_login(ben)
    assert here.post("/settings/devices/").status_code == 302
    assert here.get("/").status_code == 200
    assert there.get("/").status_code == 302


def test_a_display_name_greets(client: Client, ben: User) -> None:
    client.force_login(ben)
    profile = {"first_name": "Benedikt", "time_zone": "", "theme": "system", "memory_enabled": "on"}
    client.post("/settings/profile/", profile)
    assert "Benedikt" in client.get("/").content.decode()


def test_the_time_zones_are_places(client: Client, ben: User) -> None:
    client.force_login(ben)
    page = client.get("/settings/profile/").content.decode()
    assert "America/Argentina/Buenos Aires" in page
    for name in ("EST5EDT", "GB-Eire", "Etc/GMT+5", "posixrules"):
        assert name not in page
