"""The memory pages over HTTP: what they show, what they change, and whose they are."""

from datetime import date, timedelta

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertInHTML

from chat.models import Session
from memory.longterm import dates
from memory.longterm.dates import Saying
from memory.longterm.revisions import digest
from memory.manager import MemoryManager
from memory.models import LedgerEntry, Proposal, RemovedEntries, Revision
from memory.storage.atomic import StorageError
from memory.storage.entries import entries_of
from memory.storage.files import MemoryFileStorage
from memory.storage.sections import parse_sections
from memory.views.days import entries
from memory.views.gauges import fullness
from memory.views.history import MOST_COMPARED
from memory.views.search import address
from people.models import User

TEXT = "# Long-term Memory\n\n## Preferences\n- Likes trains\n- Likes tea\n\n## Notes\n- Owns a boat\n"


@pytest.fixture
def user(db) -> User:
    return User.objects.create_user("ada", password="correct horse battery")


@pytest.fixture
def page(user: User, client: Client) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def memory(user: User) -> MemoryManager:
    manager = MemoryManager(user)
    manager.long_term.write(TEXT)
    return manager


def test_every_page_wants_a_log_in(client: Client, user: User) -> None:
    for name in ("home", "logs", "search", "history"):
        answer = client.get(reverse(f"memory:{name}"))
        assert answer.status_code == 302
        assert "/login/" in answer["Location"]


@pytest.mark.parametrize(("days", "said"), [(0, "today"), (1, "1 day ago"), (3, "3 days ago")])
def test_a_hit_says_how_old_it_is(page: Client, user: User, days: int, said: str) -> None:
    MemoryFileStorage(user).append_to_daily_log(date(2026, 3, 5) - timedelta(days=days), "- Bought bees")
    with time_machine.travel("2026-03-05 12:00Z", tick=False):
        html = page.get(reverse("memory:search"), {"q": "bees"}).content.decode()
    assert said in html
    assert html.count(" ago") + html.count("today") == 1


def test_the_editor_shows_the_file_as_text_and_as_entries(page: Client, memory: MemoryManager) -> None:
    html = page.get(reverse("memory:home")).content.decode()
    assert html.count('class="entry"') == 3
    assert "- Likes trains" in page.get(reverse("memory:file")).content.decode()


def test_one_gauge_says_how_full_the_file_is(page: Client, memory: MemoryManager) -> None:
    for name in ("home", "file"):
        html = page.get(reverse(f"memory:{name}")).content.decode()
        assert html.count("<meter") == 1
        assert "8 of 200 lines" in html
    assert not fullness(TEXT).over
    # The tightest measure counts, and says what to do.
    full = fullness("- x\n" * 300)
    assert full.percent == 150
    assert [gauge.name for gauge in full.over] == ["Lines"]


def test_the_history_shows_what_changed_and_offers_undo(page: Client, memory: MemoryManager) -> None:
    memory.update_long_term_memory("Likes tea", "Likes <b>cocoa</b>")
    html = page.get(reverse("memory:history")).content.decode()
    assert "Likes &lt;b&gt;cocoa&lt;/b&gt;</ins>" in html
    assert "Likes tea</del>" in html
    revision = Revision.objects.latest("id")
    undo = reverse("memory:undo", args=[revision.pk])
    assert f'action="{undo}"' in html
    page.post(undo)
    assert memory.read_long_term_memory() == TEXT
    assert f'action="{undo}"' not in page.get(reverse("memory:history")).content.decode()


def test_a_page_of_huge_changes_compares_the_newest_only(page: Client, user: User) -> None:
    row = {"owner": user, "author": "user", "reason": "Edited"}
    Revision.objects.create(**row, before="", after="- Small", size=7)
    Revision.objects.create(**row, before="", after="- Huge", size=MOST_COMPARED + 1)
    assert "<ins" not in page.get(reverse("memory:history")).content.decode()
    Revision.objects.create(**row, before="", after="- Newest", size=8)
    html = page.get(reverse("memory:history")).content.decode()
    assert "Newest</ins>" in html
    assert html.count("<ins") == 1


