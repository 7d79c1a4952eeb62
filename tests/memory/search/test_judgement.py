"""Silence: what memory can't help with brings nothing, with vectors and without, in every language."""

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest
from django.db import DatabaseError, connections
from django.test import Client

from chat.models import Session
from memory import embedding
from memory.manager import MemoryManager
from memory.search import engine as search_engine
from memory.search import judgement
from memory.search.engine import HybridSearchEngine
from memory.search.languages import Subject, language_of, named, subject_of
from memory.search.question import understood
from memory.tools import handlers
from oneclaw.text import fold
from oneclaw.toolkit import ToolContext
from people.models import User

LOG = """- Mia adopted a grey cat called Miso from the shelter
- Bought a used Skoda and sold the old bicycle
- Talked about the trip to Lisbon with Tom in spring
- The dentist in Graz moved the appointment to nine
- Learns the violin with Eva on Mondays
- Prefers green tea to coffee in the morning"""
IDLE = [
    "hi",
    "Thank you so much!",
    "what is 17 * 23?",
    "translate 'good night' into Italian",
    "who wrote Hamlet?",
    "how do I reverse a list in Python?",
    "go on",
    "ok",
    "Guten Morgen!",
    "merci beaucoup",
    "你好",
    "ありがとう",
]
ANSWERED = [
    ("What is Mia's cat called?", "Miso"),
    ("which car did I buy?", "Skoda"),
    ("who is teaching me the violin?", "Eva"),
    ("what do I like to drink in the morning?", "green tea"),
    ("dentist", "Graz"),
]


@pytest.fixture
def memory(ada: User) -> MemoryManager:
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-01-05", LOG)
    manager.rebuild_index()
    return manager


@pytest.mark.django_db
@pytest.mark.parametrize("message", IDLE)
def test_an_idle_message_finds_nothing(memory: MemoryManager, message: str):
    assert memory.search_memory(message) == []
    assert "Relevant Memories" not in memory.get_injection_content(message)


@pytest.mark.django_db
@pytest.mark.parametrize(("question", "words"), ANSWERED)
def test_what_memory_knows_is_found(memory: MemoryManager, question: str, words: str):
    assert words in memory.search_memory(question)[0].chunk_text
    assert words in memory.get_injection_content(question)


@pytest.mark.django_db
def test_without_judgement_the_nearest_come_however_poor(memory: MemoryManager):
    hits = memory.search_memory("who wrote Hamlet?", judged=False)
    assert len(hits) == 5
    assert hits[0].vector_score == pytest.approx(1)
    assert hits[0].match < 0.4


@pytest.mark.django_db
def test_without_vectors_words_decide(memory: MemoryManager, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embedding.EmbeddingEngine, "is_available", lambda self: False)
    assert "Miso" in memory.search_memory("What is Mia's cat called?")[0].chunk_text
    assert "Skoda" in memory.search_memory("when did I get the Skoda?")[0].chunk_text
    for message in IDLE:
        assert memory.search_memory(message) == [], message
    assert memory.search_memory("What did Caroline tell Melanie about the pottery class?") == []


@pytest.mark.django_db
def test_without_the_index_words_of_the_files_decide(memory: MemoryManager, monkeypatch: pytest.MonkeyPatch):
    def broken(*args: Any) -> None:
        raise DatabaseError("no such table")

    monkeypatch.setattr(HybridSearchEngine, "_search", broken)
    monkeypatch.setattr(search_engine, "mend", lambda: None)
    (hit,) = memory.search_memory("What is Mia's cat called?")
    assert "Miso" in hit.chunk_text
    assert hit.match > 0.35
    assert memory.search_memory("who wrote Hamlet?") == []
    assert len(memory.search_memory("what does Tom eat in spring?", judged=False)) >= 1


