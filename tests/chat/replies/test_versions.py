"""Versions: regenerate, edit and turn back; nothing is lost and only the page is sent."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from chat.models import AiModel, Message, Run, Session
from chat.replies import sending, versions
from chat.sessions import thread as pages
from tests.chat.conftest import said, settle
from tests.modelserver import ModelServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
Make = Callable[..., AiModel]


def on_page(session: Session) -> list[str]:
    return [row.content for row in pages.shown(session)]


def test_regenerate_keeps_the_earlier_reply_as_a_version(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    _, old, _, _ = said(session, "Why?", "Because.", "And?", "So.")
    model_server.reply("For a reason.")
    versions.regenerate(session, old.id)
    settle()
    assert on_page(session) == ["Why?", "For a reason."]
    assert "Because" not in model_server.asked[0].text
    item = pages.newest(session).items[-1]
    assert (item.number, len(item.versions)) == (2, 2)
    versions.switch(session, old.id)
    assert on_page(session) == ["Why?", "Because.", "And?", "So."]
    versions.switch(session, item.message.id)
    assert on_page(session) == ["Why?", "For a reason."]


def test_an_edited_message_is_sent_anew_and_the_old_way_stays(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    old, *_ = said(session, "Why?", "Because.")
    model_server.reply("Somehow.")
    versions.edit(session, old, "How?")
    settle()
    assert on_page(session) == ["How?", "Somehow."]
    versions.switch(session, old.id)
    assert on_page(session) == ["Why?", "Because."]


def test_versions_within_versions_come_back_as_they_were(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    _, first, _, second = said(session, "a", "b1", "c", "d1")
    for answer in ("d2", "b2"):
        model_server.reply(answer)
    inner = versions.regenerate(session, second.id)
    settle()
    outer = versions.regenerate(session, first.id)
    settle()
    assert on_page(session) == ["a", "b2"]
    versions.switch(session, first.id)
    assert on_page(session) == ["a", "b1", "c", "d2"]
    versions.switch(session, second.id)
    assert on_page(session) == ["a", "b1", "c", "d1"]
    versions.switch(session, Message.objects.get(run=outer).id)
    assert on_page(session) == ["a", "b2"]
    versions.switch(session, first.id)
    versions.switch(session, Message.objects.get(run=inner).id)
    assert on_page(session) == ["a", "b1", "c", "d2"]


def test_a_retry_of_a_reply_that_said_nothing_leaves_no_version(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.error(401)
    run = sending.send(session, "Why?")
    settle()
    failed = Message.objects.get(run=run, type="ai_response")
    model_server.reply("Because.")
    versions.regenerate(session, failed.id)
    settle()
    assert on_page(session) == ["Why?", "Because."]
    assert len(pages.newest(session).items[-1].versions) == 1
    assert Message.objects.filter(type="error").count() == 0


def test_a_failed_regenerate_can_be_turned_back(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    _, old = said(session, "Why?", "Because.")
    model_server.error(401)
    versions.regenerate(session, old.id)
    settle()
    versions.switch(session, old.id)
    assert on_page(session) == ["Why?", "Because."]


def test_a_summary_of_what_left_the_page_is_dropped(session: Session, make_provider: Make):
    make_provider()
    _, second, third, _ = said(session, "a", "b", "c", "d")
    Session.objects.filter(id=session.id).update(summary="They spoke.", summary_until=second)
    versions.edit(session, third, "C")
    session.refresh_from_db()
    assert session.summary == "They spoke."
    versions.regenerate(session, second.id)
    session.refresh_from_db()
    assert (session.summary, session.summary_until) == ("", None)
    settle()


def test_a_version_of_another_place_is_a_404(page: Client, session: Session, make_provider: Make):
    make_provider()
    _, old, _, later = said(session, "a", "b", "c", "d")
    versions.regenerate(session, old.id)
    settle()
    # `later` went aside with `old`; alone it is no version of anything on the page.
    for message_id in (later.id, 999):
        assert page.post(reverse("chat:version", args=[session.id, message_id])).status_code == 404
    assert page.post(reverse("chat:retry", args=[session.id, later.id])).status_code == 404
    assert page.post(reverse("chat:edit", args=[session.id, old.id])).status_code == 404


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Another request is done in full while the next one waits for what is still being said."""
    stop = versions._stop

    def first_the_other(session: Session, run_ids: list[UUID]) -> None:
        monkeypatch.setattr(versions, "_stop", stop)
        act()
        settle()

    monkeypatch.setattr(versions, "_stop", first_the_other)


@pytest.mark.parametrize("failed", [True, False])
def test_of_two_retries_at_once_one_answers(
    page: Client,
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    failed: bool,
):
    make_provider()
    if failed:
        model_server.error(401)
    else:
        model_server.reply("Because.")
    run = sending.send(session, "Why?")
    settle()
    old = Message.objects.get(run=run, type="ai_response")
    model_server.reply("For a reason.")
    meanwhile(monkeypatch, lambda: versions.regenerate(session, old.id))
    assert page.post(reverse("chat:retry", args=[session.id, old.id])).status_code == 302
    settle()
    assert on_page(session) == ["Why?", "For a reason."]
    assert session.runs.count() == 2


def test_a_second_retry_leaves_the_reply_alone_that_the_first_one_began(
    page: Client,
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
):
    make_provider()
    _, old = said(session, "Why?", "Because.")
    gate = model_server.gated("For a reason.", after=1)
    stop = versions._stop

    def after_the_first(session: Session, run_ids: list[UUID]) -> None:
        monkeypatch.setattr(versions, "_stop", stop)
        versions.regenerate(session, old.id)
        gate.wait_until_reached()
        stop(session, run_ids)

    monkeypatch.setattr(versions, "_stop", after_the_first)
    page.post(reverse("chat:retry", args=[session.id, old.id]))
    gate.release()
    settle()
    assert on_page(session) == ["Why?", "For a reason."]
    assert [run.status for run in session.runs.all()] == ["done"]