def test_backups_are_listed_by_their_date(page: Client, memory: MemoryManager) -> None:
    for name in ("MEMORY_backup_2026-03-01_10-05-00.md", "MEMORY_backup_2026-99-01_10-00-00.md"):
        (memory.files.root / name).write_text(TEXT)
    html = page.get(reverse("memory:history")).content.decode()
    assert "Sunday, 1 March 2026, 10:05</time>" in html
    assert ">MEMORY_backup_2026-99-01_10-00-00.md</a>" in "".join(html.split())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("home", "Facts that hold for long will be here"),
        ("logs", "One page a day will be here"),
        ("history", "Every change of MEMORY.md will be here"),
        ("forgetting", "What you have forgotten will be listed here"),
        ("compaction", "Each compaction will be here"),
        ("stats", "Each summary and each compaction will be here"),
    ],
)
def test_an_empty_page_says_what_will_be_there(page: Client, name: str, words: str) -> None:
    assert words in " ".join(page.get(reverse(f"memory:{name}")).content.decode().split())


def test_the_calendar_has_a_legend(page: Client, memory: MemoryManager, user: User) -> None:
    html = page.get(reverse("memory:logs")).content.decode()
    assert "Days with entries will be coloured" in html
    for _ in range(3):
        memory.files.append_to_daily_log(user.today(), "- Bees")
    html = page.get(reverse("memory:logs")).content.decode()
    assert "swatch level-4" in html
    assert "3 entries a day" in html


def test_the_editor_saves_what_was_typed(page: Client, memory: MemoryManager) -> None:
    form = {"text": TEXT.replace("tea", "coffee").replace("\n", "\r\n"), "base": digest(TEXT)}
    assert page.post(reverse("memory:save"), form).status_code == 302
    assert memory.read_long_term_memory() == TEXT.replace("tea", "coffee")


def test_a_change_made_meanwhile_is_merged(page: Client, memory: MemoryManager) -> None:
    memory.save_to_long_term_memory("Plays chess", "interests")
    page.post(reverse("memory:save"), {"text": TEXT.replace("tea", "coffee"), "base": digest(TEXT)})
    text = memory.read_long_term_memory()
    assert "Plays chess" in text
    assert "Likes coffee" in text


def test_a_collision_shows_both_versions_and_writes_nothing(page: Client, memory: MemoryManager) -> None:
    memory.update_long_term_memory("Likes tea", "Likes cocoa")
    before = memory.read_long_term_memory()
    form = {"text": TEXT.replace("tea", "coffee"), "base": digest(TEXT)}
    html = page.post(reverse("memory:save"), form).content.decode()
    assert "review both versions" in html
    assert "Likes coffee" in html
    assert "Likes cocoa" in html
    assert memory.read_long_term_memory() == before


def test_a_text_that_is_too_long_is_refused_and_kept_on_the_page(page: Client, memory: MemoryManager) -> None:
    answer = page.post(reverse("memory:save"), {"text": "x" * 1_000_001, "base": digest(TEXT)})
    assert "Nothing was saved" in answer.content.decode()
    assert "x" * 1_000_001 in answer.content.decode()
    assert memory.read_long_term_memory() == TEXT


def test_one_entry_is_edited_and_moved(page: Client, memory: MemoryManager) -> None:
    entry = entries_of(TEXT)[1]
    form = {
        "action": "edit",
        "position": entry.position,
        "key": entry.key,
        "words": "Likes green tea",
        "section": "Notes",
    }
    page.post(reverse("memory:entry"), form)
    sections = parse_sections(memory.long_term.read())
    assert "Likes green tea" in sections["Notes"]
    assert "tea" not in sections["Preferences"]


def test_an_entry_that_changed_meanwhile_is_left_alone(page: Client, memory: MemoryManager) -> None:
    entry = entries_of(TEXT)[1]
    memory.update_long_term_memory("Likes tea", "Likes cocoa")
    form = {"action": "delete", "position": entry.position, "key": entry.key}
    html = page.post(reverse("memory:entry"), form, follow=True).content.decode()
    assert "changed or removed in the meantime" in html
    assert "Likes cocoa" in memory.read_long_term_memory()