@pytest.mark.django_db
def test_without_sqlite_vec_it_is_as_silent(memory: MemoryManager, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections["default"], "has_vectors", False)
    monkeypatch.setattr(search_engine, "WHOLE", 0)
    monkeypatch.setattr(search_engine, "WHOLE_A_RESULT", 0)
    assert "Miso" in memory.search_memory("What is Mia's cat called?")[0].chunk_text
    assert memory.search_memory("who wrote Hamlet?") == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("log", "question", "idle"),
    [
        ("用户养了一只名叫豆豆的狗\n- 用户喜欢喝绿茶", "我的狗叫什么名字？", "法国的首都是哪里？"),
        ("ポチという犬を飼っている\n- カレーが好き", "犬を飼っていますか？", "こんにちは、元気ですか？"),
        ("У Миши живёт серая кошка\n- Пьёт зелёный чай", "Какого цвета кошка?", "Столица Франции?"),
        ("고양이는 소파에서 자요\n- 녹차를 좋아해요", "고양이는 어디에서 자요?", "프랑스의 수도는 어디예요?"),
        (
            "Hat einen Beagle namens Waldo\n- Wohnt in Graz",
            "Was frisst der Beagle?",
            "Was ist die Hauptstadt von Peru?",
        ),
    ],
)
def test_in_other_languages_words_decide(ada: User, log: str, question: str, idle: str):
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log("2026-01-05", f"- {log}")
    assert manager.search_memory(question)[0].chunk_text == log.partition("\n")[0]
    assert manager.search_memory(idle) == []


@pytest.mark.django_db
def test_a_follow_up_is_judged_with_the_message_before_it(memory: MemoryManager):
    assert memory.search_memory("and what is it called?") == []
    before = "Which animal did Mia adopt from the shelter?"
    assert "Miso" in memory.search_memory("and what is it called?", previous=before)[0].chunk_text
    assert "Miso" in memory.inject("and when?", previous=before).text
    assert memory.search_memory("and in binary?", previous="what is 17 * 23?") == []
    assert memory.search_memory("Thanks!", previous=before) == []
    # A message that says what it is about is judged by itself.
    assert memory.search_memory("who wrote the play Hamlet?", previous=before) == []


@pytest.mark.django_db
def test_page_and_tool_say_that_nothing_matches(memory: MemoryManager, client: Client):
    client.force_login(memory.user)
    page = client.get("/memory/search/", {"q": "who wrote Hamlet?"}).content.decode()
    assert "Nothing in memory matches" in page
    page = client.get("/memory/search/", {"q": "Which car did I choose and buy?"}).content.decode()
    assert "Skoda" in page
    assert "1.000" not in page
    chat = Session.objects.create(owner=memory.user)
    context = ToolContext(user=memory.user, session_id=chat.id)
    assert (
        handlers.search_memory(context, {"query": "who wrote Hamlet?"}).content
        == "Nothing in memory matches."
    )


def test_what_must_be_reached_grows_with_the_memory_and_with_words_it_never_heard():
    subject = subject_of("Where did Caroline buy the vase?")
    assert subject.terms == ("carolin", "buy", "vase")

    def least(chunks: int, *known: str) -> float:
        holding = dict.fromkeys(known, 1)
        return judgement.near_enough(subject, judgement.weights(subject, holding, chunks))

    all_known = [least(chunks, *subject.terms) for chunks in (10, 1000, 100_000, 10**6)]
    assert all_known == pytest.approx([0.34, 0.46, 0.5, 0.5])
    assert least(1000) == pytest.approx(0.61)
    assert least(10) == pytest.approx(0.34 + 0.15 / 3)
    assert 0.46 < least(1000, "buy") < 0.61


