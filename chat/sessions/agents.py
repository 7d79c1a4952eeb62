"""Agents: the built-in General Assistant and the user's own."""

from typing import Any

from django import forms
from django.db.models import F, Q, QuerySet
from django.http import Http404

from chat.models import Agent, AiModel, Session
from chat.sessions import sessions
from oneclaw.outside import number
from people.models import User

NAME = "General Assistant"
PROMPT = (
    "You are a helpful assistant in OneClaw, a chat that its user hosts on a machine of their own. Answer in "
    "the user's language, come to the point, and say so when you are not sure. Write Markdown where it helps "
    "the reader. If you have the memory tools, save what the user asks you to remember, and what they tell "
    "you about themselves that will still be true and useful in three months; correct an entry that has "
    "changed. Keep no passing remarks, nothing that only you or a pasted text said, and nothing they ask you "
    "not to keep."
)


def built_in() -> Agent:
    """The assistant that everybody has; made on first use."""
    found = Agent.objects.filter(owner=None).order_by("id").first()
    return found or Agent.objects.create(owner=None, name=NAME, description="Answers anything", prompt=PROMPT)


def of(user: User) -> list[Agent]:
    """The user's choice of agents, built-in first."""
    found = list(_of(user))
    return found if found and found[0].owner_id is None else [built_in(), *found]


def _of(user: User) -> QuerySet[Agent]:
    built_in_first = F("owner_id").asc(nulls_first=True)
    return Agent.objects.filter(Q(owner=user) | Q(owner=None)).order_by(built_in_first, "name", "id")


def own(user: User, agent_id: int) -> Agent:
    found = Agent.objects.filter(owner=user, id=agent_id).first()
    if found is None:
        raise Http404("No such agent.")
    return found


def choose(user: User, agent_id: str | int) -> Agent:
    """An agent this user may talk to, or a 404."""
    found = _of(user).filter(id=number(str(agent_id)) or 0).first()
    if found is None:
        raise Http404("No such agent.")
    return found


def clone(user: User, agent: Agent) -> Agent:
    name = f"{agent.name} (copy)" if len(agent.name) <= 93 else agent.name
    return Agent.objects.create(
        owner=user,
        name=name,
        description=agent.description,
        prompt=agent.prompt,
        model=agent.model,
        temperature=agent.temperature,
        reads_memory=agent.reads_memory,
        writes_memory=agent.writes_memory,
    )


def switch(session: Session, agent: Agent) -> bool:
    """Switch to another agent; a note in the chat marks the place."""
    if agent.id == (session.agent_id or built_in().id):
        return False
    session.agent = agent
    session.save(update_fields=["agent"])
    sessions.note(session, f"Now talking to {agent.name}")
    return True


class AgentForm(forms.ModelForm):
    """A user's own agent; limits are those of the design."""

    prompt = forms.CharField(max_length=50_000, required=False, strip=False, widget=forms.Textarea)

    class Meta:
        model = Agent
        fields = ["name", "description", "prompt", "model", "temperature", "reads_memory", "writes_memory"]
        labels = {"reads_memory": "Reads memory", "writes_memory": "Writes memory"}
        help_texts = {
            "reads_memory": "What you said before goes along with messages to this agent.",
            "writes_memory": "What you and this agent say may be remembered. Otherwise it is off the record.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["model"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = AiModel.objects.usable()
        choice.empty_label = "Default model"