def test_an_entry_is_added_and_the_fragment_comes_back(page: Client, memory: MemoryManager) -> None:
    form = {"action": "add", "words": "Runs on Sundays", "section": "Interests"}
    html = page.post(reverse("memory:entry"), form, headers={"HX-Request": "true"}).content.decode()
    assert 'id="entries"' in html
    assert "<html" not in html
    assert "Runs on Sundays" in parse_sections(memory.long_term.read())["Interests"]


def test_a_change_is_shown_as_a_diff_and_undone(page: Client, memory: MemoryManager) -> None:
    memory.update_long_term_memory("Likes tea", "Likes cocoa")
    revision = Revision.objects.latest("id")
    html = page.get(reverse("memory:revision", args=[revision.pk])).content.decode()
    assert "Likes cocoa</ins>" in html
    assert "Likes tea</del>" in html
    page.post(reverse("memory:undo", args=[revision.pk]))
    assert memory.read_long_term_memory() == TEXT


def test_a_backup_is_restored_by_one_click(page: Client, memory: MemoryManager) -> None:
    name = memory.files.create_backup()
    memory.long_term.write("# Long-term Memory\n\n## Notes\n- Wrong\n")
    html = page.get(reverse("memory:backup", args=[name])).content.decode()
    assert "Likes trains" in html
    page.post(reverse("memory:restore", args=[name]))
    assert memory.read_long_term_memory() == TEXT


@pytest.mark.parametrize("name", ["MEMORY.md", "..", "MEMORY_backup_2026-01-01_00-00-00.md"])
def test_no_other_file_is_a_backup(page: Client, memory: MemoryManager, name: str) -> None:
    assert page.get(f"/memory/backups/{name}/").status_code == 404
    assert page.post(f"/memory/backups/{name}/restore/").status_code == 404


def test_another_users_change_is_not_there(page: Client, db) -> None:
    other = MemoryManager(User.objects.create_user("eve"))
    other.long_term.write(TEXT)
    revision = Revision.objects.latest("id")
    assert page.get(reverse("memory:revision", args=[revision.pk])).status_code == 404
    assert page.post(reverse("memory:undo", args=[revision.pk])).status_code == 404
    assert other.read_long_term_memory() == TEXT


def test_what_is_stored_is_shown_as_text(page: Client, memory: MemoryManager) -> None:
    memory.save_to_long_term_memory("<script>alert(1)</script> <img src=x onerror=alert(1)>")
    html = page.get(reverse("memory:home")).content.decode()
    assert "<script>alert" not in html
    assert "<img src=x" not in html


def test_a_day_is_read_with_its_entries_and_no_marker(page: Client, memory: MemoryManager) -> None:
    memory.files.append_to_daily_log("2026-02-28", '<!-- oneclaw:entry {"x": 1} -->\n- Chose **Lisbon**')
    html = page.get(reverse("memory:day", args=["2026-02-28"])).content.decode()
    assert "<strong>Lisbon</strong>" in html
    assert "oneclaw:entry" not in html
    assert "Lisbon" in page.get(reverse("memory:logs")).content.decode()


@pytest.mark.parametrize("day", ["2026-02-27", "2026-02-30", "0000-00-00"])
def test_a_day_without_a_log_is_not_there(page: Client, memory: MemoryManager, day: str) -> None:
    assert page.get(f"/memory/logs/{day}/").status_code == 404


def test_an_entry_of_a_day_is_deleted_and_put_back(page: Client, memory: MemoryManager) -> None:
    memory.files.append_to_daily_log("2026-02-28", "- Chose Lisbon")
    memory.files.append_to_daily_log("2026-02-28", "- Bought a boat")
    entry = entries(memory.files.read_daily_log("2026-02-28") or "")[0]
    answer = page.post(reverse("memory:remove", args=["2026-02-28"]), {"key": entry.key}, follow=True)
    assert "1 entry removed" in answer.content.decode()
    assert "Lisbon" not in (memory.files.read_daily_log("2026-02-28") or "")
    page.post(reverse("memory:remember", args=[RemovedEntries.objects.get().pk]))
    back = entries(memory.files.read_daily_log("2026-02-28") or "")
    assert [shown.body for shown in back] == ["- Chose Lisbon", "- Bought a boat"]


