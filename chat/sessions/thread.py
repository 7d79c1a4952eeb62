"""What a chat's page shows: the newest messages, runs grouped with what they said, older ones on demand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Min, Prefetch, Q, QuerySet, prefetch_related_objects
from django.http import Http404

from chat.models import Attachment, Message, Run, Session

PAGE = 50
MOST_SINCE = 200
# What a reply that is done says of its end, by the code that its run has for it.
CUT_SHORT = {
    "length": "The model reached its length limit here",
    "refused": "The model or its provider's content filter stopped the reply here",
}


def thinking_time(milliseconds: int | None, *, going_on: bool = False) -> str:
    """How long a model thought, for the fold over its thoughts."""
    if milliseconds is None:
        return "Thinking" if going_on else "Reasoning"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    lasted = f"{minutes} min {seconds} s" if minutes else f"{seconds} s" if seconds else "less than a second"
    if going_on:
        return f"Thinking for {lasted}" if minutes or seconds else "Thinking"
    return f"Thought for {lasted}"


@dataclass(slots=True)
class ShownCall:
    """A tool call with its result, when there is one yet."""

    call: Message
    result: Message | None = None

    @property
    def attachments(self) -> Any:
        """What the tool made: a picture, a file."""
        return self.result.attachments if self.result else None


@dataclass(slots=True)
class Item:
    """One row of the page: a user's message, a note, or a whole reply with its tool calls and error."""

    kind: str
    message: Message
    run: Run | None = None
    parts: list["Message | ShownCall"] = field(default_factory=list)
    error: Message | None = None
    # Versions of the message this item begins with: all of them, and which one is shown (from 1).
    versions: list[int] = field(default_factory=list)
    number: int = 1

    @property
    def is_open(self) -> bool:
        return self.run is not None and self.run.status in Run.OPEN

    @property
    def previous_version(self) -> int | None:
        return self.versions[self.number - 2] if self.number > 1 else None

    @property
    def next_version(self) -> int | None:
        return self.versions[self.number] if self.number < len(self.versions) else None

    @property
    def text(self) -> str:
        """All that the reply says, for copying."""
        return "\n\n".join(part.content for part in self.parts if isinstance(part, Message) and part.content)

    @property
    def receipt(self) -> Any:
        return next((part.receipt for part in self.parts if isinstance(part, Message) and part.receipt), None)

    @property
    def memory_count(self) -> int:
        """How many memories the message was about: recalled for it, or in MEMORY.md anyway."""
        receipt = self.receipt or {}
        return len(receipt.get("memories", ())) + len(receipt.get("matched", ()))

    @property
    def cut_short(self) -> str:
        """Why the model said no more, where it was not done."""
        if self.run is None or self.run.status != Run.Status.DONE:
            return ""
        return CUT_SHORT.get(self.run.error_code, "")

    @property
    def last(self) -> Message:
        return next((part for part in reversed(self.parts) if isinstance(part, Message)), self.message)


@dataclass(frozen=True, slots=True)
class MessagePage:
    items: tuple[Item, ...]
    # The id before which the next older page ends; None when this page begins the chat.
    before: int | None = None
    newest: int = 0


def shown(session: Session) -> QuerySet[Message]:
    """The messages on the page, in order: those not set aside with another version."""
    return Message.objects.filter(session=session, shelf=None).order_by("id")


def in_order(messages: Iterable[Message]) -> list[Message]:
    """By id, but each run's rows together: a message sent during a reply comes after all of that reply."""
    rows = sorted(messages, key=lambda row: row.id)
    first: dict[object, int] = {}
    for row in rows:
        if row.run_id:
            first.setdefault(row.run_id, row.id)
    return sorted(rows, key=lambda row: (first.get(row.run_id, row.id), row.id))


def newest(session: Session, before: int | None = None) -> MessagePage:
    """The newest page of messages, or the page before a given message; a reply is never cut in two."""
    rows = shown(session).select_related("run")
    if before is not None:
        rows = rows.filter(id__lt=before)
    page = list(rows.order_by("-id")[: PAGE + 1])[::-1]
    if len(page) <= PAGE:
        return MessagePage(tuple(items(page)), None, page[-1].id if page else 0)
    page = _whole(rows, page[1:])
    older = rows.filter(id__lt=page[0].id).exists()
    return MessagePage(tuple(items(page)), page[0].id if older else None, page[-1].id)


