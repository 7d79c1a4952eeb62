"""Prompts: data that can't leave its frame, pieces that fit the model, answers out of their fence."""

from datetime import date

import pytest

from memory.prompts import SMALLEST_PIECE, framed, piece_limit, prompt, unfenced


def test_the_frame_can_not_be_closed_from_inside():
    first = framed("x")
    second = framed(first["end"])
    assert second["end"] not in second["text"]
    assert first["begin"] != second["begin"]


def test_the_prompt_holds_the_text_unescaped_between_its_marks():
    frame = framed("[User]\n> <b>&amp; {{ x }}</b>")
    text = prompt("summary", day=date(2026, 2, 28), part=2, part_count=3, **frame)
    assert "> <b>&amp; {{ x }}</b>" in text
    assert text.index(frame["begin"]) < text.index("<b>") < text.index(frame["end"])
    assert "part 2 of 3" in text
    assert "from Saturday, 2026-02-28." in text
    assert "## Daily Summary" in text
    assert "## Long-term Facts" in text


@pytest.mark.parametrize(
    "answer", ["```markdown\n- a\n- b\n```", "~~~\n- a\n- b\n~~~\n", "```\r\n- a\r\n- b", "- a\n- b\n"]
)
def test_an_answer_is_taken_out_of_its_fence(answer: str):
    assert unfenced(answer) == "- a\n- b"


def test_a_piece_fits_the_models_window():
    assert piece_limit(None, most=24_000) == piece_limit(128_000, most=24_000) == 24_000
    # A third of the window is the answer's, 1,300 tokens the instruction's.
    assert piece_limit(4_096, most=24_000) == (4_096 - 4_096 // 3 - 1_300) * 3
    assert piece_limit(512, most=24_000) == SMALLEST_PIECE