def test_a_whole_day_is_deleted_and_put_back(page: Client, memory: MemoryManager) -> None:
    memory.files.append_to_daily_log("2026-02-28", "- Chose Lisbon")
    answer = page.post(reverse("memory:remove", args=["2026-02-28"]), follow=True)
    assert "Undo" in answer.content.decode()
    assert memory.files.read_daily_log("2026-02-28") is None
    page.post(reverse("memory:remember", args=[RemovedEntries.objects.get().pk]))
    assert "Chose Lisbon" in (memory.files.read_daily_log("2026-02-28") or "")


def test_an_entry_with_another_key_is_left_alone(page: Client, memory: MemoryManager) -> None:
    memory.files.append_to_daily_log("2026-02-28", "- Chose Lisbon")
    html = page.post(reverse("memory:remove", args=["2026-02-28"]), {"key": "0" * 16}, follow=True)
    assert "removed in the meantime" in html.content.decode()
    assert "Chose Lisbon" in (memory.files.read_daily_log("2026-02-28") or "")


@pytest.mark.django_db(transaction=True)
def test_a_day_to_be_summarised_again_says_so(page: Client, memory: MemoryManager) -> None:
    memory.files.append_to_daily_log("2026-02-28", "- Chose Lisbon")
    html = page.post(reverse("memory:redo", args=["2026-02-28"]), follow=True).content.decode()
    assert "being summarised again" in html


def test_a_proposal_is_read_and_applied(page: Client, memory: MemoryManager, user: User) -> None:
    after = TEXT.replace("- Likes trains\n- Likes tea\n", "- Likes trains and tea\n")
    proposal = Proposal.objects.create(owner=user, before=TEXT, after=after)
    html = page.get(reverse("memory:compaction")).content.decode()
    assert "Likes trains and tea</ins>" in html
    page.post(reverse("memory:apply", args=[proposal.pk]))
    assert memory.read_long_term_memory() == after
    assert memory.files.list_backups()


def test_a_proposal_is_discarded(page: Client, memory: MemoryManager, user: User) -> None:
    proposal = Proposal.objects.create(owner=user, before=TEXT, after="# Long-term Memory\n")
    page.post(reverse("memory:discard", args=[proposal.pk]))
    assert memory.read_long_term_memory() == TEXT
    assert not Proposal.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_asking_for_a_compaction_shows_that_it_runs(page: Client, memory: MemoryManager) -> None:
    html = page.post(reverse("memory:propose"), headers={"HX-Request": "true"}).content.decode()
    assert "The model is reading your memory" in html
    assert 'hx-trigger="every' in html


def test_the_reason_of_a_refusal_is_shown(page: Client, memory: MemoryManager, user: User) -> None:
    LedgerEntry.objects.create(
        owner=user, kind="compaction", trigger="manual", outcome="refused", detail="It lost an entry."
    )
    assert "It lost an entry." in page.get(reverse("memory:compaction")).content.decode()


def test_stats_count_what_is_there_and_show_the_ledger(
    page: Client, memory: MemoryManager, user: User
) -> None:
    for day in ("2026-02-27", "2026-02-28"):
        memory.files.append_to_daily_log(day, "- Chose Lisbon")
    LedgerEntry.objects.create(
        owner=user, kind="flush", trigger="day_change", outcome="failed", detail="Down."
    )
    html = page.get(reverse("memory:stats")).content.decode()
    assertInHTML('<div class="figure"><dd>2</dd><dt>daily logs</dt></div>', html)
    assert "<polyline" in html
    assert "Retry</button>" in html


@pytest.mark.django_db(transaction=True)
def test_a_rebuild_is_started_and_watched(page: Client, memory: MemoryManager) -> None:
    html = page.post(reverse("memory:rebuild"), headers={"HX-Request": "true"}).content.decode()
    assert "Rebuilding" in html
    assert "<progress" in html


