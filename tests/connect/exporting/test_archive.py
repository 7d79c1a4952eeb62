"""An archive holds everything, and another OneClaw makes the same of it."""

import hashlib
import json
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from django.core.management import call_command

from chat.models import Agent, Message, Session
from chat.replies import versions
from connect.exporting import archive
from connect.importing import uploads, work
from connect.importing.history import History
from connect.models import Import
from memory.dailylog import forgotten
from memory.longterm import dates
from memory.manager import MemoryManager
from memory.models import EntryUse, Revision
from memory.storage import log_entries
from memory.storage.log_entries import Marker
from people.models import User
from tests.connect import exports

pytestmark = pytest.mark.django_db

QUESTIONS = ("Where do we eat in Ghent with children?", "Which dog does Ada have?", "Who repairs the roof?")


def lived(user: User, tmp_path: Path, bring) -> Session:
    """A person with chats, versions, a log, memories with dates, and something forgotten."""
    chats = [
        exports.branching(),
        exports.plain("roof", "Roof", "The roofer is called Ludo Peeters", "Noted."),
    ]
    bring(user, exports.chatgpt(tmp_path / "a.zip", chats))
    manager = MemoryManager(user)
    manager.save_to_long_term_memory("Has a beagle called Biscuit", "profile", user_requested=True)
    EntryUse.objects.create(
        owner=user, words=dates.words_of("Has a beagle called Biscuit"), days=4, last_day=date(2026, 5, 1)
    )
    session = Session.objects.get(owner=user, title="Roof")
    first, last = session.messages.order_by("id").values_list("id", flat=True)
    marker = Marker(str(session.id), first, last, "manual", "2026-04-11T10:00:00", "model")
    manager.files.append_to_daily_log(
        "2026-04-11", log_entries.compose(marker, "- The roofer is Ludo Peeters")
    )
    manager.keep_forgotten(["Ada's middle name is Hortensia"])
    manager.refresh_index()
    return session


def exported(user: User, tmp_path: Path) -> Path:
    path = tmp_path / "mine.zip"
    archive.write(user, path)
    return path


def found(user: User) -> list[list[tuple[str, str, str | None, float]]]:
    manager = MemoryManager(user)
    return [
        [
            (hit.chunk_text, hit.source_type, hit.source_date, round(hit.score, 6))
            for hit in manager.search_memory(question)
        ]
        for question in QUESTIONS
    ]


def test_everything_is_in_it_with_checksums(ada, tmp_path, bring):
    lived(ada, tmp_path, bring)
    with zipfile.ZipFile(exported(ada, tmp_path)) as whole:
        names = whole.namelist()
        manifest = json.loads(whole.read("manifest.json"))
        assert (manifest["format"], manifest["version"]) == ("oneclaw-archive", 1)
        assert set(manifest["files"]) == set(names) - {"manifest.json"}
        for name, about in manifest["files"].items():
            assert hashlib.sha256(whole.read(name)).hexdigest() == about["sha256"]
        assert "Biscuit" in whole.read("memory/MEMORY.md").decode()
        assert "memory/daily/2026-04-11.md" in names
        assert len([name for name in names if name.startswith("chats/") and name.endswith(".json")]) == 2
        roof = next(name for name in names if "roof" in name and name.endswith(".md"))
        assert "Ludo Peeters" in whole.read(roof).decode()
        assert "Imported from ChatGPT" in whole.read("memory/revisions.jsonl").decode()
        # What was forgotten is in none of the files.
        assert not any(b"Hortensia" in whole.read(name) for name in names)


def test_another_machine_finds_the_same_things(ada, ben, tmp_path, bring, settings):
    lived(ada, tmp_path, bring)
    path = exported(ada, tmp_path)
    before, block = found(ada), MemoryManager(ada).get_injection_content(QUESTIONS[1])
    assert all(before)
    settings.SECRET_KEY = "another machine has another key, of course"
    import_ = bring(ben, path)
    assert import_.label == "OneClaw"
    assert (import_.added["chats"], import_.added["days"], import_.added["forgotten"]) == (2, 1, 1)
    assert found(ben) == before
    assert MemoryManager(ben).get_injection_content(QUESTIONS[1]) == block
    assert MemoryManager(ben).read_long_term_memory() == MemoryManager(ada).read_long_term_memory()


