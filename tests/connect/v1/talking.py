"""What programs that speak OpenAI's protocol say, and what of it is in the chats."""

from collections.abc import Callable
from typing import Any

import openai

from chat.models import Message, Session

Connect = Callable[..., openai.OpenAI]


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": text}


def ask(client: openai.OpenAI, *messages: Any, **how: Any) -> Any:
    return client.chat.completions.create(
        model=how.pop("model", "scripted-model"), messages=list(messages), **how
    )


def said(session: Session) -> list[tuple[str, str]]:
    rows = Message.objects.filter(session=session, shelf=None).order_by("id")
    return [(row.type, row.content) for row in rows]


def one_chat() -> Session:
    return Session.objects.get()
