"""Past chats as a source of the index: which messages are new or gone, and the rows they make."""

import dataclasses
from collections.abc import Iterator
from uuid import UUID

from django.db.models import QuerySet

from memory import embedding, rows, transcripts
from memory.models import IndexedSource, IndexState, MemoryIndex, Source
from memory.rows import Draft
from people.models import User

MESSAGES_AT_ONCE = 200


class ChatSource:
    """What one user's chats said. A message never changes, it only comes or goes."""

    def __init__(self, user: User) -> None:
        self.user = user

    def sync(self, state: IndexState) -> None:
        """Compare the chats that ask for another look, then read what was said since the last time."""
        asking = IndexedSource.objects.filter(owner=self.user, fingerprint="")
        for key in asking.values_list("source_key", flat=True):
            self.index(transcripts.session_of(key))
        self._read(after=state.last_message)

    def read_all(self) -> None:
        self._read(after=0)
        self._drop_unsaid()
        IndexedSource.objects.filter(owner=self.user, source_key__startswith="chat:").delete()

    def index(self, session_id: UUID | str) -> None:
        """Index a chat as it is now: what left its page goes, what came is added."""
        key = transcripts.source_key(session_id)
        # First: a request that comes while this one is worked on asks for yet another look.
        IndexedSource.objects.filter(owner=self.user, source_key=key).delete()
        try:
            self._compare(session_id, key)
        except BaseException:
            self.look_again(session_id)
            raise

    def _compare(self, session_id: UUID | str, key: str) -> None:
        here = transcripts.finished(transcripts.remembered(self.user).filter(session_id=session_id))
        said = set(here.values_list("id", flat=True))
        known = dict(self._rows(key).values_list("id", "anchor"))
        rows.delete(self.user.pk, [id for id, anchor in known.items() if anchor not in said])
        new = sorted(said - set(known.values()))
        for at in range(0, len(new), MESSAGES_AT_ONCE):
            self._add(list(here.filter(id__in=new[at : at + MESSAGES_AT_ONCE])))

    def look_again(self, session_id: UUID | str) -> None:
        """Have the next sync compare a chat's page with the index: versions were switched, or it is back."""
        key = transcripts.source_key(session_id)
        IndexedSource.objects.update_or_create(owner=self.user, source_key=key, defaults={"fingerprint": ""})

    def remove(self, session_id: UUID | str) -> None:
        """Take a chat out at once. The next sync looks whether any of it belongs in again."""
        stored = self._rows(transcripts.source_key(session_id))
        rows.delete(self.user.pk, list(stored.values_list("id", flat=True)))
        self.look_again(session_id)

    def _rows(self, key: str) -> QuerySet[MemoryIndex]:
        return MemoryIndex.objects.filter(owner=self.user, source_key=key)

    def _read(self, after: int) -> None:
        """Index the messages after this one, and remember how far that went."""
        newest = transcripts.newest(self.user, after)
        if newest == after:
            return
        growing = transcripts.first_unfinished(self.user, after)
        while True:
            messages = list(
                transcripts.finished(transcripts.remembered(self.user).filter(id__gt=after, id__lte=newest))[
                    :MESSAGES_AT_ONCE
                ]
            )
            if not messages:
                break
            self._add(messages)
            after = messages[-1].id
        done = growing - 1 if growing else newest
        IndexState.objects.filter(owner=self.user).update(last_message=done)

    def _add(self, messages: list[transcripts.Message]) -> None:
        ids = [message.id for message in messages]
        stored = MemoryIndex.objects.filter(owner=self.user, source_type=Source.TRANSCRIPT, anchor__in=ids)
        rows.replace(self.user.pk, stored, list(self._drafts(messages)))

    def _drafts(self, messages: list[transcripts.Message]) -> Iterator[Draft]:
        for turn in transcripts.turns(messages, embedding.engine().count_tokens):
            key = transcripts.source_key(turn.session_id)
            day = self.user.local_date(turn.said_at)
            for position, chunk in enumerate(turn.chunks):
                yield Draft(
                    Source.TRANSCRIPT,
                    key,
                    day,
                    turn.said_at,
                    position,
                    dataclasses.replace(chunk, anchor=turn.message_id),
                )

    def _drop_unsaid(self) -> None:
        """Take out transcript rows whose message is gone, set aside, or in a chat that does not remember."""
        said = transcripts.STILL_SAID.format(anchor="m.anchor")
        unsaid = MemoryIndex.objects.raw(
            f"SELECT m.id FROM {MemoryIndex._meta.db_table} m "  # noqa: S608
            f"WHERE m.owner_id = %s AND m.source_type = '{Source.TRANSCRIPT}' AND NOT {said}",
            [self.user.pk],
        )
        rows.delete(self.user.pk, [row.id for row in unsaid])