def test_what_was_forgotten_stays_forgotten_there(ada, ben, tmp_path, bring, settings, monkeypatch):
    # By its words alone: the meaning travels too, and would hide that they no longer fit.
    monkeypatch.setattr(forgotten, "near", lambda kept, texts: set())
    lived(ada, tmp_path, bring)
    path = exported(ada, tmp_path)
    settings.SECRET_KEY = "another machine has another key, of course"
    told = "Ada's middle name is Hortensia"
    assert not MemoryManager(ben).was_forgotten(told)
    bring(ben, path)
    assert MemoryManager(ben).was_forgotten(told)
    assert forgotten.among(ben, ["The middle name of Ada is Hortensia."])
    assert not MemoryManager(ben).was_forgotten("Likes long walks by the sea")
    assert bring(ben, path).added["forgotten"] == 0
    # And from there to a third.
    onward = exported(ben, tmp_path)
    settings.SECRET_KEY = "the third one has a key of its own, too"
    eve = User.objects.create_user("eve")
    assert not MemoryManager(eve).was_forgotten(told)
    assert bring(eve, onward).added["forgotten"] == 1
    assert MemoryManager(eve).was_forgotten(told)
    assert forgotten.among(eve, ["The middle name of Ada is Hortensia."])


def test_versions_markers_dates_and_use_travel(ada, ben, tmp_path, bring):
    session = lived(ada, tmp_path, bring)
    bring(ben, exported(ada, tmp_path))
    ghent = Session.objects.get(owner=ben, title="Trip to Ghent")
    other = Message.objects.get(session=ghent, content="Where should we eat in Ghent?")
    versions.switch(ghent, other.id)
    other.refresh_from_db()
    assert other.shelf_id is None
    log = MemoryManager(ben).files.read_daily_log("2026-04-11") or ""
    roof = Session.objects.get(owner=ben, title="Roof")
    (marker,) = [entry.marker for entry in log_entries.entries_of(log)]
    assert marker
    # The chat's own name is taken here, by Ada: the entry points to the chat that came.
    assert marker.session == str(roof.id) != str(session.id)
    assert [marker.first, marker.last] == list(roof.messages.order_by("id").values_list("id", flat=True))
    text = MemoryManager(ben).read_long_term_memory()
    theirs, mine = (
        {each.entry.content: each.said.day for each in dates.dated(user, text) if each.said}
        for user in (ben, ada)
    )
    assert theirs == mine
    assert len(mine) == 3
    assert EntryUse.objects.get(owner=ben).days == 4


def test_ones_own_archive_adds_nothing_to_what_is_there(ada, tmp_path, bring):
    lived(ada, tmp_path, bring)
    counts = Session.objects.count(), Message.objects.count()
    text, log = (
        MemoryManager(ada).read_long_term_memory(),
        MemoryManager(ada).files.read_daily_log("2026-04-11"),
    )
    import_ = bring(ada, exported(ada, tmp_path))
    assert import_.plan["known"] == 2
    assert (Session.objects.count(), Message.objects.count()) == counts
    assert MemoryManager(ada).read_long_term_memory() == text
    assert MemoryManager(ada).files.read_daily_log("2026-04-11") == log


