"""What the composer offers for a chat, and what was chosen: agent, model, memory mode."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404

from chat.models import AiModel, Session
from chat.sessions import agents, sessions
from oneclaw.outside import number
from people.models import User

WHAT_MODES_DO = {
    Session.MemoryMode.NORMAL: "recalls and remembers",
    Session.MemoryMode.READ_ONLY: "recalls, but saves nothing",
    Session.MemoryMode.OFF: "recalls nothing, saves nothing; this chat stays out of memory",
}


def offered(user: User, session: Session | None = None) -> dict[str, Any]:
    """What there is to choose from, and whom the chat talks to."""
    choice, models = agents.of(user), list(AiModel.objects.usable())
    return {
        "agent": (session.agent if session else None) or choice[0],
        "agents": choice,
        "models": models,
        "default_model": next((model for model in models if model.is_default), None),
        "memory_modes": [(mode.value, mode.label, WHAT_MODES_DO[mode]) for mode in Session.MemoryMode],
    }


def new_session(user: User, chosen: Mapping[str, Any]) -> Session:
    """A chat as the composer of a new one asks for; not saved before its first message."""
    session = Session(owner=user)
    if chosen.get("temporary"):
        session.temporary, session.memory_mode = True, Session.MemoryMode.OFF
        session.title, session.title_by = "Temporary chat", Session.TitleBy.USER
    if "agent" in chosen:
        session.agent = agents.choose(user, chosen.get("agent", ""))
    if chosen.get("model"):
        session.model = usable_model(chosen.get("model", ""))
    if "memory_mode" in chosen and not session.temporary:
        session.memory_mode = _mode(chosen.get("memory_mode", ""))
    return session


def apply(session: Session, chosen: Mapping[str, Any]) -> None:
    """Apply the choices that were sent; the others stay as they are."""
    if "agent" in chosen:
        agents.switch(session, agents.choose(session.owner, chosen.get("agent", "")))
    if "model" in chosen:
        session.model = usable_model(chosen.get("model", "")) if chosen.get("model") else None
        session.save(update_fields=["model"])
    if "memory_mode" in chosen and not session.temporary:
        sessions.set_memory_mode(session, _mode(chosen.get("memory_mode", "")))


def usable_model(value: str) -> AiModel:
    """A model by the id that a form sent, or a 404."""
    found = AiModel.objects.usable().filter(id=number(value) or 0).first()
    if found is None:
        raise Http404("No such model.")
    return found


def _mode(value: str) -> str:
    if value not in Session.MemoryMode.values:
        raise Http404("No such memory mode.")
    return value