def test_of_two_edits_at_once_one_is_sent(
    page: Client,
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
):
    make_provider()
    old, *_ = said(session, "Why?", "Because.")
    model_server.reply("Somehow.")
    meanwhile(monkeypatch, lambda: versions.edit(session, old, "How?"))
    address = reverse("chat:edit", args=[session.id, old.id])
    assert page.post(address, {"text": "When?"}).status_code == 404
    settle()
    assert on_page(session) == ["How?", "Somehow."]


def test_turning_to_a_version_twice_at_once_is_turning_once(
    page: Client, session: Session, make_provider: Make, monkeypatch: pytest.MonkeyPatch
):
    make_provider()
    _, old = said(session, "Why?", "Because.")
    versions.regenerate(session, old.id)
    settle()
    meanwhile(monkeypatch, lambda: versions.switch(session, old.id))
    assert page.post(reverse("chat:version", args=[session.id, old.id])).status_code == 302
    assert on_page(session) == ["Why?", "Because."]


def test_the_edit_form_keeps_a_text_that_is_refused(page: Client, session: Session):
    first, _ = said(session, "a", "b")
    address = reverse("chat:edit", args=[session.id, first.id])
    assert "a" in page.get(address).content.decode()
    answer = page.post(address, {"text": "y" * 200_001})
    assert answer.status_code == 200
    assert "yyyyy" in answer.content.decode()
    assert 'role="alert"' in answer.content.decode()


def test_regenerate_during_a_reply_ends_it_and_keeps_it_off_the_page(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("one two three", after=2)
    run = sending.send(session, "count")
    gate.wait_until_reached()
    first = Message.objects.get(run=run, type="ai_response")
    model_server.reply("another way")
    versions.regenerate(session, first.id)
    settle()
    gate.release()
    assert on_page(session) == ["count", "another way"]


def asked_meanwhile(session: Session, model_server: ModelServer) -> tuple[list[str], Message, Message]:
    """A message sent while the reply before it still calls a tool: the page, that message and its reply."""
    gate = model_server.gated("Let me look.", after=1, calls=[("get_current_time", {})])
    model_server.reply("It is late.")
    model_server.reply("Bridges stand on piers.", match="bridges")
    sending.send(session, "How late is it?")
    gate.wait_until_reached()
    run = sending.send(session, "How do bridges stand?")
    gate.release()
    settle()
    later = Message.objects.get(session=session, content="It is late.")
    assert later.id > run.prompt_id
    return on_page(session), run.prompt, Message.objects.get(run=run)


@pytest.mark.parametrize("way", ["edit", "regenerate"])
def test_a_reply_that_went_on_behind_a_message_stays_when_that_message_is_set_aside(
    session: Session, make_provider: Make, model_server: ModelServer, way: str
):
    make_provider()
    before, message, reply = asked_meanwhile(session, model_server)
    model_server.reply("On arches.")
    run: Run | None
    if way == "edit":
        run, old = versions.edit(session, message, "And without piers?"), message
    else:
        run, old = versions.regenerate(session, reply.id), reply
    assert run
    settle()
    shown = on_page(session)
    assert "It is late." in shown
    assert Message.objects.filter(session=session, shelf=None, type="tool_result").exists()
    assert "Bridges stand on piers." not in shown
    assert shown[-1] == "On arches."
    assert "It is late." in model_server.asked[-1].text
    versions.switch(session, old.id)
    assert on_page(session) == before
    versions.switch(session, (run.prompt if way == "edit" else Message.objects.get(run=run)).id)
    assert on_page(session) == shown


def test_a_message_sent_during_a_reply_goes_aside_with_that_reply(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    before, *_ = asked_meanwhile(session, model_server)
    first = Message.objects.get(session=session, content="Let me look.")
    model_server.reply("Late.")
    versions.regenerate(session, first.id)
    settle()
    assert on_page(session) == ["How late is it?", "Late."]
    versions.switch(session, first.id)
    assert on_page(session) == before


def test_another_model_makes_one_version_and_the_chat_keeps_its_own(
    page: Client, session: Session, make_provider: Make, model_server: ModelServer
):
    first = make_provider()
    mini = AiModel.objects.create(provider=first.provider, name="scripted-mini")
    _, old = said(session, "Why?", "Because.")
    model_server.reply("For a reason.")
    page.post(reverse("chat:retry", args=[session.id, old.id]), {"model": mini.id})
    settle()
    assert model_server.asked[0].json["model"] == "scripted-mini"
    item = pages.newest(session).items[-1]
    assert item.last.model_name == "scripted-mini"
    text = page.get(reverse("chat:session", args=[session.id])).content.decode()
    assert 'answered-by" dir="auto">scripted-mini<' in text
    model_server.reply("Well.")
    sending.send(session, "And?")
    settle()
    assert model_server.asked[-1].json["model"] == "scripted-model"


def test_the_menu_lists_models_that_can_be_used_and_no_other_is_taken(
    page: Client, session: Session, make_provider: Make
):
    usable = make_provider()
    off = make_provider("anthropic", enabled=False)
    _, old = said(session, "Why?", "Because.")
    menu = page.get(reverse("chat:models", args=[session.id, old.id])).content.decode()
    assert f'value="{usable.id}"' in menu
    assert f'value="{off.id}"' not in menu
    for wrong in (str(off.id), "999999", "x"):
        assert (
            page.post(reverse("chat:retry", args=[session.id, old.id]), {"model": wrong}).status_code == 404
        )
    assert on_page(session) == ["Why?", "Because."]
