"""Writes the year into a data folder: chats, daily logs, MEMORY.md with its history, activity, tokens."""

from datetime import datetime, time, timedelta

from django.db import transaction
from django.utils import timezone

from chat.models import Agent, Message, Session
from connect.models import Token
from connect.tokens import keys
from demo.year import NAME, PASSWORD, USERNAME, Day, Fact, days
from memory.longterm.dates import Saying
from memory.longterm.memory import Author
from memory.manager import MemoryManager
from memory.models import LedgerEntry, Revision
from memory.storage import edits
from memory.storage.log_entries import Marker, compose
from oneclaw.tokens import estimate
from people.models import User

MODEL = "demo-model"


def fill() -> User:
    """Robin, with everything that a year leaves behind. Called on an empty, migrated database."""
    user = User.objects.create_superuser(
        USERNAME, password=PASSWORD, first_name=NAME, time_zone="Europe/London", zone_from_browser=False
    )
    manager = MemoryManager(user)
    with transaction.atomic():
        for day in days():
            _live(user, manager, day)
        _settle(user)
    # The Forgetting page has something to show; what it was, nobody can read there.
    manager.keep_forgotten(["The code of the boatyard's gate, which Robin had noted by mistake"])
    manager.rebuild_index()
    _receipts(user, manager)
    return user


def _live(user: User, manager: MemoryManager, day: Day) -> None:
    date = user.today() - timedelta(days=day.ago)
    evening = datetime.combine(date, time(18, day.ago % 60), tzinfo=user.zone)
    session = _talk(user, day, evening) if day.talk else None
    body = "\n".join(f"- {line}" for line in day.log)
    if session is not None and session.last_logged_message_id:
        first = session.messages.earliest("id").id
        marker = Marker(
            str(session.id), first, session.last_logged_message_id, "session_end", evening.isoformat()
        )
        body = compose(marker, body)
    manager.files.append_to_daily_log(date, body)
    LedgerEntry.objects.create(
        owner=user,
        kind="flush",
        trigger="session_end" if session else "day_change",
        session_id=session.id if session else None,
        outcome="written",
        message_count=len(day.talk.said) if day.talk else 0,
        model_name=MODEL,
        input_tokens=900 + 10 * len(body),
        output_tokens=estimate(body),
        started_at=evening + timedelta(minutes=20),
        finished_at=evening + timedelta(minutes=20, seconds=6),
    )
    for fact in day.facts:
        _learn(manager, fact, evening, session)


def _talk(user: User, day: Day, evening: datetime) -> Session:
    assert day.talk is not None
    talk = day.talk
    last = evening + timedelta(minutes=2 * len(talk.said))
    session = Session.objects.create(
        owner=user,
        title=talk.title,
        title_by="model",
        via=talk.via,
        preview=talk.said[-1][:160],
        created_at=evening,
        active_at=last,
        pinned=day.ago == 1,
    )
    for number, text in enumerate(talk.said):
        said_by = {"type": "user"} if number % 2 == 0 else {"type": "ai_response", "model_name": MODEL}
        counted = (
            {} if number % 2 == 0 else {"input_tokens": 700 + 60 * number, "output_tokens": estimate(text)}
        )
        message = Message.objects.create(
            session=session,
            content=text,
            created_at=evening + timedelta(minutes=2 * number),
            **said_by,
            **counted,
        )
    session.last_logged_message = message
    session.save(update_fields=["last_logged_message"])
    return session


def _learn(manager: MemoryManager, fact: Fact, moment: datetime, session: Session | None) -> None:
    """A lasting fact, as the daily log, or a program outside, writes one."""

    def edit(text: str) -> str:
        if fact.replaces:
            assert fact.replaces in text, fact.replaces
            return text.replace(fact.replaces, fact.text)
        return edits.insert(text, fact.section, fact.text)

    saying = Saying(moment.date(), session.id if session else None)
    author = Author.CLIENT if fact.by else Author.DAILY_LOG
    reason = "Replaced a fact that changed" if fact.replaces else f"Saved to {fact.section}"
    revision = manager.long_term.change(edit, author, reason, said=saying, by=fact.by)
    if revision is not None:
        Revision.objects.filter(pk=revision.pk).update(created_at=moment + timedelta(minutes=21))


def _settle(user: User) -> None:
    """What stands beside chats and memory: an agent, tokens, a fresh activity."""
    Agent.objects.create(
        owner=user,
        name="Boat builder",
        description="Knows timber, steel and small spaces",
        prompt="You are an experienced boat builder. Answer with quantities, prices and the order of work.",
        temperature=0.4,
    )
    now = timezone.now()
    for name, scope, used in (
        ("Workshop PC", Token.Scope.WRITE, timedelta(days=4)),
        ("Open WebUI", Token.Scope.WRITE, timedelta(days=4, hours=2)),
        ("Phone", Token.Scope.READ, timedelta(hours=5)),
    ):
        # Nobody is told these secrets: the tokens are there to be looked at and revoked.
        token, _ = keys.make(user, name, scope)
        Token.objects.filter(pk=token.pk).update(created_at=now - timedelta(days=60), last_used_at=now - used)


def _receipts(user: User, manager: MemoryManager) -> None:
    """The newest replies say which memories they were about, as they would have."""
    for session in Session.objects.filter(owner=user).order_by("-active_at")[:6]:
        question = session.messages.filter(type="user").latest("id")
        reply = session.messages.filter(type="ai_response").latest("id")
        reply.receipt = manager.inject(question.content, session_id=session.id).receipt
        reply.save(update_fields=["receipt"])
