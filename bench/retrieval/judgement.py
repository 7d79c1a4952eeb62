"""When memory speaks: idle messages and strangers' questions should bring nothing, named times their logs."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import Any
from unittest import mock

from bench.retrieval.recall import Conversation, mean, moment
from memory.index.chunks import MONTHS
from oneclaw.tokens import estimate

# Messages that memory can't help with.
IDLE = (
    "hi there",
    "good morning!",
    "thanks, that was helpful",
    "ok, got it",
    "see you later",
    "what is 17 * 23?",
    "what is 15 percent of 240?",
    "solve x^2 - 5x + 6 = 0",
    "translate 'where is the station' into French",
    "how do you say 'thank you' in Korean?",
    "what is the capital of Australia?",
    "who painted the Mona Lisa?",
    "why do leaves turn red in autumn?",
    "what is the boiling point of ethanol?",
    "explain how a transistor works",
    "how do I merge two dictionaries in Python?",
    "what does git rebase do?",
    "write a SQL query that counts rows by month",
    "why does my for loop run one time too many in C?",
    "what is the difference between a list and a tuple?",
    "rewrite this in a more formal tone: we can't make it",
    "give me three synonyms for 'quick'",
    "convert 72 Fahrenheit to Celsius",
    "and in binary?",
    "yes, the second one",
    "can you make it shorter?",
    "go on",
    "Guten Tag, wie geht es Ihnen?",
    "¿Cuál es la capital de Perú?",
    "法国的首都是哪里？",
)
# Every third of a stranger's questions tells as much as all of them.
EVERY = 3


@contextmanager
def the_day_after(told: dict[str, Any]) -> Iterator[date]:
    """Within it, the conversation's last session was yesterday."""
    last = max(moment(session) for session in told["sessions"])
    now = datetime.combine(last.date() + timedelta(days=1), last.time(), last.tzinfo)
    with mock.patch("django.utils.timezone.now", return_value=now):
        yield now.date()


def recalled(conversation: Conversation, message: str) -> int:
    """Tokens of the part that a message recalls."""
    return estimate(conversation.memory.inject(message).variable)


def idle(conversation: Conversation) -> Iterator[dict[str, float]]:
    for message in IDLE:
        tokens = recalled(conversation, message)
        yield {"left alone": float(not tokens), "tokens": tokens}


def foreign(conversation: Conversation, other: dict[str, Any]) -> Iterator[dict[str, float]]:
    for question in other["questions"][::EVERY]:
        tokens = recalled(conversation, question["question"])
        yield {"left alone": float(not tokens), "tokens": tokens}


def times(conversation: Conversation, told: dict[str, Any], today: date) -> Iterator[dict[str, float]]:
    """The share of a named time's log lines that stand in the block."""
    days = sorted({moment(session).date() for session in told["sessions"]})
    for question, first, last in asked(days, today):
        lines = {
            " ".join(observation["text"].split())
            for session in told["sessions"]
            if first <= moment(session).date() <= last
            for observation in session["observations"]
        }
        if lines:
            block = " ".join(conversation.memory.inject(question).text.split())
            yield {"share of lines": sum(line in block for line in lines) / len(lines)}


def asked(days: list[date], today: date) -> Iterator[tuple[str, date, date]]:
    """Questions, each with the time it names."""
    yesterday, monday = today - timedelta(days=1), today - timedelta(days=today.weekday() + 7)
    month_end = today.replace(day=1) - timedelta(days=1)
    for question in (
        "What did we talk about yesterday?",
        "Where did we leave off yesterday?",
        "Where did we leave off?",
        "Worüber haben wir gestern gesprochen?",
        "¿De qué hablamos ayer?",
        "De quoi avons-nous parlé hier ?",
        "我们昨天聊了什么？",
        "昨日は何を話しましたか？",
    ):
        yield question, yesterday, yesterday
    yield "What did we discuss last week?", monday, monday + timedelta(days=6)
    yield "What happened last month?", month_end.replace(day=1), month_end
    for day in days[-2 : -len(days) - 1 : -max(1, len(days) // 4)]:
        ago = (today - day).days
        for question in (
            f"What did we talk about {ago} days ago?",
            f"Was haben wir vor {ago} Tagen besprochen?",
            f"{ago}天前我们聊了什么？",
            f"What did we talk about on {day.day} {MONTHS[day.month - 1]} {day.year}?",
            f"What did we talk about on {day}?",
            f"{day.year}年{day.month}月{day.day}日に何を話しましたか？",
        ):
            yield question, day, day


def measure(conversations: list[tuple[Conversation, dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Each measure over all conversations, logs and chats together."""
    found: dict[str, list[dict[str, float]]] = {"idle": [], "foreign": [], "time": []}
    for number, (conversation, told) in enumerate(conversations):
        _, other = conversations[(number + 1) % len(conversations)]
        with the_day_after(told) as today:
            found["idle"] += idle(conversation)
            if other is not told:
                found["foreign"] += foreign(conversation, other)
            found["time"] += times(conversation, told, today)
    return {name: mean(rows) for name, rows in found.items() if rows}
