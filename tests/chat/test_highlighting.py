"""Colours of code: the parts that a reader looks for, every letter there, and no markup but ours."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat import highlighting
from chat.highlighting import CLASSES, LANGUAGES, highlight
from tests.running import ROOT


def parts(text: str, language: str) -> list[tuple[str, str]]:
    html = highlight(text, language) or ""
    return [
        (kind, unescape(word)) for kind, word in re.findall(r'<span class="(\w+)">(.*?)</span>', html, re.S)
    ]


@pytest.mark.parametrize(
    ("language", "text", "marked"),
    [
        ("python", "@cache\ndef f(x):\n    return 'a'  # b", "nd @cache|k def|nf f|k return|s 'a'|c # b"),
        ("py", 'x = f"""a\n"b"""', 's f"""a\n"b"""'),
        ("ts", "const a = `b${1}\n`; // c", "k const|s `b${1}\n`|c // c"),
        ("java", "/* a\n b */ class A { char c = 'x'; }", "c /* a\n b */|k class|nc A|k char|s 'x'"),
        ("rust", "fn f<'a>(x: &'a str)", "k fn|nf f|k str"),
        ("c++", "#include <a>\nint x = 0xFF;", "k #include|k int|m 0xFF"),
        ("bash", 'echo "$HOME" # a#b\necho a#b ${x}', 'k echo|s "$HOME"|c # a#b|k echo|nv ${x}'),
        ("sql", "SELECT a FROM b -- c", "k SELECT|k FROM|c -- c"),
        ("json", '{"a": "b", "c": -1.5}', 'nt "a"|s "b"|nt "c"|m 1.5'),
        ("yaml", "a: 1 # b\n- c: 'd'", "nt a|m 1|c # b|nt - c|s 'd'"),
        ("html", '<!-- a --><b class="c">d</b>', 'c <!-- a -->|nt <b|na class|s "c"|nt >|nt </b|nt >'),
        ("css", "a:hover { color: #fff } /* b", "na a|na color|m #fff|c /* b"),
        ("diff", "@@ 1 @@\n+a\n-b\n c", "gu @@ 1 @@|gi +a|gd -b"),
        ("dockerfile", "FROM a\nRUN b $C", "k FROM|k RUN|nv $C"),
    ],
)
def test_what_a_reader_looks_for_is_marked(language: str, text: str, marked: str):
    assert [f"{kind} {word}" for kind, word in parts(text, language)] == marked.split("|")


def test_a_language_without_rules_is_not_guessed():
    assert highlight("a", "brainfuck") is None
    assert highlight("a", "") is None


def test_an_open_string_ends_with_its_line_and_an_open_comment_with_the_text():
    assert parts('a = "b\nc = 1', "go") == [("s", '"b'), ("m", "1")]
    assert parts("/* a\nb = 1", "go") == [("c", "/* a\nb = 1")]


def test_the_stylesheet_knows_every_class():
    styles = (ROOT / "static/styles/prose.css").read_text()
    assert all(re.search(rf"\.{name}\b", styles) for name in CLASSES)


def test_every_language_has_a_pattern_without_groups_of_its_own():
    assert len(highlighting.patterns()) == len(LANGUAGES)
    for name in LANGUAGES:
        pattern, kinds, _ = highlighting.rules(name)
        assert pattern.groups == len(kinds)


@given(st.text("\"'`/*-<!>{}()[]#$@:=+\\\n\t aZ1é.;%&", max_size=60), st.sampled_from([*LANGUAGES]))
def test_every_letter_is_there_and_nothing_else_is_markup(text: str, language: str):
    html = highlight(text, language) or ""
    assert unescape(re.sub(r'<span class="\w+">|</span>', "", html)) == text
    assert set(re.findall(r'<span class="(\w+)">', html)) <= CLASSES
