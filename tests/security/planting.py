"""Puts every payload into every field that a page shows, on the data folder that the environment names.

    python -m tests.security.planting USERNAME

prints the addresses of pages that show them.
"""

import os
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
import django

django.setup()


from django.urls import reverse  # noqa: E402

from chat.models import Agent, AiModel, Attachment, Message, Provider, Run, Session  # noqa: E402
from connect.importing import commands  # noqa: E402
from connect.models import Import, Token  # noqa: E402
from memory.manager import MemoryManager  # noqa: E402
from memory.models import LedgerEntry, Proposal, Revision  # noqa: E402
from people.models import User  # noqa: E402
from tests.connect import exports  # noqa: E402
from tests.security.payloads import payloads  # noqa: E402

DAY = date(2026, 3, 1)
PLAIN = [
    *("chat:list", "memory:home", "memory:logs", "memory:history", "memory:compaction"),
    *("memory:stats", "settings:providers", "settings:agents", "settings:people"),
    *("settings:profile", "settings:about", "admin:index", "admin:chat_provider_changelist"),
    *("settings:connections", "settings:data", "settings:usage", "memory:forgetting"),
]
TEXTS = [text.replace("\0", "") for text in payloads()]


def lots(size: int) -> list[list[str]]:
    return [TEXTS[start : start + size] for start in range(0, len(TEXTS), size)]


def chats(user: User, model: AiModel) -> list[Session]:
    """A chat a lot, with the payloads in everything that is said, called, answered, thought or failed."""
    made = []
    for lot in lots(52):
        title, text = lot[0], "\n\n".join(lot)
        agent = Agent.objects.create(owner=user, name=title[:100], description=lot[1][:200], prompt=text)
        session = Session.objects.create(
            owner=user, title=title[:200], title_by="user", preview=lot[1][:160], agent=agent, summary=text
        )
        for words in (text, *lot):
            say(session, "user", words)
        prompt = say(session, "user", text)
        attach(user, prompt, lot)
        run = Run.objects.create(
            session=session, prompt=prompt, status="failed", error=text, error_code="auth"
        )
        hits = [
            {
                "source": kind,
                "key": f"chat:{session.pk}",
                "date": "2026-03-01",
                "text": words,
                "anchor": words,
            }
            for kind, words in zip(("daily_log", "long_term", "transcript"), lot, strict=False)
        ]
        receipt = {"budget": 2000, "tokens": 10, "long_term": {"file": title, "lines": 1}, "hits": hits}
        for words in (text, *lot):
            say(
                session,
                "ai_response",
                words,
                run=run,
                thinking=words,
                model_name=title[:200],
                receipt=receipt,
            )
        for name in lot[:8]:
            data = {"content": name, name: [name, {name: name}]}
            called = {"run": run, "tool_call_id": name[:200], "tool_name": name[:100], "tool_data": data}
            say(session, "tool_call", name, **called)
            say(session, "tool_result", text, **called | {"tool_data": {"chip": name, "entry": name}})
        say(session, "error", text, run=run, error_code="auth")
        say(session, "system", text, tool_name="command", tool_data={"markdown": text, "offer": title})
        made.append(session)
    return made


def attach(user: User, message: Message, names: list[str]) -> None:
    """Files with such names, sent and in the composer, some of them pictures."""
    Attachment.objects.bulk_create(
        Attachment(
            owner=user,
            session=message.session,
            message=where,
            name=name[:120],
            note=name[:200],
            text=name,
            kind="text" if number % 8 else "image",
            media_type="text/plain",
            sha256="0" * 64,
            size=1,
            width=3,
            height=3,
        )
        for number, name in enumerate(names)
        for where in (message, None)
    )


