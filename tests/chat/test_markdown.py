"""Markdown is drawn safely, whole or growing, and bad input stays text."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat import markdown
from chat.markdown import blocks, render


def visible(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html)


def test_code_has_its_language_a_copy_button_and_colour_classes():
    html = render("```python\ndef f(): pass\n```")
    assert '<span class="code-language">python</span>' in html
    assert "data-copy" in html
    assert '<span class="k">def</span>' in html


def test_code_in_an_unknown_language_is_shown_plain():
    assert "&lt;b&gt;" in render("```nolanguage\n<b>\n```")


def test_headings_begin_below_those_of_the_page():
    assert render("# One\n\n###### Six") == '<h3 dir="auto">One</h3>\n<h6 dir="auto">Six</h6>\n'


def test_tables_have_their_own_box_and_alignment():
    html = render("| a | b |\n|:-:|--:|\n| 1 | 2 |")
    assert html.startswith('<div class="table" tabindex="0"')
    assert '<td class="center" dir="auto">1</td>' in html
    assert "style" not in html


def test_task_lists_and_strikethrough():
    html = render("- [x] fed the **cat**\n- [ ] ~~water~~ plants\n- [link](https://a.example)")
    assert html.count('class="task"') == 2
    assert 'class="check checked" role="img" aria-label="done"' in html
    assert "<s>water</s>" in html


def test_links_open_elsewhere_and_carry_no_referrer():
    html = render("see www.example.com")
    assert 'href="https://www.example.com" target="_blank" rel="noopener noreferrer nofollow"' in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<svg onload=alert(1)>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x)",
        "<javascript:alert(1)>",
        '[x](https://a.example "\' onmouseover=alert(1)")',
        '```"><script>alert(1)</script>\nx\n```',
        "| <script>a</script> |\n|---|\n| <iframe src=//a> |",
        "[x]: javascript:alert(1)\n\n[x]",
    ],
)
def test_active_content_is_shown_as_text(text: str):
    html = render(text)
    tags = set(re.findall(r"<(\w+)", html))
    assert not tags & {"script", "svg", "img", "iframe", "style"}
    for opened in re.findall(r"<\w[^>]*>", html):
        assert not re.search(r"\bon\w+=(?![^\"]*\"[^\"]*$)", re.sub(r'"[^"]*"', '""', opened))
        assert not re.search(r'href="(?!https?://|mailto:)', opened)


def test_images_are_links_and_never_load():
    html = render("![a cat](https://a.example/cat.png) ![x](data:image/png;base64,AAAA)")
    assert "<img" not in html
    assert '<a class="image-link" href="https://a.example/cat.png"' in html
    assert "data:" not in html


def test_relative_links_lead_nowhere():
    assert "href" not in render("[x](/logout/)")


@pytest.mark.parametrize("mark", ["[", "![", "<", "&", "a ", "http://a.b ", "\u200b", "\u202e", "א", "| "])
def test_a_line_of_a_hundred_thousand_characters_is_all_there(mark: str):
    line = ("x" + mark * 100_000)[:100_000]
    html = render(line)
    assert visible(html).count("x") >= 1
    assert len(visible(html)) >= 90_000


def test_a_huge_table_is_shown_as_text():
    html = render("| a | b |\n|---|---|\n" + "| x | y |\n" * 20_000)
    assert "<table" not in html
    assert html.count("| x | y |") == 20_000


@pytest.mark.parametrize("text", ["> " * 300 + "deep", "".join("  " * n + "- deep\n" for n in range(100))])
def test_text_nested_too_deeply_does_not_vanish(text: str):
    assert render(text).count("deep") == text.count("deep")


def test_a_closed_block_stays_and_the_tail_grows():
    closed, tail = blocks("# Title\n\nSome **bo")
    assert closed == ['<h3 dir="auto">Title</h3>\n']
    assert tail == '<p dir="auto">Some <strong>bo</strong></p>\n'


def test_open_code_is_the_tail():
    closed, tail = blocks("Look:\n\n```python\nx = 1\n\ny = 2")
    assert len(closed) == 1
    assert '<span class="code-language">python</span>' in tail


@pytest.mark.parametrize("line", ["-", "=", "2", "2.", "```", "#", "| "])
def test_a_line_that_may_yet_become_something_else_waits(line: str):
    assert blocks("Words\n" + line)[1] == '<p dir="auto">Words</p>\n'


def test_no_text_is_one_empty_tail():
    assert blocks("") == ([], "")


WORDS = [
    "a",
    "b c",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "2",
    ". ",
    "> ",
    "# ",
    "```",
    "\n```py\n",
    "**",
    "`",
    "| a | b |",
    "\n",
]
WORDS += [
    "|---|---|\n",
    "  ",
    "    ",
    "[a]: http://x\n",
    "---",
    "===",
    "~~",
    "* ",
    "+ ",
    "\n\n  ",
    "[ ] ",
    "\t",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
@example(["|---|---|\n", "```", "a", "```"])
@example(["a", "[a]: http://x\n", "\n", "[a]: http://x\n", "a"])
@example(["a\n", "**", "* ", "* ", "a"])
def test_what_is_closed_once_is_closed_for_good(words: list[str]):
    before: list[str] = []
    for end in range(len(words) + 1):
        closed, _tail = blocks("".join(words[:end]))
        assert closed[: len(before)] == before
        before = closed


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_blocks_cut_a_text_without_loss(words: list[str]):
    text = "".join(words)
    assert "".join(markdown.sources(text)) == text