def test_another_programs_archive_adds_nothing_on_the_next_machine_either(ada, ben, tmp_path, bring):
    lived(ada, tmp_path, bring)
    bring(ben, exported(ada, tmp_path))
    assert bring(ben, tmp_path / "a.zip").added["chats"] == 0
    assert Session.objects.filter(owner=ben).count() == 2
    # What is new in it comes, as where it was first taken in.
    turns = ("The roofer is called Ludo Peeters", "Noted.", "He comes on Monday", "Good.")
    newer = exports.chatgpt(tmp_path / "b.zip", [exports.plain("roof", "Roof", *turns)])
    import_ = bring(ben, newer)
    assert (import_.added["chats"], import_.added["more"]) == (0, 2)
    # And on from there.
    eve = User.objects.create_user("eve")
    bring(eve, exported(ben, tmp_path))
    for path in ("a.zip", "b.zip"):
        again = bring(eve, tmp_path / path)
        assert (again.added["chats"], again.added["more"]) == (0, 0)
    assert Session.objects.filter(owner=eve).count() == 2


def test_a_chat_that_came_from_its_own_program_before_is_known_in_the_archive(ada, ben, tmp_path, bring):
    session = lived(ada, tmp_path, bring)
    said = {"session": session, "type": "user", "content": "Ludo comes on Monday"}
    Message.objects.create(**said)
    bring(ben, tmp_path / "a.zip")
    import_ = bring(ben, exported(ada, tmp_path))
    assert import_.plan["known"] == 2
    assert (import_.added["chats"], import_.added["more"]) == (0, 1)
    roof = Session.objects.get(owner=ben, title="Roof")
    assert [row.content for row in roof.messages.order_by("id")][-1] == "Ludo comes on Monday"
    assert bring(ben, exported(ada, tmp_path)).added["more"] == 0


def test_the_program_that_holds_a_chat_is_named_on_the_next_machine_too(ada, ben, tmp_path, bring):
    session = Session.objects.create(owner=ada, title="By phone", via="Phone")
    Message.objects.create(session=session, type="user", content="Hello")
    bring(ben, exported(ada, tmp_path))
    assert Session.objects.get(owner=ben).via == "Phone"


def test_undoing_takes_back_by_which_names_a_chat_was_known(ada, ben, tmp_path, bring, monkeypatch):
    lived(ada, tmp_path, bring)
    import_ = bring(ben, exported(ada, tmp_path))
    kept = Session.objects.get(owner=ben, title="Roof")
    Message.objects.create(session=kept, type="user", content="I go on here")
    monkeypatch.setattr("connect.importing.uploads.async_task", lambda *args: None)
    uploads.undo(import_)
    work.undo(import_)
    assert import_.kept == ["1 chat you went on with stay."]
    assert bring(ben, tmp_path / "a.zip").added["chats"] == 1


def test_chats_keep_their_names_where_nobody_has_them(ada, tmp_path, bring):
    session = lived(ada, tmp_path, bring)
    path = exported(ada, tmp_path)
    kept = str(session.id)
    Session.objects.all().delete()
    carol = User.objects.create_user("carol")
    bring(carol, path)
    assert str(Session.objects.get(owner=carol, title="Roof").id) == kept


def test_a_changed_file_is_noticed_and_left_out(ada, ben, tmp_path, bring):
    lived(ada, tmp_path, bring)
    path = exported(ada, tmp_path)
    changed = tmp_path / "changed.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b"Biscuit", b"Whiskey") if name.endswith("MEMORY.md") else data)
    import_ = bring(ben, changed)
    assert {
        "what": "memory/MEMORY.md",
        "why": "It was changed after the export: its checksum is another.",
    } in (import_.added["skipped"])
    assert "Whiskey" not in MemoryManager(ben).read_long_term_memory()


def test_undoing_it_takes_back_what_stays_forgotten_too(ada, ben, tmp_path, bring, monkeypatch):
    lived(ada, tmp_path, bring)
    import_ = bring(ben, exported(ada, tmp_path))
    monkeypatch.setattr("connect.importing.uploads.async_task", lambda *args: None)
    uploads.undo(import_)
    work.undo(import_)
    assert import_.status == Import.Status.UNDONE
    assert not Session.objects.filter(owner=ben).exists()
    assert MemoryManager(ben).read_long_term_memory().strip() == ""
    assert MemoryManager(ben).files.list_daily_log_dates() == []
    assert not MemoryManager(ben).was_forgotten("Ada's middle name is Hortensia")


