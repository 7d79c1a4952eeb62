"""Chats of an archive as chats of OneClaw: new ones whole, known ones with what is new in them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import ForeignObjectRel
from django.utils import timezone

from chat.models import Agent, Message, Run, Session
from chat.sessions import search
from connect.archives.values import ForeignChat, Kind, Said
from connect.importing import silence
from connect.importing.origins import Origin, Place, as_known_at
from connect.importing.silence import Silence
from connect.models import Import, Imported
from memory.dailylog.forgotten import Register
from memory.forgetting import acts
from oneclaw.outside import plain
from people.models import User

# What a message is a version of, and what it is set aside with.
Standing: TypeAlias = tuple[int | None, int | None]
NOWHERE = Origin()
PREVIEW = 160
SPOKEN = (Message.Type.USER, Message.Type.AI_RESPONSE)
DELETED = "You deleted this chat here, so it stays away."
CONTINUED = "You went on with this chat here, so what is new in the archive was left out."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a chat: rows that came, or why none did."""

    new: bool = False
    messages: int = 0
    why: str = ""
    session_id: UUID | None = None
    # Rows that stay off the record, as their writer asked or as they were forgotten here.
    silent: int = 0


def known(user: User, chat: ForeignChat) -> Imported | None:
    return Imported.objects.filter(
        owner=user, kind=chat.kind, what=Imported.What.CHAT, foreign_id=chat.id
    ).first()


def resolved(user: User, chat: ForeignChat, origin: Origin) -> ForeignChat:
    """The chat as it is known here: another archive may have brought it under the name it had before."""
    if not origin.places or known(user, chat) or is_own(user, chat):
        return chat
    for place in origin.places:
        there = as_known_at(chat, place)
        if known(user, there) or is_own(user, there):
            return there
    return chat


def is_own(user: User, chat: ForeignChat) -> bool:
    """Whether a chat of an archive of OneClaw's own is this very chat, which never left."""
    return (
        chat.kind == Kind.ONECLAW
        and _is_uuid(chat.id)
        and Session.objects.filter(owner=user, id=UUID(chat.id)).exists()
    )


def judged(user: User, chat: ForeignChat, forgotten: Register) -> Outcome:
    """What bringing a chat would come to; nothing is written."""
    before = known(user, chat)
    if before is None and is_own(user, chat):
        return Outcome()
    there = before.messages if before else {}
    fresh = [row for row in chat.rows if row.key not in there]
    if before and (why := _barred(before, fresh)):
        return Outcome(why=why)
    silent = len(silence.of(chat, fresh, forgotten).rows) if fresh else 0
    return Outcome(before is None, len(fresh), silent=silent)


def _barred(before: Imported, fresh: Sequence[Said]) -> str:
    """Why nothing is added to a known chat."""
    if not fresh:
        return ""
    session = Session.objects.filter(id=before.chat_id, deleted_at=None)
    if not session.exists():
        return DELETED
    more = Message.objects.filter(session_id=before.chat_id, id__gt=before.last_message or 0)
    if more.exists():
        return CONTINUED
    return ""


def bring(
    user: User, chat: ForeignChat, by: Import, forgotten: Register, origin: Origin = NOWHERE
) -> Outcome:
    """Take a chat in, all of it or nothing. Doing it again adds nothing."""
    with transaction.atomic():
        before = known(user, chat)
        if before is None:
            if is_own(user, chat):
                return Outcome()
            return _create(user, chat, by, silence.of(chat, chat.rows, forgotten), origin)
        fresh = [row for row in chat.rows if row.key not in before.messages]
        if why := _barred(before, fresh):
            return Outcome(why=why)
        if not fresh:
            return Outcome()
        return _extend(user, chat, by, before, fresh, silence.of(chat, fresh, forgotten))


def _create(user: User, chat: ForeignChat, by: Import, silent: Silence, origin: Origin) -> Outcome:
    now = timezone.now()
    session_id = _free_id(chat)
    first = chat.created_at or chat.rows[0].at or now
    newest = max((row.at for row in chat.rows if row.at), default=first)
    session = Session(
        id=session_id,
        owner=user,
        title=chat.title or _first_words(chat.rows),
        preview=_preview(chat.rows),
        via=origin.via,
        pinned=chat.pinned,
        archived_at=now if chat.archived else None,
        created_at=first,
        active_at=newest,
        **{"title_by": Session.TitleBy.MODEL if chat.title else Session.TitleBy.TEXT, **_own(user, chat.own)},
    )
    session.save(force_insert=True)
    ids = _add(session, chat.rows, {}, first, silent)
    # What came from elsewhere is not new: no trigger summarises ten years of chats at once.
    last = max(ids.values())
    logged = ids.get(str(chat.own.get("last_logged", "")), None) if chat.own else last
    until = ids.get(str(chat.own.get("summary_until", "")))
    Session.objects.filter(id=session_id).update(
        last_logged_message=logged if chat.kind == Kind.ONECLAW else last,
        summary_until=until,
        summary=str(chat.own.get("summary", "")) if until else "",
    )
    Imported.objects.create(
        owner=user,
        by=by,
        kind=chat.kind,
        foreign_id=chat.id,
        session_id=session_id,
        messages=ids,
        last_message=last,
        # A chat of OneClaw's own comes with its logs.
        logged_until=last if chat.kind == Kind.ONECLAW else None,
        said_at=first,
    )
    for place in origin.places:
        _know_again(place, ids, session_id, by, first)
    return Outcome(True, len(ids), session_id=session_id, silent=len(silent.rows))