def _whole(rows: QuerySet[Message], page: list[Message]) -> list[Message]:
    """The page from so early on that every reply with a row on it begins there.

    What was said between such a reply's rows comes along: a message may be sent while a reply goes on.
    """
    added = page
    while runs := {row.run_id for row in added if row.run_id}:
        begun = rows.filter(run_id__in=runs, id__lt=page[0].id).aggregate(first=Min("id"))["first"]
        if begun is None:
            break
        added = list(rows.filter(id__gte=begun, id__lt=page[0].id))
        page = [*added, *page]
    return page


def around(session: Session, message_id: int) -> MessagePage:
    """The page that ends a little after a message, for links from search."""
    after = shown(session).filter(id__gt=message_id).values_list("id", flat=True)[10:11]
    return newest(session, before=next(iter(after), None))


def since(session: Session, after: int) -> MessagePage:
    """What came after the newest message that a page has; the rest of a reply it has comes by its stream."""
    rows = shown(session).select_related("run").filter(id__gt=after)
    page = list(rows)
    runs = {row.run_id for row in page if row.run_id}
    begun = shown(session).filter(run_id__in=runs, id__lte=after).exclude(type=Message.Type.USER)
    known = set(begun.values_list("run_id", flat=True))
    page = [row for row in page if row.run_id not in known]
    return MessagePage(tuple(items(page)), None, page[-1].id if page else after)


def is_far_behind(session: Session, after: int) -> bool:
    """So much came since that a page shows it sooner by beginning anew."""
    return shown(session).filter(id__gt=after).values("id")[MOST_SINCE : MOST_SINCE + 1].exists()


def has_turned(session: Session, newest_id: int) -> bool:
    """Another tab went on with another version, so a page that ends here shows what is set aside."""
    return newest_id > 0 and not shown(session).filter(id=newest_id).exists()


def reply(run: Run) -> Item | None:
    """One run as the page shows it."""
    rows = Message.objects.filter(run=run).exclude(type=Message.Type.USER).select_related("run")
    return next(iter(items(list(rows.order_by("id")))), None)


def reply_with(session: Session, message_id: int) -> Item:
    """The reply that a message of a chat belongs to."""
    message = Message.objects.filter(session=session, id=message_id).select_related("run").first()
    if message is None:
        raise Http404("No such message.")
    item = reply(message.run) if message.run else next(iter(items([message])), None)
    if item is None:
        raise Http404("No such reply.")
    return item


def items(messages: Sequence[Message]) -> list[Item]:
    """Messages in order as rows of a page: each run's rows become one reply."""
    found: list[Item] = []
    replies: dict[object, Item] = {}
    calls: dict[tuple[object, str], ShownCall] = {}
    for message in messages:
        if message.type in (Message.Type.USER, Message.Type.SYSTEM):
            found.append(Item(message.type, message))
            continue
        key: object = message.run_id or message.id
        if message.type in (Message.Type.TOOL_CALL, Message.Type.TOOL_RESULT) and not message.run_id:
            key = found[-1].run.id if found and found[-1].run else message.id
        item = replies.get(key)
        if item is None:
            item = replies[key] = Item("reply", message, message.run)
            found.append(item)
        _place(item, message, calls, key)
    _count_versions(found)
    _bring_files(found)
    return found


def _place(item: Item, message: Message, calls: dict[tuple[object, str], ShownCall], key: object) -> None:
    if message.type == Message.Type.ERROR:
        item.error = message
    elif message.type == Message.Type.TOOL_CALL:
        calls[key, message.tool_call_id] = call = ShownCall(message)
        item.parts.append(call)
    elif message.type == Message.Type.TOOL_RESULT and (key, message.tool_call_id) in calls:
        calls[key, message.tool_call_id].result = message
    else:
        item.parts.append(message)


def _bring_files(found: Sequence[Item]) -> None:
    """What came with messages and was made in replies, in one query for the page and without files' texts."""
    rows = [item.message for item in found if item.kind == Message.Type.USER]
    for part in (part for item in found for part in item.parts):
        row = part.result if isinstance(part, ShownCall) else part
        rows += [row] if row else []
    prefetch_related_objects(rows, Prefetch("attachments", Attachment.objects.defer("text")))


def _count_versions(found: Iterable[Item]) -> None:
    """Which of how many versions each item is, in one query for the whole page."""
    groups = {item.message.version_of_id or item.message.id: item for item in found if item.kind != "system"}
    rows = Message.objects.filter(Q(id__in=groups) | Q(version_of_id__in=groups)).order_by("id")
    for message_id, root in rows.values_list("id", "version_of_id"):
        groups[root or message_id].versions.append(message_id)
    for item in groups.values():
        if item.message.id in item.versions:
            item.number = item.versions.index(item.message.id) + 1