def test_a_name_that_memory_never_heard_asks_for_more():
    question = "Where did Caroline buy the vase?"
    subject = named(subject_of(question), question)
    assert subject.names == ("carolin",)

    def least(*known: str) -> float:
        nameless, holding = replace(subject, names=()), dict.fromkeys(known, 1)
        one, other = (
            judgement.near_enough(each, judgement.weights(each, holding, 1000))
            for each in (subject, nameless)
        )
        return one - other

    assert least("buy", "vase") == pytest.approx(0.03)
    assert least("carolin") == 0


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What did Tom and Mia buy, Raj?", ("tom", "mia", "raj")),
        ("Caroline went where?", ()),
        ("where did caroline go?", ()),
        ("How do I go there? Then I left", ()),
        ("x" * 3000 + " Tom", ()),
    ],
)
def test_names_are_words_with_a_capital_inside_a_sentence(text: str, names: tuple[str, ...]):
    assert named(subject_of(text), text).names == names


@pytest.mark.parametrize(
    ("text", "personal"),
    [
        ("What is my daughter learning?", True),
        ("Where did we go?", True),
        ("Who painted the Mona Lisa?", False),
        ("Can you make it shorter?", False),
        ("Welches Haustier habe ich?", True),
        ("Erkläre mir die Relativitätstheorie", False),
        ("¿Qué deporte practica mi hijo?", True),
        ("¿Cuál es la capital de Perú?", False),
        ("Où habitons-nous ?", True),
        ("我养了什么宠物？", True),
        ("法国的首都是哪里？", False),
        ("私の犬の名前は？", True),
        ("モナリザを描いたのは誰？", False),
        ("Какое у меня домашнее животное?", True),
        ("Кто написал Гамлета?", False),
    ],
)
def test_a_message_is_about_the_one_who_asks_or_is_not(text: str, personal: bool):
    assert subject_of(text).is_personal is personal


def test_what_is_personal_is_heard_more_readily_by_the_second_model():
    weights = judgement.weights(Subject((), "de"), {}, 10)
    least = {
        (code, personal): judgement.near_by_second(Subject(("x",), code, is_personal=personal), weights)
        for code in ("de", "en")
        for personal in (True, False)
    }
    assert least["de", True] == least["en", True] == pytest.approx(0.13)
    assert (least["de", False], least["en", False]) == (pytest.approx(0.17), pytest.approx(0.20))


def test_a_hit_far_below_the_best_is_left_out():
    subject = Subject(("cat",), "en")
    weights = judgement.weights(subject, {"cat": 1}, 100)
    keep = judgement.worth_hearing(
        subject, weights, np.array([0.6, 0.3, 0.1, 0.1]), np.array([1.0, 0, 0, 1.0])
    )
    assert keep.tolist() == [True, True, False, True]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("What did we talk about?", "en"),
        ("Lisbon", "en"),
        ("Was haben wir besprochen?", "de"),
        ("¿De qué hablamos ayer?", "es"),
        ("De quoi avons-nous parlé ?", "fr"),
        ("我们聊了什么", "zh"),
        ("何を話しましたか", "ja"),
        ("Как зовут кошку?", ""),
        ("17 + 4", "en"),
    ],
)
def test_a_language_is_known_by_its_small_words(text: str, code: str):
    assert language_of(fold(text)) == code


def test_greetings_and_thanks_are_about_nothing():
    for text in ("Hello there!", "thank you so much", "Vielen Dank!", "谢谢你", "good morning"):
        subject = subject_of(text)
        assert (subject.terms, subject.is_courtesy) == ((), True), text
    assert not subject_of("and why?").is_courtesy
    assert subject_of("green tea").is_keywords
    assert not subject_of("the green tea").is_keywords


def test_a_question_with_a_subject_stands_alone():
    today = date(2026, 5, 20)
    assert understood("who wrote Hamlet?", today, "What about Mia?").text == "who wrote Hamlet?"
    assert understood("and Tom?", today, "What about Mia?").text == "What about Mia?\nand Tom?"
    assert understood("and Tom?", today).text == "and Tom?"
    assert understood("and yesterday?", today, "What about Mia?").text == "and yesterday?"
