"""Usage: tokens by month and model, only one's own, and unknown where nobody said."""

from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from django.test import Client
from django.urls import reverse

from chat.models import AiModel, Message, Session
from chat.replies import sending
from chat.sessions import branches, usage
from chat.sessions.usage import Row, Tokens
from people.models import User
from tests.chat.conftest import settle
from tests.modelserver import ModelServer

Make = Callable[..., AiModel]


def answer(
    session: Session,
    model: str = "big",
    tokens: tuple[int | None, int | None] = (10, 5),
    day: str = "2026-11-03",
) -> Message:
    return Message.objects.create(
        session=session,
        type="ai_response",
        content="So.",
        model_name=model,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        created_at=datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=UTC),
    )


def test_tokens_are_counted_by_month_and_model(user: User, session: Session):
    answer(session)
    answer(session, tokens=(100, 50))
    answer(session, "small")
    answer(session, day="2026-10-31")
    assert usage.by_month(user) == [
        Row(date(2026, 11, 1), "big", Tokens(2, 2, 110, 55)),
        Row(date(2026, 11, 1), "small", Tokens(1, 1, 10, 5)),
        Row(date(2026, 10, 1), "big", Tokens(1, 1, 10, 5)),
    ]


def test_a_month_is_the_readers_own(user: User, session: Session):
    user.time_zone = "Pacific/Auckland"
    user.save()
    row = answer(session)
    Message.objects.filter(id=row.id).update(created_at=datetime(2026, 10, 31, 20, tzinfo=UTC))
    assert usage.by_month(user)[0].month == date(2026, 11, 1)


def test_what_is_not_reported_is_unknown_and_not_zero(page: Client, user: User, session: Session):
    answer(session, tokens=(None, None))
    answer(session, tokens=(None, 7), day="2026-10-01")
    first, second = usage.by_month(user)
    assert first.tokens == Tokens(1, 0, None, None)
    assert second.tokens == Tokens(1, 0, None, 7)
    assert usage.total([first.tokens, second.tokens]) == Tokens(2, 0, None, 7)
    text = page.get(reverse("settings:usage")).content.decode()
    assert text.count("unknown") >= 3
    assert usage.plot([first], date(2026, 11, 20)) is None


def test_nobody_elses_and_no_copies_are_counted(page: Client, user: User, other: User, session: Session):
    reply = answer(session)
    branches.branch(session, reply.id)
    answer(Session.objects.create(owner=other), "theirs")
    assert [row.model for row in usage.by_month(user)] == ["big"]
    assert usage.by_month(user)[0].tokens.requests == 1
    text = page.get(reverse("settings:usage")).content.decode()
    assert "theirs" not in text
    assert "Everyone" not in text
    assert other.username not in text


def test_admins_see_counts_by_person_and_no_models(client: Client, ada: User, ben: User):
    answer(Session.objects.create(owner=ben, title="A secret title"), "their-model")
    client.force_login(ada)
    text = client.get(reverse("settings:usage")).content.decode()
    assert "ben" in text
    assert "their-model" not in text
    assert "A secret title" not in text


def test_a_chat_has_its_own(page: Client, client: Client, other: User, session: Session):
    answer(session, tokens=(1234, 5))
    answer(Session.objects.create(owner=session.owner), "elsewhere")
    text = page.get(reverse("chat:usage", args=[session.id])).content.decode()
    assert "1,234" in text
    assert "elsewhere" not in text
    client.force_login(other)
    assert client.get(reverse("chat:usage", args=[session.id])).status_code == 404


def test_the_plot_stacks_models_and_the_highest_month_fills_it():
    rows = [
        Row(date(2026, 11, 1), "big", Tokens(1, 1, 60, 20)),
        Row(date(2026, 11, 1), "small", Tokens(1, 1, 15, 5)),
        Row(date(2026, 1, 1), "big", Tokens(1, 1, 25, 25)),
        Row(date(2025, 11, 1), "ancient", Tokens(1, 1, 900, 900)),
    ]
    plot = usage.plot(rows, date(2026, 11, 20))
    assert plot is not None
    assert plot.most == 100
    names = [label.name for label in plot.labels]
    assert (names[0], names[1], names[-1]) == ("Dec", "Jan", "Nov")
    assert plot.legend == [(1, "big"), (2, "small")]
    january, big, small = plot.bars
    assert january.height == pytest.approx(big.height * 50 / 80)
    assert small.y == pytest.approx(usage.GAP)
    assert big.y + big.height == pytest.approx(usage.HEIGHT)
    assert small.y + small.height == pytest.approx(big.y)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("quiet")
def test_rounds_that_only_call_tools_are_counted_too(
    user: User, session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.tool_calls(("get_current_time", {}))
    model_server.tool_calls(("get_current_time", {}))
    model_server.reply("Late.")
    sending.send(session, "What time is it?")
    settle()
    (row,) = usage.by_month(user)
    assert row.tokens == Tokens(3, 3, 33, 21)
