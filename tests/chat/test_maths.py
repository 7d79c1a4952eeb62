r"""Formulas: four ways to write one, prices that are none, broken ones that show their source."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chat import maths
from chat.markdown import Growing, render


@pytest.mark.parametrize(
    "text",
    [
        "$E=mc^2$",
        "before $x$ after",
        r"\(a_1 + a_2\)",
        r"\[ \frac{a}{b} \]",
        "$$\nx^2\n$$",
        "$$x^2$$",
        "> $$x^2$$",
        "- item $x$\n- other",
        "| a |\n|---|\n| $x$ |",
        "$2x = 4$",
        r"$\begin{pmatrix}1&2\\3&4\end{pmatrix}$",
        r"$\sqrt[3]{a<b} > \text{or so}$",
        r"$\underbrace{a \& b}_{\le 5\%} \xrightarrow[a]{f} \binom{n}{k}$",
        r"$\sum_{i=1}^n \hat x_i^2 + {}_a^b X + f'(x) + \lim_{x\to 0} \overline{x}$",
        "text\n$$\na=b\n$$\nmore text",
    ],
)
def test_a_formula_is_drawn(text: str) -> None:
    assert "<math" in render(text)


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "between $5-$10",
        "5$ here, 6$ there",
        "$ x $",
        r"\$5 and \$6",
        "`$x$`",
        "```\n$$x$$\n```",
        "US$ and A$",
        "$$",
        "$$\n\n$$",
        r"\(\)",
        "pay $20 or $30 today, $40 later",
    ],
)
def test_what_is_no_formula_stays_as_it_is(text: str) -> None:
    assert "<math" not in render(text)


def test_prices_keep_their_dollars() -> None:
    assert "It costs $5 and $10, or 7$ there." in render("It costs $5 and $10, or 7$ there.")


@pytest.mark.parametrize(
    "tex",
    [
        r"\frac{1",
        r"\frac{1}",
        r"\binom{n}",
        r"\overset{a}",
        r"\nosuchthing x",
        r"\left(",
        "x" * 3000,
        "{" * 900,
    ],
)
def test_a_formula_that_cant_be_drawn_shows_its_source(tex: str) -> None:
    shown = render(f"Look: ${tex}$ there")
    assert "<math" not in shown
    assert tex[:5] in shown


def test_the_source_is_inside_for_copying() -> None:
    assert '<annotation encoding="application/x-tex">e^{i\\pi}</annotation>' in render(r"$e^{i\pi}$")


@pytest.mark.parametrize(
    "tex",
    [r"\href{javascript:alert(1)}{x}", r"\text{<img src=x onerror=alert(1)>}", "<script>alert(1)</script>"],
)
def test_a_formula_brings_nothing_in(tex: str) -> None:
    shown = render(f"${tex}$")
    assert "javascript:" not in shown.split("<annotation")[0]
    assert "<img" not in shown
    assert "<script" not in shown


@pytest.mark.parametrize(
    "text",
    [
        r"$$\begin{aligned}a &= b \\ c &= d\end{aligned}$$",
        "\\[\n\\begin{gathered}\na \\\\\nb\n\\end{gathered}\n\\]",
        r"$$\begin{alignedat}{2}a &= b \\ c &= d\end{alignedat}$$",
        "\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}",
        "\\begin{gather*}\na \\\\\nb\n\\end{gather*}",
        "So:\n\\begin{equation}\n\\begin{split}a &= b \\\\ c &= d\\end{split}\n\\end{equation}\nand on",
    ],
)
def test_formulas_of_several_lines_have_several_lines(text: str) -> None:
    shown = render(text)
    drawn, _, source = shown.partition("<annotation")
    assert drawn.count("<mtr>") >= 2
    assert "(1)" not in drawn
    # What is copied is what was written.
    assert r"\begin{" in source


@pytest.mark.parametrize(
    "text", [r"\begin{align}x\end{align} and words", r"\begin{center}x\end{center}", "\\begin{align}\n\nx"]
)
def test_what_begins_like_a_formula_and_is_none_stays_text(text: str) -> None:
    assert "<math" not in render(text)


def test_a_message_has_a_budget_for_formulas() -> None:
    shown = render(" ".join(["$x^2$"] * (maths.MOST + 50)))
    assert shown.count("<math") == maths.MOST
    assert shown.count("<code") == 50


def test_a_file_name_is_no_link_and_an_address_is() -> None:
    shown = render("README.md, main.py, example.org, www.example.org/a. and https://example.org/b")
    assert shown.count("<a ") == 2
    assert 'href="https://www.example.org/a"' in shown
    assert 'href="https://example.org/b"' in shown


def test_a_paragraph_that_begins_with_code_keeps_its_direction() -> None:
    assert '<p dir="auto"><code dir="ltr">print</code> שלום' in render("`print` שלום")


BEGIN = r"\begin{align}"
PIECES = st.lists(
    st.sampled_from(
        ["$$", "\n", "\n\n", r"\[", r"\]", "x^2", "- a", "$", "word ", "> ", "```", BEGIN, r"\end{align}"]
    ),
    max_size=14,
)


@given(PIECES)
@example(["$$", "\n", "$$", "$$", "$$"])
@example(["word ", "\n", "$$", "x^2", "$$", "word "])
@example(["- a", "\n", r"\[", "x^2", r"\]", "word "])
@example(["word ", "\n", BEGIN, "\n", "x^2", "\n", r"\end{align}"])
def test_a_growing_text_with_formulas_ends_as_the_whole_one(pieces: list[str]) -> None:
    """Finished blocks never change: together with the tail they are what the whole text is."""
    growing, text = Growing(), ""
    for piece in pieces:
        text += piece
        growing.update(text)
    closed = "".join(growing.closed)
    assert render(text).startswith(closed) or closed.replace("\n", "") in render(text).replace("\n", "")
