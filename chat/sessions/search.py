"""Search over the titles and messages of a user's chats, with snippets."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from chat.models import Message, Run, Session
from chat.sessions import fulltext, sessions
from chat.sessions.fulltext import Wanted
from oneclaw.text import WORD, fold, is_paired, pairs, tokens
from people.models import User

SPOKEN = (Message.Type.USER, Message.Type.AI_RESPONSE)
MOST = 40
AROUND = 60
WORD_LETTERS = 25
MOST_WORDS = 20
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Hit:
    """A chat that was found, by its title or by one of its messages."""

    session_id: UUID
    title: SafeString
    snippet: SafeString
    when: datetime
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class FoundChat:
    """A chat with all that was found in it."""

    session_id: UUID
    title: SafeString
    hits: list[Hit]


def by_chat(hits: Iterable[Hit]) -> list[FoundChat]:
    """Hits together under their chat, the chats in the order of their best hits."""
    found = dict[UUID, FoundChat]()
    for hit in hits:
        found.setdefault(hit.session_id, FoundChat(hit.session_id, hit.title, [])).hits.append(hit)
    for chat in found.values():
        # The title stands above; its own row is only wanted where there is no other.
        chat.hits[:] = [hit for hit in chat.hits if hit.message_id] or chat.hits
    return list(found.values())


def find(user: User, query: str, limit: int = MOST) -> list[Hit]:
    """Chats whose title has the words, then messages that have them, best first."""
    wanted = runs(query)
    if not wanted:
        return []
    catch_up()
    return [*_titles(user, wanted, limit // 4), *_messages(user, query, wanted, limit)]


def runs(text: str) -> list[str]:
    """The folded words, cut at apostrophes and where a script without spaces begins or ends."""
    return [run for kind, word in tokens(text) if kind != "emoji" for run in word.split("'") if run]


def index_terms(text: str) -> list[str]:
    """What the full-text table holds for a text."""
    found: list[str] = []
    for run in runs(text):
        # The last character alone too, so that every character begins a term.
        found.extend([*pairs(run), run[-1]] if is_paired(run) else [run])
    return found


def wanted_of(query: str) -> list[Wanted]:
    """What a message must hold: every word, of which the last may be unfinished."""
    words = runs(query)[:MOST_WORDS]
    found = []
    for number, run in enumerate(words):
        if is_paired(run):
            found.append(Wanted(tuple(pairs(run)) or (run,), unfinished=len(run) == 1))
        else:
            found.append(Wanted((run,), unfinished=number == len(words) - 1))
    return found


def _titles(user: User, wanted: list[str], limit: int) -> list[Hit]:
    chats = sessions.of(user).order_by("-active_at").values_list("id", "title", "preview", "active_at")
    hits = (
        Hit(key, marked(title, wanted), escape(preview), when)
        for key, title, preview, when in chats.iterator()
        if all(word in fold(title) for word in wanted)
    )
    return list(islice(hits, limit))


def _messages(user: User, query: str, wanted: list[str], limit: int) -> list[Hit]:
    ids = fulltext.table().find(user.pk, wanted_of(query), limit)
    rows = Message.objects.filter(session__owner=user).select_related("session").in_bulk(ids)
    return [
        Hit(
            row.session_id,
            escape(str(row.session)),
            marked(row.content, wanted, around=AROUND),
            row.created_at,
            row.id,
        )
        for row in (rows[key] for key in ids if key in rows)
    ]


def marked(text: str, wanted: list[str], around: int | None = None) -> SafeString:
    """The text, or the part of it around the first hit, escaped, with the words found in <mark>."""
    spans = [span for match in WORD.finditer(text) for span in _within(match[0], match.start(), wanted)]
    start, end = 0, len(text)
    if around is not None:
        middle = spans[0][0] if spans else 0
        start, end = max(0, middle - around), min(len(text), middle + 2 * around)
        # From the next whole word on, where one is near: some scripts have no spaces.
        start = (text.find(" ", start, min(middle, start + WORD_LETTERS)) + 1 or start) if start else 0
    pieces, last = ["…" if start else ""], start
    for low, high in spans:
        if low < last or high > end:
            continue
        pieces += [escape(text[last:low]), "<mark>", escape(text[low:high]), "</mark>"]
        last = high
    pieces += [escape(text[last:end]), "…" if end < len(text) else ""]
    return mark_safe("".join(pieces))  # noqa: S308  (each piece escaped)


def _within(word: str, start: int, wanted: list[str]) -> list[tuple[int, int]]:
    """Where in a word of the text a wanted one is: anywhere if its script has no spaces, else its start."""
    folded = fold(word)
    for run in wanted:
        if is_paired(run) and run in folded:
            # Folding such scripts keeps their length, but for a few compatibility forms.
            at = folded.index(run) if len(folded) == len(word) else 0
            size = len(run) if len(folded) == len(word) else len(word)
            return [(start + at, start + at + size)]
        if folded.startswith(run) and not is_paired(run):
            return [(start, start + len(word))]
    return []


def catch_up() -> None:
    """Index what came after the newest indexed row, except replies that still grow: their end adds them."""
    rows = Message.objects.filter(id__gt=fulltext.table().newest(), type__in=SPOKEN)
    rows = rows.filter(session__temporary=False).exclude(content="")
    rows = rows.exclude(Q(run__status__in=Run.OPEN) & Q(type=Message.Type.AI_RESPONSE))
    found = [
        (id, owner, index_terms(content))
        for id, owner, content in rows.values_list("id", "session__owner_id", "content").iterator(AT_ONCE)
    ]
    if found:
        with transaction.atomic():
            fulltext.table().add(found)


def add(messages: Iterable[Message], known: Mapping[str, list[str]] | None = None) -> None:
    """Put finished messages into the full-text table; doing it again does no harm.

    `known` has the terms of long texts that were read before: within a transaction everybody would wait.
    """
    known = known or {}
    owners = dict[UUID, int | None]()
    rows = []
    for message in messages:
        if message.type not in SPOKEN or not message.content:
            continue
        if (chat := message.session_id) not in owners:
            # None of a temporary chat: its words are not to be found.
            lasting = Session.objects.filter(id=chat, temporary=False)
            owners[chat] = lasting.values_list("owner_id", flat=True).first()
        if owner := owners[chat]:
            rows.append((message.id, owner, known.get(message.content) or index_terms(message.content)))
    with transaction.atomic():
        fulltext.table().add(rows)


def make_again(progress: Callable[[int, int], None]) -> None:
    """Empty the full-text table and fill it from all messages."""
    fulltext.table().empty()
    everything = Message.objects.filter(type__in=SPOKEN).exclude(content="").order_by("id")
    total, done, newest = everything.count(), 0, 0
    while rows := list(everything.filter(id__gt=newest)[:AT_ONCE]):
        add(rows)
        done, newest = done + len(rows), rows[-1].id
        progress(done, total)


def prune() -> None:
    """Drop the terms of messages that are gone for good."""
    fulltext.table().prune()
