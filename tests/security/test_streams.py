"""A stream is open as long as its reader may be there, and no longer."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.sessions.models import Session as LogIn
from django.urls import reverse

from chat.models import AiModel, Run, Session
from people import streams
from people.models import User
from tests.chat import serving
from tests.chat.conftest import settle
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving.in_thread() as address:
        yield address


def disable(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def change_password(user: User) -> None:
    user.set_password("another horse")
    user.save()


def log_out(user: User) -> None:
    LogIn.objects.all().delete()


@pytest.mark.parametrize("end", [disable, change_password, log_out])
def test_it_ends_soon_after_its_reader_is_no_longer_welcome(
    end: Callable[[User], None],
    address: str,
    ben: User,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "EVERY", 0.2)
    make_provider()
    chat = Session.objects.create(owner=ben, title="Bridges", title_by="user")
    gate = model_server.gated("one two three four", after=2)
    with serving.browser(address, ben) as web:
        web.post(reverse("chat:send", args=[chat.id]), data={"text": "count"})
        gate.wait_until_reached()
        run = Run.objects.get()
        try:
            with web.stream("GET", reverse("chat:stream", args=[chat.id, run.id]), timeout=30) as response:
                lines = response.iter_lines()
                assert next(lines).startswith("event:")
                end(ben)
                rest = list(lines)
            # The model still waits, and nothing more was told.
            assert Run.objects.get().status == Run.Status.RUNNING
            assert "event: close" in rest
            assert "three" not in "".join(rest)
        finally:
            gate.release()
    settle()


def test_it_goes_on_for_who_is_welcome(
    address: str,
    ben: User,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "EVERY", 0.01)
    make_provider()
    chat = Session.objects.create(owner=ben, title="Bridges", title_by="user")
    gate = model_server.gated("one two three four", after=2)
    with serving.browser(address, ben) as web:
        web.post(reverse("chat:send", args=[chat.id]), data={"text": "count"})
        gate.wait_until_reached()
        with web.stream("GET", reverse("chat:stream", args=[chat.id, Run.objects.get().id])) as response:
            lines = response.iter_lines()
            next(lines)
            gate.release()
            assert "four" in "".join(lines)
    settle()


def test_seconds_are_enough() -> None:
    assert streams.EVERY <= 5
