"""The walk of somebody who comes from ChatGPT: a year of chats, then a question about last spring."""

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from chat.models import AiModel, Message, Session
from people.models import User
from tests.chat.conftest import quiet, settle  # noqa: F401
from tests.connect import exports
from tests.faults.work import work_off
from tests.modelserver import ModelServer, Recorded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
Make = Callable[..., AiModel]
FIRST = datetime(2025, 6, 3, 9, 30, tzinfo=UTC)
TOLD = "For the anniversary I ordered the almond cake from Lotte Verhaegen's bakery."
ASKED = "Which bakery did I order the anniversary cake from last spring?"
# What the other weeks were about.
TOPICS = (
    ("Bicycle", "My rear wheel has a broken spoke again", "A new spoke costs little."),
    ("Tax", "When is the tax return of a freelancer due?", "At the end of July."),
    ("Garden", "The tomatoes have brown spots on their leaves", "That is blight."),
    ("Python", "How do I sort a dictionary by its values?", "With sorted and a key."),
)


def a_year(path: Path) -> Path:
    """A chat a week, each on a day of its own, in the numbered files of newer exports."""
    chats = []
    for week in range(52):
        title, *turns = TOPICS[week % len(TOPICS)]
        chats.append(exports.plain(f"w{week}", f"{title} {week}", *turns, when=FIRST + timedelta(weeks=week)))
    chats.append(exports.plain("cake", "Anniversary", TOLD, "That sounds lovely.", when=exports.SPRING))
    return exports.chatgpt(path, chats, parts=3)


def told_back(request: Recorded) -> str:
    """A model that knows nothing but what it is sent."""
    found = re.search(r"ordered the almond cake from (.+?)'s", request.text)
    return f"From {found[1]}." if found else "You never told me."


def test_a_question_about_last_spring_is_answered_from_an_imported_chat(
    ada: User,
    client: Client,
    tmp_path: Path,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
) -> None:
    make_provider()
    client.force_login(ada)
    archive = SimpleUploadedFile("chatgpt.zip", a_year(tmp_path / "chatgpt.zip").read_bytes())
    import_page = client.post(reverse("settings:upload"), {"file": archive})["Location"]
    work_off()
    preview = client.get(import_page).content.decode()
    assert "53 chats with 106 messages" in preview
    assert "3 Jun 2025 to 26 May 2026" in preview
    client.post(f"{import_page}start/")
    work_off()
    days = {chat.created_at.date() for chat in Session.objects.filter(owner=ada)}
    assert len(days) == 53
    assert (min(days), max(days)) == (FIRST.date(), (FIRST + timedelta(weeks=51)).date())

    model_server.function(told_back, match=ASKED)
    client.post(reverse("chat:start"), {"text": ASKED})
    settle()
    request = next(each for each in model_server.asked if each.last_user == ASKED)
    sent = request.json["messages"][-1]["content"]
    assert f"\n### 2026-04-11\n- User: {TOLD}\n" in sent
    # Of 53 chats the one that was meant came along, not the year.
    assert not [topic for topic in TOPICS if topic[1] in sent]

    reply = Message.objects.get(type=Message.Type.AI_RESPONSE, content="From Lotte Verhaegen.")
    first = reply.receipt["memories"][0]
    assert (first["source"], first["date"], first["text"]) == ("transcript", "2026-04-11", TOLD)
    receipt = client.get(reverse("chat:receipt", args=[reply.session_id, reply.pk])).content.decode()
    head = " ".join(re.sub(r"<[^>]*>", " ", receipt.split('<p class="recalled-head">')[1]).split())
    assert head.startswith("Anniversary You 11 April 2026 (")
    link = re.search(r'href="([^"]+)" dir="auto">Anniversary', receipt)
    assert link
    there = client.get(html.unescape(link[1]).partition("#")[0])
    assert html.escape(TOLD) in there.content.decode()
