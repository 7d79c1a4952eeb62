"""Calls that programs make for themselves are answered, and neither remembered nor kept."""

import pytest

from chat.adapters import ChatTurn
from chat.models import AiModel, Session
from connect.v1.chores import is_chore
from memory.manager import MemoryManager
from tests.connect.v1.talking import Connect, ask, assistant, user
from tests.modelserver import ModelServer

HISTORY = "\n### Chat History:\n<chat_history>\nUSER: How is my boat?\n</chat_history>"
CHORES = [
    "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history." + HISTORY,
    "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history" + HISTORY,
    "### Task:\nSuggest 3-5 relevant follow-up questions or prompts" + HISTORY,
    "### Task:\nAnalyze the chat history to determine the necessity of generating search queries" + HISTORY,
    "### Task:\nYou are an autocompletion system. Continue the text in `<text>` based on the type.",
    "### Task:\nMake a title in Portuguese, as the owner of this server likes it." + HISTORY,
    "Provide a concise, 5-word-or-less title for the conversation, using its same language.",
    "Please generate a four to five word title summarizing our conversation without any lead-in.",
]


@pytest.mark.parametrize("prompt", CHORES)
def test_prompts_of_programs_are_known(prompt: str) -> None:
    assert is_chore([], [ChatTurn("user", "How is my boat?"), ChatTurn("user", prompt)])


@pytest.mark.parametrize(
    "prompt",
    [
        "### Task:\nPaint the boat\n### Output:\nA plan",
        "Suggest 3-5 relevant follow-up questions for my interview with the harbour master.",
        "What does Open WebUI mean by <chat_history>?",
        "Task: generate a concise title for my novel",
    ],
)
def test_what_people_write_is_not_taken_for_one(prompt: str) -> None:
    assert not is_chore(["Be brief."], [ChatTurn("user", prompt)])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("own", [{}, {"oneclaw": {"memory": "on"}}])
def test_nothing_is_recalled_or_kept(
    connect: Connect,
    model: AiModel,
    model_server: ModelServer,
    memory: MemoryManager,
    own: dict[str, object],
) -> None:
    model_server.reply("Boat care", match="### Task")
    found = ask(connect(), user("How is my boat?"), assistant("Fine."), user(CHORES[0]), extra_body=own)
    assert found.choices[0].message.content == "Boat care"
    assert found.oneclaw == {"chat": None, "memory": "off", "recalled": 0}
    assert "Petrel" not in model_server.asked[-1].text
    assert not Session.objects.exists()