def connections(user: User) -> None:
    """Tokens and archives of other programs: one that came in, and one that could not."""
    for number, name in enumerate(TEXTS[:40]):
        Token.objects.create(owner=user, name=name[:60], token_hash=f"{number:064}")
    with tempfile.TemporaryDirectory() as folder:
        chats = [
            exports.plain(f"c{number}", text, text, text, text) for number, text in enumerate(TEXTS[::10])
        ]
        came = commands.from_disk(user, exports.chatgpt(Path(folder) / "archive.zip", chats))
        assert came.added["chats"] == len(chats), came.added
    told = {"skipped": [{"what": text[:200], "why": text[:300]} for text in TEXTS], "skipped_count": 204}
    told["reasons"] = dict.fromkeys(TEXTS[:60], 1)
    facts = {"file_name": TEXTS[3][:200], "label": TEXTS[4][:120], "kept": TEXTS[:60], "error": TEXTS[5]}
    for status in ("ready", "done", "failed"):
        Import.objects.create(owner=user, status=status, plan=told, added=told, **facts)


def say(session: Session, type: str, text: str, **fields: object) -> Message:
    return Message.objects.create(session=session, type=type, content=text, **fields)


def memories(user: User) -> None:
    memory = MemoryManager(user)
    entries = "\n".join("- " + " ".join(text.split()) for text in TEXTS)
    sections = "\n\n".join(f"## {' '.join(text.split())}\n- a" for text in TEXTS[::9])
    memory.files.write_memory_file(f"# Long-term Memory\n\n## Notes\n{entries}\n\n{sections}\n")
    for number, lot in enumerate(lots(52)):
        for text in lot:
            memory.files.append_to_daily_log(DAY + timedelta(number), text)
    memory.files.create_backup()
    for lot in lots(40):
        text = "\n".join(lot)
        Revision.objects.create(
            owner=user,
            author=lot[0][:20],
            by=lot[2][:120],
            reason=lot[1][:200],
            before=text,
            after=text + "\na",
            after_digest="0" * 64,
        )
        LedgerEntry.objects.create(
            owner=user,
            kind="flush",
            trigger="session_end",
            outcome="failed",
            detail=text,
            model_name=lot[0][:100],
        )
    Proposal.objects.create(
        owner=user, before=TEXTS[0], after="\n".join(TEXTS), doubt=TEXTS[1], detail=TEXTS[2]
    )


def main(username: str) -> None:
    user = User.objects.get(username=username)
    user.is_staff = user.is_superuser = True
    user.first_name = TEXTS[0][:150]
    user.save()
    provider = Provider.objects.create(name=TEXTS[0][:100], kind="openai", base_url="http://127.0.0.1:9/v1")
    models = [
        AiModel.objects.create(provider=provider, name=text[:200], label=text[:200]) for text in TEXTS[:60]
    ]
    made = chats(user, models[0])
    memories(user)
    connections(user)
    for page in pages(user, made, models[0]):
        sys.stdout.write(f"{page}\n")


def pages(user: User, made: list[Session], model: AiModel) -> list[str]:
    """Every page that shows something of what was planted."""
    found = ["/", *(reverse(name) for name in PLAIN)]
    found += [f"{reverse(name)}?q=hit" for name in ("chat:search", "memory:search", "chat:list")]
    found += [
        reverse("settings:provider", args=[model.provider_id]),
        reverse("settings:model", args=[model.pk]),
    ]
    found += [reverse("settings:agent", args=[row.pk]) for row in Agent.objects.filter(owner=user)[:3]]
    found += [reverse("settings:import", args=[row.pk]) for row in Import.objects.filter(owner=user)]
    came = Session.objects.filter(owner=user).exclude(pk__in=[each.pk for each in made])
    found += [reverse("chat:session", args=[session.pk]) for session in came[:6]]
    for session in made:
        found += [reverse(f"chat:{name}", args=[session.pk]) for name in ("session", "rename", "usage")]
        said = session.messages.filter(type="ai_response").earliest("id")
        asked = session.messages.filter(type="user").earliest("id")
        found += [reverse(f"chat:{name}", args=[session.pk, said.pk]) for name in ("message", "receipt")]
        found += [reverse("chat:edit", args=[session.pk, asked.pk])]
    found += [reverse("memory:day", args=[DAY + timedelta(number)]) for number in range(len(made))]
    found += [reverse("memory:revision", args=[row.pk]) for row in Revision.objects.filter(owner=user)]
    found += [reverse("memory:backup", args=[name]) for name in MemoryManager(user).files.list_backups()]
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
