"""Dates and relative times in questions, in six languages: understood where named, never invented."""

from datetime import date

import pytest

from memory.search.times import BONUS, LONGEST, Times, times_of

# A Wednesday.
TODAY = date(2026, 5, 20)


def spans(question: str, today: date = TODAY) -> list[tuple[str, str]]:
    found = times_of(question, today).periods
    return [(period.first.isoformat(), period.last.isoformat()) for period in found]


def one(day: str) -> list[tuple[str, str]]:
    return [(day, day)]


LAST_WEEK = [("2026-05-11", "2026-05-19")]
LAST_MONTH = [("2026-04-01", "2026-04-30")]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did we talk about yesterday?", one("2026-05-19")),
        ("what happened the day before yesterday", one("2026-05-18")),
        ("what did we do today?", one("2026-05-20")),
        ("What did we discuss last week?", LAST_WEEK),
        ("What did we discuss last month?", LAST_MONTH),
        ("What did we talk about on Monday?", one("2026-05-18")),
        ("What did we talk about on Wednesday?", one("2026-05-13")),
        ("what was it on Monday last week?", one("2026-05-11")),
        ("what did we do last weekend?", [("2026-05-16", "2026-05-17")]),
        ("three days ago", one("2026-05-17")),
        ("What did we talk about 10 days ago?", one("2026-05-10")),
        ("What did we talk about two weeks ago?", [("2026-05-04", "2026-05-10")]),
        ("What happened a couple of days ago?", one("2026-05-18")),
        ("what did we say in the last three days?", [("2026-05-17", "2026-05-20")]),
        ("What happened in May?", [("2026-05-01", "2026-05-31")]),
        ("What happened in June?", [("2025-06-01", "2025-06-30")]),
        ("What did Mia do in March 2024?", [("2024-03-01", "2024-03-31")]),
        ("on 3 May 2026", one("2026-05-03")),
        ("on May 3rd, 2026?", one("2026-05-03")),
        ("on the 3rd of May", one("2026-05-03")),
        ("what did we note on 2026-05-03?", one("2026-05-03")),
        ("What was said on 25 December?", one("2025-12-25")),
        ("What happened in 2023?", [("2023-01-01", "2023-12-31")]),
        ("What did we talk about last spring?", [("2025-03-01", "2025-05-31")]),
        ("What did we do last winter?", [("2025-12-01", "2026-02-28")]),
        ("What did we do last summer?", [("2025-06-01", "2025-08-31")]),
        ("What have we done this spring?", [("2026-03-01", "2026-05-31")]),
        ("What happened in the fall of 2024?", [("2024-09-01", "2024-11-30")]),
        ("What happened in winter 2023/24?", [("2023-12-01", "2024-02-29")]),
        ("What did we do in the spring of last year?", [("2025-03-01", "2025-05-31")]),
        ("What did we do in summer?", [("2025-06-01", "2025-08-31")]),
        ("Was haben wir letzten Frühling besprochen?", [("2025-03-01", "2025-05-31")]),
        ("Was war im Sommer 2024 los?", [("2024-06-01", "2024-08-31")]),
        ("¿De qué hablamos la primavera pasada?", [("2025-03-01", "2025-05-31")]),
        ("¿Qué hicimos en el verano de 2024?", [("2024-06-01", "2024-08-31")]),
        ("De quoi avons-nous parlé l'été dernier ?", [("2025-06-01", "2025-08-31")]),
        ("Qu'avons-nous fait au printemps 2024 ?", [("2024-03-01", "2024-05-31")]),
        ("去年春天我们聊了什么？", [("2025-03-01", "2025-05-31")]),
        ("2024年夏天我们聊了什么？", [("2024-06-01", "2024-08-31")]),
        ("去年の春に何を話しましたか", [("2025-03-01", "2025-05-31")]),
        ("2024年の秋に何をした？", [("2024-09-01", "2024-11-30")]),
        ("Worüber haben wir gestern gesprochen?", one("2026-05-19")),
        ("Was haben wir letzte Woche besprochen?", LAST_WEEK),
        ("Was war vor drei Tagen?", one("2026-05-17")),
        ("Was haben wir am Montag gemacht?", one("2026-05-18")),
        ("Was war am 3. Mai 2026?", one("2026-05-03")),
        ("Was war am 03.05.2026 los?", one("2026-05-03")),
        ("Was ist im März passiert?", [("2026-03-01", "2026-03-31")]),
        ("gestern?", one("2026-05-19")),
        ("¿De qué hablamos ayer?", one("2026-05-19")),
        ("¿Qué hicimos la semana pasada?", LAST_WEEK),
        ("¿Qué hicimos hace tres días?", one("2026-05-17")),
        ("¿Qué pasó el lunes?", one("2026-05-18")),
        ("¿Qué hicimos el 3 de mayo de 2026?", one("2026-05-03")),
        ("¿Qué pasó en mayo?", [("2026-05-01", "2026-05-31")]),
        ("De quoi avons-nous parlé hier ?", one("2026-05-19")),
        ("Qu'avons-nous fait la semaine dernière ?", LAST_WEEK),
        ("Qu'est-ce qu'on a fait il y a trois jours ?", one("2026-05-17")),
        ("Qu'a-t-on dit lundi dernier ?", one("2026-05-18")),
        ("De quoi avons-nous parlé le 3 mai 2026 ?", one("2026-05-03")),
        ("Que s'est-il passé en août ?", [("2025-08-01", "2025-08-31")]),
        ("我们昨天聊了什么？", one("2026-05-19")),
        ("上周我们讨论了什么？", LAST_WEEK),
        ("三天前我们聊了什么？", one("2026-05-17")),
        ("周一我们说了什么？", one("2026-05-18")),
        ("上周一我们说了什么？", one("2026-05-11")),
        ("2026年5月3日我们聊了什么？", one("2026-05-03")),
        ("五月发生了什么？", [("2026-05-01", "2026-05-31")]),
        ("上个月我们做了什么？", LAST_MONTH),
        ("昨日は何を話しましたか？", one("2026-05-19")),
        ("先週は何を話しましたか？", LAST_WEEK),
        ("3日前に何を話しましたか？", one("2026-05-17")),
        ("月曜日に何を話しましたか？", one("2026-05-18")),
        ("先週の月曜日は？", one("2026-05-11")),
        ("2026年5月3日に何を話しましたか？", one("2026-05-03")),
        ("先月は何をしましたか？", LAST_MONTH),
    ],
)
def test_a_named_time_is_understood(question: str, expected: list[tuple[str, str]]):
    assert spans(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "may I ask you something?",
        "You may go on; this may take a second",
        "May the force be with you",
        "They march on and on",
        "the second one",
        "give me a minute",
        "What is the next Monday holiday?",
        "I run every Monday",
        "What will we do tomorrow or next week?",
        "Version 3.11.7 of 10.0.0.1",
        "17 * 23 = 391 at 12:30",
        "Call 2026 people",
        "Was steht hier?",
        "Los lunes trabajo",
        "Mars est une planète",
        "Ich komme nächsten Montag",
        "2026-13-45",
        "",
    ],
)
def test_no_time_is_invented(question: str):
    assert times_of(question, TODAY).periods == ()


