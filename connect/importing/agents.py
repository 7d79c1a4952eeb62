"""Agents of an archive, be they projects of another program: those that are missing here come along."""

from chat.models import Agent, AiModel, Session
from connect.archives.values import ForeignAgent
from connect.models import Import, Imported
from people.models import User


def is_new(user: User, agent: ForeignAgent) -> bool:
    """Whether there is none of its name; one that is there is nobody's to change."""
    return not Agent.objects.filter(owner=user, name=agent.name).exists()


def bring(user: User, agent: ForeignAgent, by: Import) -> int:
    """Make it, with the model of its model's name, else the default one; how many came."""
    if not is_new(user, agent):
        return 0
    made = Agent.objects.create(
        owner=user,
        name=agent.name,
        description=agent.description[:200],
        prompt=agent.prompt,
        model=AiModel.objects.usable().filter(name=agent.model).first() if agent.model else None,
        temperature=agent.temperature,
        reads_memory=agent.reads_memory,
        writes_memory=agent.writes_memory,
    )
    Imported.objects.update_or_create(
        owner=user,
        kind=agent.kind,
        what=Imported.What.AGENT,
        foreign_id=agent.name,
        defaults={"by": by, "last_message": made.pk},
    )
    return 1


def take_back(user: User, by: Import) -> list[str]:
    """Delete the agents that came, once their chats are gone; a sentence on those that are in use."""
    rows = Imported.objects.filter(by=by, what=Imported.What.AGENT)
    came = Agent.objects.filter(owner=user, pk__in=list(rows.values_list("last_message", flat=True)))
    used = came.filter(pk__in=Session.objects.filter(owner=user).values("agent"))
    stayed = [agent.name for agent in used]
    came.exclude(pk__in=list(used.values_list("pk", flat=True))).delete()
    rows.delete()
    return [f"Chats use these agents, so they stay: {', '.join(stayed)}."] if stayed else []
