"""Terms in every script: what is the same word, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.index.terms import MAX_QUERY_TERMS, MAX_TERM, query_terms, terms


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("She painted two paintings.", "painting"),
        ("Caroline's cat", "CAROLINE"),
        ("le café crème", "cafe"),
        ("ＦＵＬＬＷＩＤＴＨ ﬁnd", "fullwidth find"),
        ("Straße", "STRASSE"),
        ("ёлка и чай", "елка"),
        ("كِتَابٌ", "كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("我的猫很可爱", "可爱"),
        ("我的猫很可爱", "猫"),
        ("東京タワーへ行った", "タワー"),
        ("고양이를 좋아해요", "고양이"),
        ("हिन्दी सीख रहा हूँ", "हिन्दी"),
        ("ภาษาไทยง่าย", "ไทย"),
        ("We won 🎉", "🎉"),
        ("thumbs 👍🏽 up", "👍"),
        ("iPhone手机", "手机"),
    ],
)
def test_what_is_asked_is_found_in_what_was_written(written: str, asked: str):
    assert query_terms(asked)
    assert set(query_terms(asked)) <= set(terms(written))


@pytest.mark.parametrize("text", ["", "   ", "?!…—", "the and of what did you do", "don't I'm it's", "___"])
def test_what_says_nothing_has_no_terms(text: str):
    assert terms(text) == []


def test_repetitions_count_in_a_document_and_not_in_a_question():
    assert terms("cat cats CAT") == ["cat"] * 3
    assert query_terms("cat cats CAT") == ["cat"]


def test_voicing_marks_of_kana_tell_words_apart():
    assert not set(terms("かき")) & set(terms("がぎ"))


def test_runs_without_spaces_are_cut_into_overlapping_pairs():
    assert query_terms("可爱猫") == ["可爱", "爱猫"]


def test_long_words_and_long_questions_are_bounded():
    assert len(terms("a" * 5000)[0]) == MAX_TERM
    assert len(query_terms(" ".join(f"w{n}" for n in range(2000)))) == MAX_QUERY_TERMS


@given(st.text())
def test_any_text_has_terms_that_full_text_can_hold(text: str):
    for term in terms(text):
        assert term
        assert not any(letter.isspace() or letter in "\"'_*" for letter in term)
    assert set(query_terms(text)) <= set(terms(text))