@pytest.mark.parametrize(
    "question",
    [
        "What did we talk about yesterday?",
        "Where did we leave off yesterday?",
        "summarise last week",
        "what happened on 3 May 2026?",
        "and yesterday?",
        "What did we do on 2026-05-03?",
        "Where did we leave off?",
        "what did we discuss last time?",
        "Worüber haben wir gestern gesprochen?",
        "Wo haben wir aufgehört?",
        "¿De qué hablamos ayer?",
        "¿Dónde lo dejamos?",
        "De quoi avons-nous parlé hier ?",
        "Où en étions-nous ?",
        "我们昨天聊了什么？",
        "我们上次说到哪了？",
        "昨日は何を話しましたか？",
        "前回はどこまで話しましたか？",
    ],
)
def test_a_question_for_a_time_asks_for_nothing_else(question: str):
    assert times_of(question, TODAY).asks_for_a_time


@pytest.mark.parametrize(
    "question",
    [
        "What did Mia cook yesterday?",
        "Which book did we read last week?",
        "When was the last time I saw Tom?",
        "What happened in 2023?",
        "Was hat Mia gestern gekocht?",
        "昨天米娅做了什么菜？",
        "昨日のカレーの作り方は？",
        "What did we talk about?",
        "hello",
    ],
)
def test_a_question_with_a_subject_asks_for_more_than_a_time(question: str):
    assert not times_of(question, TODAY).asks_for_a_time