def test_the_history_comes_with_its_writers_and_dates(ada, ben, tmp_path, bring):
    lived(ada, tmp_path, bring)
    Revision.objects.filter(owner=ada).update(created_at=datetime(2026, 2, 3, 4, tzinfo=UTC))
    bring(ben, exported(ada, tmp_path))
    theirs = list(Revision.objects.filter(owner=ben).order_by("id"))
    mine = list(Revision.objects.filter(owner=ada).order_by("id"))
    assert len(theirs) == len(mine) + 1
    for there, here in zip(theirs, mine, strict=False):
        assert (there.author, there.reason, there.before, there.after, there.created_at) == (
            here.author,
            here.reason,
            here.before,
            here.after,
            here.created_at,
        )
        assert there.writer == f"{here.writer} (imported)"
    assert theirs[-1].reason == "Imported from OneClaw"
    # The file is what the latest change left: nobody seems to have written it from outside.
    manager = MemoryManager(ben)
    manager.save_to_long_term_memory("Sails on Sundays", "profile")
    assert not Revision.objects.filter(owner=ben, author=Revision.Author.OUTSIDE).exists()
    # And one of the changes that came can be undone by itself.
    beagle = next(each for each in theirs if "Biscuit" in each.after and "Biscuit" not in each.before)
    manager.undo(beagle.pk)
    text = manager.read_long_term_memory()
    assert "Biscuit" not in text
    assert "Sails on Sundays" in text
    assert len(text) > 50


def test_a_history_comes_once_and_goes_on(ada, ben, tmp_path, bring):
    lived(ada, tmp_path, bring)
    bring(ben, exported(ada, tmp_path))
    count = Revision.objects.filter(owner=ben).count()
    again = bring(ben, exported(ada, tmp_path))
    assert (again.added["changes"], again.added["skipped"]) == (0, [])
    assert Revision.objects.filter(owner=ben).count() == count
    eve = User.objects.create_user("eve")
    bring(eve, exported(ben, tmp_path))
    writers = {each.writer for each in Revision.objects.filter(owner=eve)}
    assert not any("(imported) (imported)" in writer for writer in writers)


def test_two_histories_are_not_made_one(ada, ben, tmp_path, bring):
    lived(ada, tmp_path, bring)
    MemoryManager(ben).save_to_long_term_memory("Sails on Sundays", "profile")
    import_ = bring(ben, exported(ada, tmp_path))
    assert import_.plan["changes"] == import_.added["changes"] == 0
    assert "History of MEMORY.md" in [each["what"] for each in import_.added["skipped"]]
    assert Revision.objects.filter(owner=ben).count() == 2
    assert "Biscuit" in MemoryManager(ben).read_long_term_memory()


