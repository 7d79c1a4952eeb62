"""How alike entries are, by the real models: pairs that replace each other, and pairs that must not."""

import pytest

from memory.longterm.likeness import Likeness

likeness = Likeness()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Is single", "Married to Tom since June"),
        ("Is vegetarian", "Eats meat again"),
        ("Lives in Leeds", "Lives in York since May 2026"),
        ("Uses a MacBook", "Switched to a Linux laptop (Framework 13)"),
        ("每天喝三杯咖啡", "遵医嘱戒了咖啡，现在只喝茶"),
        ("Курит полпачки в день", "Бросил курить в декабре 2025"),
        ("Vive en Sevilla", "Se mudó a Madrid en mayo"),
        ("Ist allergisch gegen Erdnüsse", "Allergic to peanuts"),
        ("Lives in York", "住在约克"),
    ],
)
def test_a_fact_is_related_to_its_successor(old: str, new: str):
    assert likeness.related(old, new)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Allergic to peanuts", "Works days at York Hospital"),
        ("Lives in Leeds", "Has a beagle puppy called Biscuit"),
        ("Is vegetarian", "Thesis deadline is 15 January 2027"),
        ("Wohnt in Berlin und arbeitet als Tischlerin", "Trinkt keinen Alkohol"),
        ("在杭州做会计", "遵医嘱戒了咖啡，现在只喝茶"),
        ("Живёт в Белграде с женой Ириной", "Бросил курить в декабре"),
        ("ギターを習い始めた", "娘6歳、息子3歳がいる"),
        ("Allergic to peanuts", "Prefiere respuestas cortas"),
    ],
)
def test_unrelated_facts_do_not_stand_for_each_other(one: str, other: str):
    assert not likeness.related(one, other)


def test_pairs_are_found_by_meaning_and_by_the_same_words():
    entries = ["Likes dark mode in apps", "Sings", "Prefers dark mode in all apps", "in apps likes dark mode"]
    assert likeness.pairs(entries, 0.6) == [(0, 2), (0, 3), (2, 3)]
    assert likeness.pairs(["Allergic to peanuts", "Ist allergisch gegen Erdnüsse", "Sings"], 0.6) == [(0, 1)]