def test_where_we_left_off_is_the_last_time_whenever_it_was():
    for question in (
        "Where did we leave off?",
        "Wo waren wir?",
        "¿Dónde nos quedamos?",
        "前回は？",
        "上次呢？",
    ):
        found = times_of(question, TODAY)
        assert (found.left_off, found.periods) == (True, ()), question


def test_a_day_gains_most_then_a_month_then_a_year():
    day, month, year = (times_of(text, TODAY) for text in ("on 3 May 2024", "in May 2024", "in 2024"))
    assert day.bonus(date(2024, 5, 3)) == BONUS["day"] == 0.20
    assert day.bonus(date(2024, 5, 4)) == 0
    assert month.bonus(date(2024, 5, 4)) == 0.10
    assert month.bonus(date(2023, 5, 4)) == 0
    assert year.bonus(date(2024, 12, 31)) == 0.03
    assert year.bonus(None) == 0
    # Without a year, it may have been another one.
    assert times_of("in May", TODAY).bonus(date(2023, 5, 4)) == 0.10
    assert times_of("on 3 May", TODAY).bonus(date(2023, 5, 3)) == 0.20


def test_the_first_of_january_and_leap_days():
    assert spans("yesterday", date(2026, 1, 1)) == one("2025-12-31")
    assert spans("last month", date(2026, 1, 31)) == [("2025-12-01", "2025-12-31")]
    assert spans("on 29 February", date(2024, 3, 1)) == one("2024-02-29")
    # A day that was not names its month.
    assert spans("on 29 February", date(2026, 3, 1)) == [("2026-02-01", "2026-02-28")]


def test_a_long_text_names_no_time():
    assert times_of("What did we do yesterday? " + "x " * LONGEST, TODAY) == Times()


@pytest.mark.parametrize(
    "question",
    [
        "How do I configure beans in Spring?",
        "What is new in Spring Boot?",
        "After the fall my knee hurts",
        "Do prices fall?",
        "Which springs are in the mattress?",
        # It is still to come: memory has nothing of it.
        "What will we do this summer?",
        "Que ferons-nous cet été ?",
        "As-tu été malade ?",
        "Winterreifen kaufen",
    ],
)
def test_what_only_looks_like_a_season(question: str) -> None:
    assert spans(question) == []


def test_a_season_without_a_year_is_also_that_of_other_years() -> None:
    found = times_of("What did we do in winter?", TODAY)
    assert found.bonus(date(2022, 1, 31)) == found.bonus(date(2022, 12, 1)) == BONUS["season"]
    assert found.bonus(date(2022, 3, 1)) == 0
    assert not times_of("What did we do last winter?", TODAY).bonus(date(2022, 1, 31))


@pytest.mark.parametrize(
    ("today", "first"),
    [("2026-05-31", "2025-03-01"), ("2026-06-01", "2026-03-01"), ("2026-02-01", "2025-03-01")],
)
def test_the_last_season_is_one_that_is_over(today: str, first: str) -> None:
    assert spans("last spring", date.fromisoformat(today))[0][0] == first


def test_a_season_at_the_end_of_time_is_none() -> None:
    assert spans("winter of 9999") == spans("spring of 0000") == []
