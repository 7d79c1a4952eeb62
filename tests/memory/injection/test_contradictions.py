"""Which of two memories is outdated, and above all which are not."""

import pytest

from memory.injection.contradictions import Line, outdated
from tests.memory.injection.test_injector import build, chat, hit

CHANGED = [
    ("The user lives in Bonn", "The user moved to Oslo"),
    ("Lives in Bonn", "Lives in Oslo since March"),
    ("Her brother Tom lives in Bonn", "Her brother Tom moved to Oslo with his wife"),
    ("Works at Siemens", "The user works for a small bakery now"),
    ("The user's favourite colour is blue", "The user's favourite colour is green"),
    ("The deadline of the report is 3 May", "The deadline of the report was moved to 10 June"),
    ("Meeting with Eva is on Monday", "Meeting with Eva is now on Thursday"),
    ("Mia eats meat", "Mia no longer eats meat"),
    ("Likes strong coffee", "Doesn't like strong coffee any more"),
    ("Does not eat fish", "Eats fish again"),
    ("Wohnt in Bonn", "Ist nach Oslo gezogen"),
    ("Arbeitet bei Siemens", "Arbeitet jetzt als Bäcker"),
    ("Die Frist für den Bericht ist der 3. Mai", "Die Frist für den Bericht ist der 10. Juni"),
    ("Vive en Bonn", "Se mudó a Oslo"),
    ("Il travaille chez Siemens", "Il travaille comme boulanger"),
    ("我住在上海", "我搬到了北京"),
    ("東京に住んでいる", "大阪に引っ越した"),
]
BOTH_TRUE = [
    # Two trips, two meals, two purchases.
    ("Went on a trip to Lisbon", "Went on a trip to Rome"),
    ("Paid 30 euros for lunch", "Paid 40 euros for lunch"),
    ("Bought a red bicycle", "Bought a blue bicycle"),
    ("Visited Oslo in May", "Visited Rome in June"),
    # Two children, two friends, two brothers.
    ("Mia lives in Bonn", "Tom lives in Oslo"),
    ("Daughter Mia is six", "Daughter Lea is four"),
    ("Her brother Tom lives in Bonn", "Her sister Ann lives in Oslo"),
    ("The son's favourite colour is blue", "The daughter's favourite colour is green"),
    # Two things.
    ("The user's favourite colour is blue", "The user's favourite food is pasta"),
    ("The deadline of the report is 3 May", "The deadline of the tender is 10 June"),
    ("Meeting with Eva is on Monday", "Meeting with Raj is on Thursday"),
    # The same, more closely.
    ("Lives in Berlin", "Lives in Berlin Mitte"),
    ("Lives in Berlin", "Lives in Berlin with two cats"),
    # What happened on one day says nothing of another.
    ("Went to the gym", "Did not go to the gym"),
    ("Slept well", "Didn't sleep well"),
    ("Likes coffee and jazz", "Doesn't like tea"),
    ("Likes tea", "Likes coffee"),
    ("Does the user live in Bonn?", "Lives in Oslo"),
    ("Reiste nach Bonn", "Reiste nach Oslo"),
    ("Zwei Kinder: Mia und Tom", "Mia geht in die Schule"),
    ("我去了上海", "我去了北京"),
    ("東京に行った", "大阪に行った"),
]


def dated(older: str, newer: str):
    return [
        hit(older, 1.0, source_date="2026-01-05", source_key="a"),
        hit(newer, 0.9, source_date="2026-02-05", source_key="b"),
    ]


@pytest.mark.parametrize(("older", "newer"), CHANGED, ids=[newer for _, newer in CHANGED])
def test_of_two_that_cannot_both_hold_the_earlier_is_outdated(older: str, newer: str):
    assert outdated(dated(older, newer)) == {0: 1}


@pytest.mark.parametrize(("one", "other"), BOTH_TRUE, ids=[f"{a} / {b}" for a, b in BOTH_TRUE])
def test_what_may_be_true_side_by_side_is_left_alone(one: str, other: str):
    assert outdated(dated(one, other)) == {}
    assert outdated(dated(other, one)) == {}


def test_of_one_day_neither_is_older():
    same = [hit("Lives in Bonn", source_date="2026-01-05"), hit("Lives in Oslo", source_date="2026-01-05")]
    assert outdated(same) == {}


def test_only_logs_and_the_users_own_words_contradict():
    bonn = hit("Lives in Bonn", source_date="2026-01-05")
    for speaker, found in (("user", {0: 1}), ("assistant", {}), ("pasted", {}), ("played", {})):
        assert outdated([bonn, chat("I live in Oslo", speaker, source_date="2026-02-05")]) == found


def test_of_three_the_latest_holds():
    hits = [
        hit("Lives in Bonn", source_date="2026-01-05"),
        hit("Lives in Rome", source_date="2026-03-05"),
        hit("Lives in Oslo", source_date="2026-02-05"),
    ]
    assert outdated(hits) == {0: 1, 2: 1}


def test_long_and_strange_texts_state_nothing():
    assert Line.of("Lives in Bonn " + "and so on " * 50) is None
    for text in ("", "???", "\ud800", "是是是", "is is is is", "favourite favourite is", "Живёт в Бонне"):
        assert outdated(dated(text, text)) == {}


def test_in_the_block_the_newer_comes_first_and_the_older_says_so():
    text = build(hits=dated("The user lives in Bonn", "The user moved to Oslo")).variable
    assert text.index("- The user moved to Oslo") < text.index("- (older) The user lives in Bonn")
    assert "Lines marked (older) no longer hold" in text
    plain = build(hits=dated("Went on a trip to Lisbon", "Went on a trip to Rome")).variable
    assert "(older)" not in plain


def test_the_receipt_says_which_is_older():
    receipt = build(hits=dated("The user lives in Bonn", "The user moved to Oslo")).receipt
    assert [(line["text"], line["older"]) for line in receipt["memories"]] == [
        ("The user moved to Oslo", False),
        ("The user lives in Bonn", True),
    ]


def test_an_older_line_without_room_for_the_newer_is_still_marked():
    # What was found tells that it is outdated, even where the newer line did not fit.
    hits = dated("The user lives in Bonn", "The user moved to Oslo " + "far " * 50)
    text = build(hits=hits, budget=80).variable
    assert "(older) The user lives in Bonn" in text
