"""Agents: the built-in one for everybody, one's own to keep, switch, clone and delete."""

import pytest
from django.test import Client
from django.urls import reverse

from chat.models import Agent, Message, Session
from chat.sessions import agents
from people.models import User

GOOD = {"name": "Keeper", "description": "", "prompt": "You keep birds.", "model": "", "temperature": "0.5"}


def test_everybody_has_the_general_assistant_and_nobody_can_change_it(page: Client, user: User):
    built_in = agents.built_in()
    assert agents.built_in() == built_in
    assert [agent.name for agent in agents.of(user)] == ["General Assistant"]
    assert page.post(reverse("settings:agent", args=[built_in.id]), GOOD).status_code == 404
    assert page.post(reverse("settings:delete_agent", args=[built_in.id])).status_code == 404


def test_make_change_clone_and_delete(page: Client, user: User):
    page.post(reverse("settings:new_agent"), GOOD)
    made = Agent.objects.get(owner=user)
    assert (made.name, made.prompt, made.temperature) == ("Keeper", "You keep birds.", 0.5)
    page.post(reverse("settings:agent", args=[made.id]), GOOD | {"name": "Falconer"})
    page.post(reverse("settings:clone_agent", args=[made.id]))
    page.post(reverse("settings:clone_agent", args=[agents.built_in().id]))
    names = sorted(Agent.objects.filter(owner=user).values_list("name", flat=True))
    assert names == ["Falconer", "Falconer (copy)", "General Assistant (copy)"]
    page.post(reverse("settings:delete_agent", args=[made.id]))
    assert not Agent.objects.filter(id=made.id).exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"prompt": "x" * 50_001},
        {"temperature": "2.1"},
        {"temperature": "-0.1"},
        {"temperature": "nan"},
        {"model": "999"},
    ],
)
def test_limits_come_back_with_the_form(page: Client, user: User, wrong: dict[str, str]):
    answer = page.post(reverse("settings:new_agent"), GOOD | wrong)
    assert answer.status_code == 200
    assert not Agent.objects.filter(owner=user).exists()


def test_a_switch_in_mid_chat_leaves_a_note(page: Client, user: User, session: Session):
    keeper = Agent.objects.create(owner=user, name="Keeper")
    page.post(reverse("chat:choose", args=[session.id]), {"agent": keeper.id})
    page.post(reverse("chat:choose", args=[session.id]), {"agent": keeper.id})
    session.refresh_from_db()
    assert session.agent == keeper
    assert [row.content for row in Message.objects.filter(type="system")] == ["Now talking to Keeper"]


def test_a_deleted_agent_falls_back_to_the_built_in_one(page: Client, user: User, session: Session):
    keeper = Agent.objects.create(owner=user, name="Keeper")
    agents.switch(session, keeper)
    page.post(reverse("settings:delete_agent", args=[keeper.id]))
    session.refresh_from_db()
    assert session.agent is None
    assert page.get(reverse("chat:session", args=[session.id])).status_code == 200


def test_anothers_agent_is_a_404(client: Client, user: User, other: User, session: Session):
    keeper = Agent.objects.create(owner=user, name="Keeper")
    client.force_login(other)
    assert client.get(reverse("settings:agent", args=[keeper.id])).status_code == 404
    for name in ("agent", "clone_agent", "delete_agent"):
        assert client.post(reverse(f"settings:{name}", args=[keeper.id]), GOOD).status_code == 404
    assert client.post(reverse("chat:start"), {"text": "x", "agent": keeper.id}).status_code == 404
    for rubbish in ("", "x", "9" * 30, "-1"):
        assert client.post(reverse("chat:start"), {"text": "x", "agent": rubbish}).status_code == 404


def test_whether_an_agent_reads_and_writes_memory_is_set_cloned_and_shown(page: Client, user: User):
    page.post(reverse("settings:new_agent"), GOOD | {"writes_memory": "on"})
    made = Agent.objects.get(owner=user)
    assert (made.reads_memory, made.writes_memory) == (False, True)
    page.post(reverse("settings:clone_agent", args=[made.id]))
    assert Agent.objects.filter(owner=user, reads_memory=False, writes_memory=True).count() == 2
    assert "Reads no memory" in page.get(reverse("settings:agents")).content.decode()
    chat = Session.objects.create(owner=user, agent=made)
    assert "reads no memory" in page.get(reverse("chat:session", args=[chat.id])).content.decode()