def _know_again(place: Place, ids: Mapping[str, int], session_id: UUID, by: Import, first: datetime) -> None:
    """An archive of the program that the chat was in before adds nothing but what is new in it."""
    there = {name: ids[key] for key, name in place.messages.items() if key in ids}
    if there:
        last = max(there.values())
        Imported.objects.get_or_create(
            owner_id=by.owner_id,
            kind=place.kind,
            what=Imported.What.CHAT,
            foreign_id=place.id,
            defaults={
                "by": by,
                "session_id": session_id,
                "messages": there,
                "last_message": last,
                "logged_until": last,
                "said_at": first,
            },
        )


def _extend(
    user: User, chat: ForeignChat, by: Import, before: Imported, fresh: Sequence[Said], silent: Silence
) -> Outcome:
    """Add what is new to a chat that nobody went on with here, and show the line that was shown last."""
    assert before.session_id
    session = Session.objects.get(id=before.session_id)
    ids = _add(session, fresh, before.messages, session.active_at, silent)
    every = {**before.messages, **ids}
    acts.silence(user, [every[key] for key in silent.rows if key in before.messages])
    places = _place(chat.rows, every, only_changed=True)
    last = max(ids.values())
    if before.by_id != by.id:
        _note_added(before, by, ids, places)
    moved: dict[str, Any] = {"last_logged_message": last, "preview": _preview(chat.rows)}
    newest = max((row.at for row in fresh if row.at), default=session.active_at)
    Session.objects.filter(id=session.id).update(**moved, active_at=max(newest, session.active_at))
    chats = Imported.objects.filter(session_id=session.id, what=Imported.What.CHAT)
    chats.filter(last_message=before.last_message).update(last_message=last)
    chats.filter(pk=before.pk).update(messages=every, last_message=last)
    return Outcome(False, len(ids), session_id=session.id, silent=len(silent.rows))


def _note_added(before: Imported, by: Import, ids: dict[str, int], places: Mapping[int, Standing]) -> None:
    """Which messages came with which import, and where others stood before: undo needs it."""
    more = Imported.objects.get_or_create(
        owner_id=before.owner_id,
        kind=before.kind,
        what=Imported.What.MORE,
        foreign_id=f"{by.id}:{before.session_id}",
        defaults={"by": by, "session_id": before.session_id},
    )[0]
    moved = {str(id): list(place) for id, place in places.items() if id in set(before.messages.values())}
    # What stood where before the first of them came.
    more.places = {
        id: place for id, place in moved.items() if int(id) not in more.messages.values()
    } | more.places
    more.messages = more.messages | ids
    more.last_message = max(ids.values())
    more.save()


def _add(
    session: Session, rows: Sequence[Said], there: Mapping[str, int], first: datetime, silent: Silence
) -> dict[str, int]:
    """Store rows in their order; the names of all, each with its message."""
    runs = _runs(session, rows, there)
    made = Message.objects.bulk_create(
        [_message(session, row, runs, first, silent) for row in rows], batch_size=200
    )
    ids = {row.key: message.pk for row, message in zip(rows, made, strict=True)}
    silent.note(ids)
    every = {**there, **ids}
    begun = set[UUID]()
    if there:
        begun = set(Run.objects.filter(id__in=set(runs.values())).values_list("id", flat=True))
    prompts = {runs[row.reply]: row for row in rows if row.reply in runs}
    Run.objects.bulk_create(
        [
            Run(
                id=run_id,
                session=session,
                prompt_id=every[row.prompt],
                status=Run.Status.DONE,
                created_at=row.at or first,
                started_at=row.at or first,
                finished_at=row.at or first,
            )
            for run_id, row in prompts.items()
            if run_id not in begun
        ],
        batch_size=200,
    )
    _place(rows, every)
    search.add(made)
    return ids