def test_another_users_removal_proposal_and_ledger_are_not_there(page: Client, db) -> None:
    other = User.objects.create_user("eve")
    proposal = Proposal.objects.create(owner=other, before="a", after="b")
    row = LedgerEntry.objects.create(owner=other, kind="flush", trigger="manual", outcome="failed")
    removed = RemovedEntries.objects.create(owner=other)
    for url in (
        reverse("memory:apply", args=[proposal.pk]),
        reverse("memory:discard", args=[proposal.pk]),
        reverse("memory:retry", args=[row.pk]),
        reverse("memory:remember", args=[removed.pk]),
    ):
        assert page.post(url).status_code == 404


def test_a_hit_leads_to_where_it_was_said() -> None:
    chat = "0b5c1c9e-8f43-4d7e-9d55-3f0a4c1d2e3f"
    assert address("transcript", "2026-02-28", f"chat:{chat}", 7) == f"/chat/{chat}/?at=7#message-7"
    assert address("daily_log", "2026-02-28", "daily/2026-02-28.md", 3) == "/memory/logs/2026-02-28/"
    assert address("long_term", "", "MEMORY.md", 3) == "/memory/"


@pytest.mark.parametrize("name", ["home", "history", "logs", "stats"])
def test_a_memory_that_can_not_be_reached_is_said(
    page: Client, memory: MemoryManager, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StorageError("The memory folder can't be read.")

    monkeypatch.setattr(MemoryFileStorage, "read_memory_file", fail)
    monkeypatch.setattr(MemoryFileStorage, "list_daily_log_dates", fail)
    answer = page.get(reverse(f"memory:{name}"))
    assert answer.status_code == 503
    assert "The memory folder can&#x27;t be read." in answer.content.decode()


def test_odd_digits_in_an_address_are_no_error(page: Client, memory: MemoryManager) -> None:
    assert page.get(reverse("memory:history"), {"before": "²"}).status_code == 200
    memory.files.append_to_daily_log("2026-02-28", "- A walk")
    assert page.get(reverse("memory:day", args=["2026-02-28"]), {"removed": "²"}).status_code == 200


def test_an_entry_that_would_be_none_is_not_moved(page: Client, memory: MemoryManager) -> None:
    entry = entries_of(TEXT)[0]
    form = {
        "action": "edit",
        "position": entry.position,
        "key": entry.key,
        "words": "---",
        "section": "Notes",
    }
    answer = page.post(reverse("memory:entry"), form, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert memory.read_long_term_memory() == TEXT


def test_each_entry_shows_when_it_was_last_said_and_leads_to_the_chat(
    page: Client, user: User, ben: User
) -> None:
    chat = Session.objects.create(owner=user, title="Breakfast")
    other = Session.objects.create(owner=ben, title="Not yours")
    gone = Session.objects.create(owner=user, title="Gone", deleted_at=timezone.now())
    MemoryFileStorage(user).write_memory_file("- Likes tea\n- Sings\n- Hums\n- Undated\n")
    day = date(2026, 5, 3)
    dates.note(user, {"Likes tea": Saying(day, chat.id), "Sings": Saying(day, other.id)})
    dates.note(user, {"Hums": Saying(day, gone.id)})
    html = page.get(reverse("memory:home")).content.decode()
    assert html.count('Last said <time datetime="2026-05-03">3 May 2026</time>') == 3
    assertInHTML(f'<a href="{reverse("chat:session", args=[chat.id])}">Breakfast</a>', html)
    for hidden in (str(other.id), "Not yours", str(gone.id)):
        assert hidden not in html


def test_a_doubtful_proposal_warns_and_can_be_applied(
    page: Client, user: User, memory: MemoryManager
) -> None:
    after = TEXT.replace("- Likes tea\n", "")
    proposal = Proposal.objects.create(owner=user, before=TEXT, after=after, doubt="It lost 1 of 3 entries.")
    html = page.get(reverse("memory:compaction")).content.decode()
    assert "It lost 1 of 3 entries." in html
    assert "Apply anyway" in html
    page.post(reverse("memory:apply", args=[proposal.pk]))
    assert memory.read_long_term_memory() == after
