"""Text of every script: what counts as the same, and where words begin and end."""

import pytest

from oneclaw.text import WORD, fold, is_paired, is_unspaced, tokens, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CAFÉ", "cafe"),
        ("Straße", "STRASSE"),
        ("ﬁne", "fine"),
        ("Ёлка", "елка"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("ｶﾞ", "ガ"),
        ("don’t", "DON'T"),
        ("한국", "한국"),
    ],
)
def test_spellings_of_one_word_are_folded_together(one: str, other: str):
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("が", "か"), ("पानी", "पान"), ("tea", "tee")])
def test_letters_that_tell_words_apart_stay(one: str, other: str):
    assert fold(one) != fold(other)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It's snake_case, isn't it?", ["it's", "snake", "case", "isn't", "it"]),
        ("東京の橋 and 茶", ["東京", "京の", "の橋", "and", "茶"]),
        ("한강의 다리", ["한강", "강의", "다리"]),
        ("पुल बहुत लंबा", ["पुल", "बहुत", "लंबा"]),
        ("go 🎉 go", ["go", "go"]),
        ("…—?!", []),
    ],
)
def test_words_are_what_a_reader_would_call_words(text: str, found: list[str]):
    assert words(text) == found


def test_an_emoji_is_a_token_but_no_word():
    assert list(tokens("tea 🎉 茶")) == [("word", "tea"), ("emoji", "🎉"), ("run", "茶")]


def test_korean_is_cut_into_pairs_though_it_has_spaces():
    assert is_paired("다리")
    assert not is_unspaced("다리")
    assert is_paired("橋")
    assert is_unspaced("橋")
    assert not is_paired("bridge")
    assert not is_paired("")


def test_words_in_unfolded_text_hold_their_marks():
    text = "cafe\u0301 שָׁלוֹם สะพาน snake_case"
    assert WORD.findall(text) == ["cafe\u0301", "שָׁלוֹם", "สะพาน", "snake", "case"]
