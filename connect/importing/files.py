"""Pictures and files of an archive's messages: read as attachments are, kept once by content."""

from uuid import UUID

from chat.attachments import uploads
from chat.attachments.kinds import FileRefused
from chat.models import Attachment, Message
from connect.archives.documents import Damaged
from connect.archives.reading import Archive
from connect.archives.values import ForeignChat, ForeignFile, Skipped
from connect.importing.chats import known
from people.models import User

NOT_THERE = "The archive only names this file; it does not hold it."


def bring(user: User, chat: ForeignChat, archive: Archive) -> tuple[int, list[Skipped]]:
    """Attach what the archive holds to the messages that came; how many, and what was left out."""
    rows = [row for row in chat.rows if row.files]
    there = known(user, chat) if rows else None
    if there is None:
        return 0, []
    ids = [there.messages[row.key] for row in rows if row.key in there.messages]
    done = set(Attachment.objects.filter(message_id__in=ids).values_list("message_id", flat=True))
    count, left_out = 0, list[Skipped]()
    for row in rows:
        message_id = there.messages.get(row.key)
        if message_id is None or message_id in done:
            continue
        if not Message.objects.filter(pk=message_id, session_id=there.chat_id).exists():
            continue
        for position, file in enumerate(row.files):
            try:
                _keep(user, there.chat_id, message_id, position, file, archive)
                count += 1
            except (Damaged, FileRefused, OSError) as error:
                left_out.append(Skipped(file.name, str(error)[:300]))
    return count, left_out


def _keep(
    user: User, session_id: UUID, message_id: int, position: int, file: ForeignFile, archive: Archive
) -> None:
    if not file.entry:
        raise FileRefused(NOT_THERE)
    with archive.source.open(file.entry) as stream:
        kept = uploads.kept(user, file.name, iter(lambda: stream.read(2**18), b""))
    kept.session_id, kept.message_id, kept.position = session_id, message_id, position
    kept.save(force_insert=True)
