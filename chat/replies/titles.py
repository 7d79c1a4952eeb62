"""Titles of chats: the first words at once, a few better ones from the model after the first reply."""

import logging
from uuid import UUID

from chat.ask import patiently, question
from chat.errors import ModelError
from chat.models import AiModel, Message, Run, Session
from chat.replies.threads import in_thread, reading, writing

logger = logging.getLogger(__name__)

LONGEST = 50
SYSTEM = (
    "You name conversations. Answer with a title of two to six words in the language of the conversation: "
    "no quotation marks, no full stop, nothing else."
)
SECONDS = 30.0


def first_words(text: str) -> str:
    """The message's first ~50 characters, cut at the end of a word."""
    line = " ".join(text[:400].split())
    if len(line) <= LONGEST:
        return line
    cut = line[: LONGEST + 1].rsplit(" ", 1)[0] if " " in line[: LONGEST + 1] else line[:LONGEST]
    return cut.rstrip(" ,.;:-–—") + "…"


async def improve(session_id: UUID, model: AiModel) -> None:
    """One short question to the model after the first reply; a title of the user's is never touched."""
    if not model.may_write_memory:
        return
    said = await in_thread(reading, _first_exchange, session_id)
    if not said:
        return
    asked = f"Name this conversation:\n\n{said}"
    request = question(model, asked, system=SYSTEM, max_tokens=40, timeout=SECONDS)
    try:
        answer = await patiently(request)
    except ModelError as error:
        logger.info("A title could not be made: %s", error.code)
        return
    if title := cleaned(answer.text):
        await in_thread(writing, _store, session_id, title)


def _first_exchange(session_id: UUID) -> str:
    """The first question and answer, or nothing when a title is not due."""
    if not Session.objects.filter(id=session_id, title_by=Session.TitleBy.TEXT).exists():
        return ""
    if Run.objects.filter(session_id=session_id, status=Run.Status.DONE).count() != 1:
        return ""
    spoken = (Message.Type.USER, Message.Type.AI_RESPONSE)
    rows = Message.objects.filter(session_id=session_id, shelf=None, type__in=spoken).exclude(content="")
    names = {Message.Type.USER.value: "User", Message.Type.AI_RESPONSE.value: "Assistant"}
    return "\n\n".join(f"{names[row.type]}: {row.content[:1000]}" for row in rows.order_by("id")[:2])


def cleaned(text: str) -> str:
    """The model's answer as a title: one line, without quotes, marks and end of sentence."""
    line = next((line for line in text.replace("\0", "").splitlines() if line.strip()), "")
    line = line.strip().lstrip("#*- ").removeprefix("Title:").strip().strip("\"'“”„«»*_`").rstrip(".").strip()
    return line if len(line) <= 80 else first_words(line)


def _store(session_id: UUID, title: str) -> None:
    Session.objects.filter(id=session_id, title_by=Session.TitleBy.TEXT).update(
        title=title, title_by=Session.TitleBy.MODEL
    )
