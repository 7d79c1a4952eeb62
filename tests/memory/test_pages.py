"""The memory pages over HTTP: what they show, what they change, and whose they are."""

import pytest
from django.test import Client
from django.urls import reverse

from memory.entries import entries_of
from memory.manager import MemoryManager
from memory.models import Revision
from memory.revisions import digest
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


def test_the_editor_shows_the_file_as_text_and_as_entries(page: Client, memory: MemoryManager) -> None:
    html = page.get(reverse("memory:home")).content.decode()
    assert "- Likes trains" in html
    assert html.count('class="entry"') == 3


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
    sections = memory.long_term.sections()
    assert "Likes green tea" in sections["Notes"]
    assert "tea" not in sections["Preferences"]


def test_an_entry_that_changed_meanwhile_is_left_alone(page: Client, memory: MemoryManager) -> None:
    entry = entries_of(TEXT)[1]
    memory.update_long_term_memory("Likes tea", "Likes cocoa")
    form = {"action": "delete", "position": entry.position, "key": entry.key}
    html = page.post(reverse("memory:entry"), form, follow=True).content.decode()
    assert "changed or removed meanwhile" in html
    assert "Likes cocoa" in memory.read_long_term_memory()


def test_an_entry_is_added_and_the_fragment_comes_back(page: Client, memory: MemoryManager) -> None:
    form = {"action": "add", "words": "Runs on Sundays", "section": "Interests"}
    html = page.post(reverse("memory:entry"), form, headers={"HX-Request": "true"}).content.decode()
    assert 'id="entries"' in html
    assert "<html" not in html
    assert "Runs on Sundays" in memory.long_term.sections()["Interests"]


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
