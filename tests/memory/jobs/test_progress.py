"""Work in progress: what a page shows of it, when it goes, and that only its owner sees it."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import OperationalError
from django.test import Client

from memory.compaction.drafts import Drafter
from memory.index import backfill, rebuild
from memory.jobs import progress
from memory.jobs.deadline import Deadline
from memory.jobs.progress import Work
from memory.manager import MemoryManager
from memory.models import MemoryIndex, Rebuild, WorkInProgress
from memory.triggers import MemoryTriggers
from oneclaw import wiring
from people.models import User

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def test_a_report_is_one_line_however_often_it_is_made(ada: User):
    progress.report(ada, "import", "Importing chats", 1, 9, page="memory:stats")
    progress.report(ada, "import", "Importing chats", 4, 9, page="memory:stats")
    assert progress.current(ada) == [Work("import", "Importing chats", 4, 9, "/memory/stats/")]
    assert progress.current(User.objects.create_user("bob")) == []


def test_what_is_finished_is_gone_and_nothing_else(ada: User):
    bob = User.objects.create_user("bob")
    for user in (ada, bob):
        progress.report(user, "import", "Importing chats")
    progress.report(ada, "rebuild", "Rebuilding")
    progress.finished(ada, "import")
    progress.finished(ada, "import")
    assert [work.key for work in progress.current(ada)] == ["rebuild"]
    assert [work.key for work in progress.current(bob)] == ["import"]


def test_work_that_stood_still_for_long_is_of_a_dead_process(ada: User):
    with time_machine.travel(NOW, tick=False) as clock:
        progress.report(ada, "import", "Importing chats")
        clock.shift(progress.STALE - timedelta(seconds=1))
        assert progress.current(ada)
        clock.shift(timedelta(seconds=2))
        assert not progress.current(ada)
        progress.report(ada, "import", "Importing chats")
        assert progress.current(ada)


def test_a_worker_that_starts_knows_of_no_work(ada: User):
    progress.report(ada, "import", "Importing chats")
    for hook in wiring.ON_WORKER_START:
        hook()
    assert not WorkInProgress.objects.exists()


def test_shown_for_as_long_as_the_block_runs_and_not_when_it_fails(ada: User):
    def work() -> None:
        with progress.shown(ada, "import", "Importing chats") as note:
            assert progress.of(ada, "import") == Work("import", "Importing chats")
            note(3, 10)
            assert progress.of(ada, "import") == Work("import", "Importing chats", 3, 10)
            note(4, 10)  # too soon after the last to be worth a write
            assert progress.of(ada, "import") == Work("import", "Importing chats", 3, 10)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert progress.of(ada, "import") is None


def test_a_busy_database_does_not_end_the_work(ada: User, monkeypatch: pytest.MonkeyPatch):
    def busy(*args: object, **named: object) -> None:
        raise OperationalError("database is locked")

    with progress.shown(ada, "import", "Importing chats") as note:
        monkeypatch.setattr(progress, "report", busy)
        note(1, 2)
    assert not progress.current(ada)


def test_a_page_that_an_update_took_away_is_left_out(ada: User):
    progress.report(ada, "import", "Importing chats", page="no:such-page")
    assert progress.current(ada) == [Work("import", "Importing chats")]


def test_a_rebuild_shows_itself_from_the_request_on(ada: User):
    MemoryTriggers(ada).rebuild_index()
    assert progress.of(ada, rebuild.KEY)
    assert rebuild.state(ada).running
    seen = list[Work | None]()

    def work(note: progress.Note) -> None:
        note(5, 8)
        seen.append(progress.of(ada, rebuild.KEY))

    rebuild.run(ada, work)
    assert seen == [Work("rebuild", "Rebuilding the search index", 5, 8, "/memory/stats/")]
    assert not progress.current(ada)


def test_a_rebuild_that_was_cut_off_says_so(ada: User):
    Rebuild.objects.create(owner=ada)
    state = rebuild.state(ada)
    assert not state.running
    assert "interrupted" in state.error


def test_only_many_rows_to_embed_are_worth_a_line(ada: User, monkeypatch: pytest.MonkeyPatch):
    memory = MemoryManager(ada)
    memory.files.append_to_daily_log("2026-03-01", "- Bees\n\n- Honey\n\n- Wax")
    memory.refresh_index()
    seen = list[list[Work]]()
    embed = backfill.embed

    def watched(user: User, **named: object) -> bool:
        seen.append(progress.current(user))
        return embed(user, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(backfill, "embed", watched)
    for most in (256, 2):
        MemoryIndex.objects.update(embedding=None, embedded_by="")
        monkeypatch.setattr(backfill, "BATCH", most)
        backfill.embed_for(ada.pk)
    assert [[work.key for work in each] for each in seen] == [[], ["embedding"]]
    assert not progress.current(ada)


def test_a_draft_in_portions_counts_them(ada: User, monkeypatch: pytest.MonkeyPatch):
    drafter = Drafter(None, Deadline.of(60))  # type: ignore[arg-type]
    noted = list[tuple[int, int]]()
    drafter.note = lambda done, total: noted.append((done, total))
    monkeypatch.setattr(Drafter, "_ask", lambda self, name, text, **values: text)
    monkeypatch.setattr(Drafter, "_without_repeats", lambda self, text, limit: text)
    text = "# Long-term Memory\n\n## Projects\n- Boat\n- Bees\n\n## Notes\n- Wax\n- Honey\n"
    drafter._by_section(text, 1_000, [])
    total = noted[0][1]
    assert noted == [(at, total) for at in range(total)]
    assert total >= 4


def test_the_strip_is_in_every_page_of_its_owner_alone(ada: User, client: Client):
    progress.report(ada, "import", "Importing chats", 1200, 4000, page="memory:stats")
    client.force_login(ada)
    for path in ("/memory/work/", "/", "/settings/profile/", "/memory/"):
        page = client.get(path).content.decode()
        assert "data-running" in page, path
        assert 'href="/memory/stats/"' in page
        assert "1,200 of 4,000" in page
    client.force_login(User.objects.create_user("bob"))
    page = client.get("/memory/work/").content.decode()
    assert 'id="work"' in page
    assert "data-running" not in page
    assert "Importing" not in page


def test_what_begins_long_work_has_the_page_look(ada: User, client: Client):
    client.force_login(ada)
    answer = client.post("/memory/stats/rebuild/", headers={"HX-Request": "true"})
    assert answer["HX-Trigger"] == "work"
    MemoryManager(ada).save_to_long_term_memory("Keeps bees")
    answer = client.post("/memory/compaction/propose/", headers={"HX-Request": "true"})
    assert answer["HX-Trigger"] == "work"
    assert {work.key for work in progress.current(ada)} == {"rebuild", "compaction"}