def test_a_killed_import_still_brings_the_history(ada, ben, tmp_path, bring, monkeypatch):
    lived(ada, tmp_path, bring)
    path = exported(ada, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(History, "bring", lambda *args: 1 / 0)
        import_ = bring(ben, path)
    assert import_.status == Import.Status.FAILED
    Import.objects.filter(pk=import_.pk).update(status=Import.Status.RUNNING)
    assert work.take_in(import_, path)
    assert import_.status == Import.Status.DONE
    assert (
        Revision.objects.filter(owner=ben, by__endswith="(imported)").count() == import_.added["changes"] > 0
    )


def test_what_was_forgotten_is_not_in_the_history_that_leaves(ada, tmp_path, bring):
    lived(ada, tmp_path, bring)
    manager = MemoryManager(ada)
    manager.save_to_long_term_memory("Sings in the choir of Saint Quentin", "profile")
    _, revision = manager.long_term.correct("Sings in the choir of Saint Quentin", "")
    manager.keep_forgotten(["Sings in the choir of Saint Quentin"], revision)
    assert Revision.objects.filter(owner=ada, after__contains="Quentin").exists()
    with zipfile.ZipFile(exported(ada, tmp_path)) as whole:
        assert not any(b"Quentin" in whole.read(name) for name in whole.namelist())
        assert b"Biscuit" in whole.read("memory/revisions.jsonl")


def test_agents_come_along(ada, ben, tmp_path, bring, make_provider):
    session = lived(ada, tmp_path, bring)
    model = make_provider()
    pirate = Agent.objects.create(
        owner=ada, name="Pirate", prompt="Speak as one.", model=model, temperature=0.3, writes_memory=False
    )
    Agent.objects.create(owner=ada, name="Cook", prompt="Only vegetables.")
    Agent.objects.create(owner=ben, name="Cook", prompt="Meat.")
    Session.objects.filter(pk=session.pk).update(agent=pirate)
    import_ = bring(ben, exported(ada, tmp_path))
    assert import_.plan["agents"] == import_.added["agents"] == 1
    came = Agent.objects.get(owner=ben, name="Pirate")
    assert (came.prompt, came.model, came.temperature, came.reads_memory, came.writes_memory) == (
        *("Speak as one.", model, 0.3, True, False),
    )
    assert Session.objects.get(owner=ben, title="Roof").agent == came
    assert Agent.objects.get(owner=ben, name="Cook").prompt == "Meat."
    assert bring(ben, exported(ada, tmp_path)).added["agents"] == 0


def test_undoing_takes_back_history_and_agents(ada, ben, tmp_path, bring, monkeypatch):
    lived(ada, tmp_path, bring)
    for name in ("Pirate", "Cook"):
        Agent.objects.create(owner=ada, name=name)
    import_ = bring(ben, exported(ada, tmp_path))
    Session.objects.create(owner=ben, agent=Agent.objects.get(owner=ben, name="Cook"))
    monkeypatch.setattr("connect.importing.uploads.async_task", lambda *args: None)
    uploads.undo(import_)
    work.undo(import_)
    assert import_.kept == ["Chats use these agents, so they stay: Cook."]
    assert [agent.name for agent in Agent.objects.filter(owner=ben)] == ["Cook"]
    assert not Revision.objects.filter(owner=ben, by__endswith="(imported)").exists()
    assert MemoryManager(ben).read_long_term_memory().strip() == ""


def test_the_command_exports_and_imports(ada, ben, tmp_path, bring, capsys):
    lived(ada, tmp_path, bring)
    path = tmp_path / "out" / "mine.zip"
    capsys.readouterr()
    call_command("memory", "export", str(path), "--user", "ada", "--json")
    assert json.loads(capsys.readouterr().out)["chats"] == 2
    assert path.stat().st_mode & 0o777 == 0o600
    call_command("memory", "import", str(path), "--user", "ben", "--dry-run", "--json")
    assert json.loads(capsys.readouterr().out)["plan"]["chats"] == 2
    assert not Session.objects.filter(owner=ben).exists()
    call_command("memory", "import", str(path), "--user", "ben")
    assert "Imported 2 chats" in capsys.readouterr().out


@pytest.mark.django_db(transaction=True)
def test_it_is_one_moment_though_others_write_meanwhile(ada, tmp_path, bring):
    lived(ada, tmp_path, bring)

    def meanwhile(done: int, total: int) -> None:
        if done == 1:
            _write_elsewhere(ada)

    path = tmp_path / "mine.zip"
    archive.write(ada, path, meanwhile)
    with zipfile.ZipFile(path) as whole:
        texts = b"".join(whole.read(name) for name in whole.namelist())
    assert b"said while it was exported" not in texts
    assert Message.objects.filter(content="said while it was exported").exists()


def _write_elsewhere(user: User) -> None:
    from threading import Thread

    from django.db import connection

    def write() -> None:
        session = Session.objects.filter(owner=user).latest("created_at", "id")
        Message.objects.create(session=session, type="user", content="said while it was exported")
        connection.close()

    thread = Thread(target=write)
    thread.start()
    thread.join(60)