def _runs(session: Session, rows: Sequence[Said], there: Mapping[str, int]) -> dict[str, UUID]:
    """A finished run for every reply to something, by the name of the reply's first row."""
    known = {ids for name in {row.reply for row in rows} if (ids := there.get(name))}
    begun = dict(Message.objects.filter(id__in=known).values_list("id", "run_id")) if known else {}
    found = dict[str, UUID]()
    names = {row.key for row in rows} | set(there)
    for row in rows:
        if row.reply and row.reply not in found:
            if run := begun.get(there.get(row.reply, 0)):
                found[row.reply] = run
            elif row.prompt in names and row.reply not in there:
                found[row.reply] = uuid4()
    return found


def _message(
    session: Session, row: Said, runs: Mapping[str, UUID], first: datetime, silent: Silence
) -> Message:
    own, is_off = row.own, session.memory_mode == Session.MemoryMode.OFF
    silenced = own.get("silenced_at")
    if row.key in silent.rows and not is_off:
        silenced = silenced or timezone.now()
    return Message(
        session=session,
        type=row.type,
        content=row.content,
        created_at=row.at or first,
        run_id=runs.get(row.reply),
        thinking=row.thinking,
        tool_call_id=row.tool_call_id[:200],
        tool_name=row.tool_name[:100],
        tool_data=plain(row.tool_data),
        error_code=row.error_code[:40],
        model_name=row.model[:200],
        off_record=bool(own.get("off_record")) or is_off or row.key in silent.rows,
        untrusted=bool(own.get("untrusted")),
        silenced_at=silenced,
        input_tokens=own.get("input_tokens"),
        output_tokens=own.get("output_tokens"),
        receipt=plain(own.get("receipt")),
    )


def _place(
    rows: Iterable[Said], ids: Mapping[str, int], *, only_changed: bool = False
) -> Mapping[int, Standing]:
    """Say of each row which versions it belongs to and what it is set aside with; where it stood before."""
    places = dict[int, Standing]()
    wanted = {ids[row.key]: (ids.get(row.version_of), ids.get(row.shelf)) for row in rows if row.key in ids}
    if only_changed:
        now = Message.objects.filter(id__in=list(wanted)).values_list("id", "version_of_id", "shelf_id")
        places = {id: (version, shelf) for id, version, shelf in now}
        wanted = {id: place for id, place in wanted.items() if places.get(id) != place}
    else:
        wanted = {id: place for id, place in wanted.items() if place != (None, None)}
    for id, (version, shelf) in wanted.items():
        Message.objects.filter(id=id).update(version_of=version, shelf=shelf)
    return {id: places.get(id, (None, None)) for id in wanted}


def _own(user: User, own: Mapping[str, Any]) -> dict[str, Any]:
    """What a chat of OneClaw's own says of itself."""
    found: dict[str, Any] = {}
    if own.get("memory_mode") in Session.MemoryMode.values:
        found["memory_mode"] = own["memory_mode"]
    if own.get("title_by") in Session.TitleBy.values:
        found["title_by"] = own["title_by"]
    if name := own.get("agent"):
        mine = Agent.objects.filter(owner=user, name=name).first()
        found["agent"] = mine or Agent.objects.filter(owner=None, name=name).first()
    return found


def _free_id(chat: ForeignChat) -> UUID:
    """A chat of OneClaw's own keeps its name, if nobody here has it: log entries go by it."""
    if chat.kind == Kind.ONECLAW and _is_uuid(chat.id):
        wanted = UUID(chat.id)
        if not Session.objects.filter(id=wanted).exists():
            return wanted
    return uuid4()


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _first_words(rows: Iterable[Said]) -> str:
    words = next((row.content for row in rows if row.type == Message.Type.USER and row.content.strip()), "")
    return " ".join(words.split())[:50] or "Imported chat"


def _preview(rows: Iterable[Said]) -> str:
    shown = [row.content for row in rows if not row.shelf and row.type in SPOKEN and row.content.strip()]
    return preview_of(shown)


def preview_of(shown: Sequence[str]) -> str:
    """The beginning of the last thing said, in one line."""
    return " ".join(shown[-1][:1000].split())[:PREVIEW] if shown else ""


def delete_for_good(session_id: UUID) -> None:
    """A chat with all its rows, at once: ten thousand messages are not loaded one by one to be deleted."""
    Session.objects.filter(id=session_id).update(last_logged_message=None, summary_until=None)
    rows = Message.objects.filter(session_id=session_id)
    # What hangs on messages goes as each room has it; also what `related_name="+"` hides.
    for relation in Message._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and relation.related_model not in (Message, Run, Session):
            relation.related_model._default_manager.filter(
                **{f"{relation.field.name}__session_id": session_id}
            ).delete()
    rows.update(run=None, version_of=None, shelf=None)
    Run.objects.filter(session_id=session_id)._raw_delete("default")
    rows._raw_delete("default")
    Session.objects.filter(id=session_id).delete()
