"""The admin site: every model is there, secrets are not, and rules hold there too."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client

from chat.models import Agent, Provider, Session
from chat.sessions import agents
from oneclaw import vault
from people.models import User

OURS = [model for name in ("people", "chat", "memory") for model in apps.get_app_config(name).get_models()]


@pytest.fixture
def site(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_every_model_has_a_page_that_opens_and_searches(site: Client, model) -> None:
    assert admin.site.is_registered(model)
    response = site.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/?q=x")
    assert response.status_code == 200
    assert b"OneClaw admin" in response.content


def test_a_key_is_never_shown(site: Client) -> None:
    sealed = vault.seal("sk-secret")
    provider = Provider.objects.create(
        name="A", kind="openai", base_url="http://127.0.0.1:1/v1", sealed_key=sealed
    )
    page = site.get(f"/admin/chat/provider/{provider.pk}/change/").content.decode()
    assert sealed not in page
    assert "sk-secret" not in page
    assert "sealed_key" not in page


def test_what_was_said_is_neither_shown_nor_changed_here(site: Client, ada: User) -> None:
    session = Session.objects.create(owner=ada, title="Trains")
    assert site.get(f"/admin/chat/session/{session.pk}/change/").status_code == 404
    assert site.post(f"/admin/chat/session/{session.pk}/change/", {"title": "x"}).status_code == 404
    assert site.get("/admin/chat/session/add/").status_code == 403


def test_agents_are_only_counted(site: Client, ada: User) -> None:
    built_in = agents.built_in()
    own = agents.clone(ada, built_in)
    for agent in (built_in, own):
        page = f"/admin/chat/agent/{agent.pk}"
        assert site.post(f"{page}/change/", {"name": "x"}).status_code == 404
        assert site.post(f"{page}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [built_in.pk, own.pk], "post": "yes"}
    site.post("/admin/chat/agent/", chosen)
    assert Agent.objects.count() == 2


def test_a_name_is_fixed_once_made(site: Client, ben: User) -> None:
    page = site.get(f"/admin/people/user/{ben.pk}/change/")
    assert "username" in page.context["adminform"].readonly_fields
    form = {"username": "eve", "is_active": "on", "theme": "system"}
    site.post(f"/admin/people/user/{ben.pk}/change/", form)
    ben.refresh_from_db()
    assert ben.username == "ben"


def test_accounts_are_made_by_the_same_rules(site: Client) -> None:
    form = {"username": "../x", "password1": "correct horse battery", "password2": "correct horse battery"}
    assert site.post("/admin/people/user/add/", form).status_code == 200
    assert site.post("/admin/people/user/add/", form | {"username": "eve"}).status_code == 302
    assert User.objects.get(username="eve").is_staff is False


def test_an_account_is_deleted_with_all_that_is_its_own(site: Client, ben: User) -> None:
    Session.objects.create(owner=ben)
    response = site.post(f"/admin/people/user/{ben.pk}/delete/", {"post": "yes"})
    assert response.status_code == 302
    assert not User.objects.filter(username="ben").exists()
    assert not Session.objects.exists()


def test_nobody_deletes_themselves(site: Client, ada: User) -> None:
    assert site.post(f"/admin/people/user/{ada.pk}/delete/", {"post": "yes"}).status_code == 403


def test_others_are_sent_away(client: Client, ben: User) -> None:
    assert client.get("/admin/", follow=True).redirect_chain[-1][0].startswith("/login/?next=")
    client.force_login(ben)
    assert client.get("/admin/", follow=True).status_code == 403
