"""Where chats of another OneClaw's archive came from: by it they are known again, whoever brings them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from connect.archives.documents import Damaged, items
from connect.archives.reading import Archive
from connect.archives.trees import MOST_NODES
from connect.archives.values import ForeignChat, Kind, Said, key_of, listed, mapping, title_of

FORMAT, FOLDER = "oneclaw-origin", "origins"
MOST = 20  # programs that one chat went through


@dataclass(frozen=True, slots=True)
class Place:
    """A program that a chat was in: what it is called there, and what its messages are called."""

    kind: str
    id: str
    messages: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Origin:
    """All places that a chat was in, and the token by which it is kept, if another program holds it."""

    places: tuple[Place, ...] = ()
    via: str = ""


class Origins:
    """What an archive says of its chats' origins; each is read when its chat comes."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.names: dict[str, str] | None = None

    def of(self, chat: ForeignChat) -> Origin:
        if chat.kind != Kind.ONECLAW:
            return Origin()
        if self.names is None:
            # Once chats come, files that were changed since the export are known and left out.
            found = [document.name for document in self.archive.documents]
            self.names = {_chat_of(name): name for name in found if f"/{FOLDER}/" in f"/{name}"}
        name = self.names.get(chat.id)
        if name is None:
            return Origin()
        try:
            with self.archive.source.open(name) as stream:
                return read(next(items(stream), None))
        except Damaged:
            return Origin()


def _chat_of(name: str) -> str:
    return name.rsplit("/", 1)[-1].removesuffix(".json")


def read(value: object) -> Origin:
    item = mapping(value)
    if item.get("format") != FORMAT:
        return Origin()
    found = list[Place]()
    for each in map(mapping, listed(item.get("from"))[:MOST]):
        kind, key = each.get("kind"), key_of(each.get("id"))
        names = {key_of(name): key_of(there) for name, there in mapping(each.get("messages")).items()}
        if kind in Kind.LABELS and key and len(names) <= MOST_NODES:
            found.append(
                Place(str(kind), key, {name: there for name, there in names.items() if name and there})
            )
    return Origin(tuple(found), title_of(item.get("via"))[:60])


def as_known_at(chat: ForeignChat, place: Place) -> ForeignChat:
    """A chat with the names that it and its messages have in another program."""

    def name(key: str) -> str:
        return place.messages.get(key, f"{chat.id}:{key}"[:200]) if key else ""

    def named(row: Said) -> Said:
        return replace(
            row,
            key=name(row.key),
            version_of=name(row.version_of),
            shelf=name(row.shelf),
            reply=name(row.reply),
            prompt=name(row.prompt),
        )

    return replace(chat, kind=place.kind, id=place.id, rows=tuple(map(named, chat.rows)))
