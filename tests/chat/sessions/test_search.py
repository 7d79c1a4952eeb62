"""Search over chats: every script, only one's own, only what is on a page, and never as markup."""

from collections.abc import Callable

import pytest

from chat.models import AiModel, Message, Session
from chat.replies import sending
from chat.sessions import search, sessions
from people.models import User
from tests.chat.conftest import said, settle
from tests.modelserver import ModelServer


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The viaduct of Millau is tall", "VIADUCT"),
        ("Ein Fußgänger auf der Brücke", "brucke"),
        ("Мост через реку Неву", "неву"),
        ("東京の橋はとても長い", "橋"),
        ("東京の橋はとても長い", "とても"),
        ("한강의 다리는 길다", "다리"),
        ("สะพานพระราม", "พระ"),
        ("पुल बहुत लंबा है", "लंबा"),
        ("جسر طويل فوق النهر", "النهر"),
        ("call save_memory now", "save_mem"),
        ("unfinished word", "unfin"),
        ("Je t'aime, dit l’oiseau", "oiseau"),
        ("שָׁלוֹם לכולם", "שלום"),
    ],
)
def test_words_of_any_script_are_found(user: User, session: Session, text: str, query: str):
    said(session, "something else entirely", text)
    hits = search.find(user, query)
    assert [hit.message_id for hit in hits] == [Message.objects.latest("id").id]
    assert "<mark>" in hits[0].snippet


def test_all_words_must_be_there(user: User, session: Session):
    said(session, "red bridge", "blue bridge")
    assert len(search.find(user, "blue bridge")) == 1


def test_titles_are_found_too(user: User, session: Session):
    hits = search.find(user, "bridg")
    assert [(hit.session_id, hit.message_id) for hit in hits] == [(session.id, None)]
    assert hits[0].title == "<mark>Bridges</mark>"


def test_others_deleted_and_set_aside_messages_are_not_found(user: User, other: User, session: Session):
    first, second = said(session, "wombat one", "wombat two")
    said(Session.objects.create(owner=other), "wombat three")
    Message.objects.filter(id=second.id).update(shelf=second)
    assert [hit.message_id for hit in search.find(user, "wombat")] == [first.id]
    sessions.delete(user, [session.id])
    assert search.find(user, "wombat") == []


def test_a_snippet_begins_with_a_whole_word_where_there_are_words(user: User, session: Session):
    said(session, f"{'lengthy ' * 40}wombat and more", f"{'橋' * 300}東京 wombats")
    han, words = sorted(search.find(user, "wombat"), key=lambda hit: "lengthy" in hit.snippet)
    assert words.snippet.startswith("…lengthy lengthy")
    assert han.snippet.startswith("…橋")


def test_markup_in_messages_and_queries_is_text(user: User, session: Session):
    said(session, "<script>alert(1)</script> & more")
    snippet = search.find(user, "alert")[0].snippet
    assert "<script>" not in snippet
    assert "&lt;script&gt;<mark>alert</mark>(1)" in snippet
    for query in ('"', "a AND", "*", "NEAR(", "owner:u1", "-", "' OR 1=1", "\0", "(" * 50):
        search.find(user, query)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("quiet")
def test_both_sides_of_an_exchange_are_found_and_what_another_program_wrote(
    user: User, session: Session, make_provider: Callable[..., AiModel], model_server: ModelServer
):
    make_provider()
    model_server.reply("The wombat digs.")
    said(session, "A wombat by hand")
    sending.send(session, "What does a wombat do?")
    settle()
    found = {hit.snippet for hit in search.find(user, "wombat")}
    assert len(found) == 3


def test_messages_gone_for_good_leave_the_table(user: User, session: Session):
    said(session, "wombat")
    search.find(user, "wombat")
    Message.objects.all().delete()
    search.prune()
    assert search.find(user, "wombat") == []
