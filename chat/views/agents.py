"""Agents under Settings: the user's own to make, change, clone and delete."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chat.models import Agent
from chat.sessions import agents
from chat.sessions.agents import AgentForm
from people.access import UserRequest


@login_required
@require_safe
def index(request: UserRequest) -> HttpResponse:
    return render(request, "chat/agents.html", {"agents": agents.of(request.user)})


@login_required
@require_http_methods(["GET", "POST"])
def create(request: UserRequest) -> HttpResponse:
    return _form(request, Agent(owner=request.user))


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: UserRequest, agent_id: int) -> HttpResponse:
    return _form(request, agents.own(request.user, agent_id))


def _form(request: UserRequest, agent: Agent) -> HttpResponse:
    form = AgentForm(request.POST or None, instance=agent)
    if request.method == "POST" and form.is_valid():
        form.save()
        return redirect("settings:agents")
    return render(request, "chat/agent.html", {"form": form, "agent": agent})


@login_required
@require_POST
def clone(request: UserRequest, agent_id: int) -> HttpResponse:
    copy = agents.clone(request.user, agents.choose(request.user, agent_id))
    return redirect("settings:agent", copy.id)


@login_required
@require_POST
def delete(request: UserRequest, agent_id: int) -> HttpResponse:
    """Chats that used the agent go on with the built-in one."""
    agents.own(request.user, agent_id).delete()
    return redirect("settings:agents")
