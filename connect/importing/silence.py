"""What of an imported chat stays off the record: as its writer asked there, or as it was forgotten here."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from chat.models import Message
from chat.replies.sending import ONLY_A_REQUEST
from connect.archives.values import ForeignChat, Kind, Said
from memory.dailylog.forgotten import Register
from memory.models import Forgotten
from memory.speech.requests import asks_for_silence

USER = Message.Type.USER.value
SPOKEN = (USER, Message.Type.AI_RESPONSE.value)


@dataclass(frozen=True, slots=True)
class Silence:
    """Names of the rows that stay off the record, and which of them a request to forget names."""

    rows: frozenset[str] = frozenset()
    named: dict[str, int] = field(default_factory=dict)

    def note(self, ids: dict[str, int]) -> None:
        """Let taking back a request to forget put these on the record again, as all that it silenced."""
        for pk in set(self.named.values()):
            row = Forgotten.objects.filter(pk=pk).first()
            if row is not None:
                row.messages += [ids[key] for key, by in self.named.items() if by == pk and key in ids]
                row.save(update_fields=["messages"])


def of(chat: ForeignChat, fresh: Sequence[Said], register: Register) -> Silence:
    """Judged once, when rows come: what is put back on the record later stays on it."""
    named = {
        row.key: found
        for row in fresh
        if register and row.type in SPOKEN and (found := register.names(row.content))
    }
    asked = frozenset[str]()
    # OneClaw's own archives say of each row whether it is on the record.
    if chat.kind != Kind.ONECLAW:
        asked = frozenset(_asked(chat.rows, {row.key for row in fresh}))
    return Silence(asked | named.keys(), named)


def _asked(rows: Sequence[Said], fresh: Collection[str]) -> Iterator[str]:
    """Messages that ask to be left out with what answers them, as in a chat of OneClaw's own."""
    silent = set[str]()
    for at, row in enumerate(rows):
        if row.type != USER or row.key not in fresh or not asks_for_silence(row.content):
            continue
        silent.add(row.key)
        # "Don't write this down", and nothing else, is about what was said before.
        if len(row.content) <= ONLY_A_REQUEST and (before := _before(rows, at)):
            silent.add(before)
    yield from (row.key for row in rows if row.key in silent or row.prompt in silent)


def _before(rows: Sequence[Said], at: int) -> str:
    """The message that its writer sent before this one, on the same line of the chat."""
    row = rows[at]
    versions = {row.key, row.version_of or row.key}
    earlier = [
        each
        for each in reversed(rows[:at])
        if each.type == USER and each.key not in versions and each.version_of not in versions
    ]
    for shelf in (row.shelf, ""):
        for each in earlier:
            if each.shelf == shelf:
                return each.key
    return ""
