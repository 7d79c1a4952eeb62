"""From the composer to a message: received, waiting, taken away, sent, copied, tidied up."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.utils import timezone

from chat.attachments import kinds, reading, storage
from chat.attachments.kinds import FileRefused, Kind
from chat.models import Attachment, Message, Session
from people.models import User

MOST = 10
# Files that were never sent are kept for so long.
UNSENT = timedelta(days=1)
TOO_MANY = f"At most {MOST} files can be attached to a message."
GONE = "A file is no longer there: attach it again."


def receive(user: User, session: Session | None, upload: "UploadedFile[bytes]") -> Attachment:
    """Read and keep a file for the composer of a chat, or the reason why not."""
    here = waiting(user, session)
    if here.count() >= MOST:
        raise FileRefused(TOO_MANY)
    attachment = kept(user, upload.name or "", upload.chunks())
    attachment.session, attachment.position = session, next_position(here)
    attachment.save(force_insert=True)
    return attachment


def kept(user: User, name: str, pieces: Iterable[bytes]) -> Attachment:
    """Read a file and keep its bytes; the row is for the caller to place and store."""
    name = kinds.clean_name(name)
    with storage.scratch(user.pk) as folder:
        source = folder / "came"
        size = save(pieces, source, name)
        kind = kinds.kind_of(name, source.read_bytes())
        check_size(name, size, kind)
        found = reading.read(kind, name, source, folder)
        return Attachment(
            owner=user,
            name=name,
            kind=kind,
            media_type=found.media_type,
            size=found.path.stat().st_size if kind == Kind.IMAGE else size,
            sha256=storage.keep(user.pk, found.path),
            width=found.width,
            height=found.height,
            pages=found.pages,
            text=found.text,
            note=found.note,
        )


def save(pieces: Iterable[bytes], target: Path, name: str) -> int:
    """Write what comes to disk, counting what really comes."""
    most, size = max(settings.IMAGE_MB, settings.FILE_MB) * 2**20, 0
    with target.open("xb") as file:
        for piece in pieces:
            size += len(piece)
            if size > most:
                raise FileRefused(f"{name} is larger than {most // 2**20} MB.")
            file.write(piece)
    if not size:
        raise FileRefused(f"{name} is empty.")
    return size


def check_size(name: str, size: int, kind: Kind) -> None:
    most = settings.IMAGE_MB if kind == Kind.IMAGE else settings.FILE_MB
    if size > most * 2**20:
        what = "picture" if kind == Kind.IMAGE else "file"
        raise FileRefused(f"{name} has {size / 2**20:.0f} MB; a {what} can have at most {most} MB.")


def next_position(here: QuerySet[Attachment]) -> int:
    last = here.order_by("-position").values_list("position", flat=True).first()
    return 0 if last is None else last + 1


def waiting(user: User, session: Session | None) -> QuerySet[Attachment]:
    """What is attached in a chat's composer and not sent yet."""
    stored = session if session is not None and not session._state.adding else None
    return Attachment.objects.filter(owner=user, session=stored, message=None).defer("text")


def owned(user: User, attachment_id: UUID) -> Attachment | None:
    """The user's own, unless its chat is deleted."""
    rows = Attachment.objects.filter(owner=user, id=attachment_id).exclude(session__deleted_at__isnull=False)
    return rows.defer("text").first()


def remove(user: User, attachment_id: UUID) -> bool:
    """Take one away that was not sent; what was sent goes with its chat."""
    found = Attachment.objects.filter(owner=user, id=attachment_id, message=None).first()
    if found is None:
        return False
    found.delete()
    if not Attachment.objects.filter(owner=user, sha256=found.sha256).exists():
        storage.remove(user.pk, found.sha256)
    return True


def chosen(user: User, ids: Sequence[str]) -> list[Attachment]:
    """The waiting ones of these ids in the order given, or a FileRefused."""
    try:
        wanted = list(dict.fromkeys(UUID(each) for each in ids[: MOST + 1]))
    except ValueError:
        raise FileRefused(GONE) from None
    if len(wanted) > MOST:
        raise FileRefused(TOO_MANY)
    rows = Attachment.objects.filter(owner=user, message=None).defer("text").in_bulk(wanted)
    if len(rows) != len(wanted):
        raise FileRefused(GONE)
    return [rows[each] for each in wanted]


def attach(message: Message, attachments: Iterable[Attachment]) -> None:
    """Make them the message's own, in order. Call it in the transaction that makes the message."""
    for position, each in enumerate(attachments):
        waits = Attachment.objects.filter(id=each.id, message=None)
        if not waits.update(message=message, session_id=message.session_id, position=position):
            raise FileRefused(GONE)


def copy(source: Message, target: Message) -> None:
    """Another message with the same files: an edited one, or one in a chat that branched off."""
    for each in source.attachments.all():
        each.pk, each._state.adding = uuid4(), True
        each.message, each.session_id = target, target.session_id
        each.save(force_insert=True)


def tidy(now: datetime | None = None) -> int:
    """Remove what was never sent, and every file that no row names any more."""
    old = (now or timezone.now()) - UNSENT
    Attachment.objects.filter(message=None, created_at__lt=old).delete()
    count = 0
    for owner_id in storage.owners():
        rows = Attachment.objects.filter(owner_id=owner_id)
        count += storage.sweep(owner_id, set(rows.values_list("sha256", flat=True)))
    return count
