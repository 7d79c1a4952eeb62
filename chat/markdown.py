"""Markdown of replies and memory as safe HTML: whole, or block by block while it still grows."""

import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from typing import Any

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

# Past these sizes text is shown as it is: parsing costs more than any reader gains.
LONGEST_INLINE = 10_000
LONGEST_CODE = 30_000
LONGEST_CODE_LINE = 2_000
MOST_CELLS = 4_000
MOST_BARS = 20_000
DEEPEST = 40

# A last line that may still turn into a heading rule, list marker, fence or table row.
UNDECIDED = re.compile(r"[-=*+_#>|:~`]++|\d{1,9}[.)]?|`{3}[^`]*+")

FORMATTER = HtmlFormatter(nowrap=True)
TEXT_TAGS = {"p", "li", "ul", "ol", "h3", "h4", "h5", "h6", "blockquote", "td", "th"}
CLEANER = nh3.Cleaner(
    tags=TEXT_TAGS
    | {"a", "br", "button", "code", "del", "div", "em", "hr", "pre", "s", "span", "strong"}
    | {"table", "tbody", "thead", "tr"},
    attributes={
        "a": {"href", "title"},
        "ol": {"start"},
        "div": {"tabindex", "role", "aria-label"},
        "span": {"role", "aria-label"},
        "button": {"type", "data-copy"},
    },
    allowed_classes={
        "div": {"code", "code-bar", "table"},
        "button": {"code-copy"},
        "a": {"image-link"},
        "li": {"task"},
        "td": {"center", "right"},
        "th": {"center", "right"},
        "span": {"code-language", "check", "checked"} | {name for name in STANDARD_TYPES.values() if name},
    },
    set_tag_attribute_values={"a": {"target": "_blank"}, "pre": {"tabindex": "0"}}
    | {tag: {"dir": "auto"} for tag in TEXT_TAGS},
    link_rel="noopener noreferrer nofollow",
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
)


def _plain_where_too_big(state: StateCore) -> None:
    """Keep oversized or too deeply nested text out of the inline parser, and huge tables out of both."""
    cells = 0
    for token in state.tokens:
        if token.type != "inline":
            continue
        cells += token.level > 2
        if len(token.content) > LONGEST_INLINE or cells > MOST_CELLS:
            token.type = "text"


def _task_items(state: StateCore) -> None:
    """Turn a leading [ ] or [x] of a list item into a drawn check box."""
    for item, _paragraph, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type != "list_item_open" or inline.type != "inline" or not inline.children:
            continue
        first = inline.children[0]
        if match := re.match(r"\[([ xX])\] ", first.content):
            done = match[1] != " "
            first.content = first.content[4:]
            name, label = ("check checked", "done") if done else ("check", "to do")
            box = Token("html_inline", "", 0)
            box.content = f'<span class="{name}" role="img" aria-label="{label}"></span> '
            inline.children.insert(0, box)
            item.attrSet("class", "task")


class Renderer(RendererHTML):
    """Headings below the page's own, code with a bar, tables in a box, images as links."""

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<h{min(int(tokens[idx].tag[1]) + 2, 6)}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"</h{min(int(tokens[idx].tag[1]) + 2, 6)}>\n"

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return '<div class="table" tabindex="0" role="region" aria-label="Table"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        align = str(tokens[idx].attrs.get("style", "")).removeprefix("text-align:")
        return f'<{tokens[idx].tag} class="{align}">' if align else f"<{tokens[idx].tag}>"

    td_open = th_open

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        language = tokens[idx].info.strip().split(maxsplit=1)[0] if tokens[idx].info.strip() else ""
        return code(tokens[idx].content, language)

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return code(tokens[idx].content)

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        label = escape(self.renderInlineAsText(tokens[idx].children, options, env) or "image")
        source = str(tokens[idx].attrs.get("src", ""))
        if source.startswith(("http://", "https://")):
            return f'<a class="image-link" href="{escape(source)}">{label}</a>'
        return f"<span>{label}</span>"


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt(
        "commonmark",
        {"html": False, "linkify": True, "breaks": True, "maxNesting": DEEPEST},
        renderer_cls=Renderer,
    )
    parser.enable(["table", "strikethrough", "linkify"])
    parser.core.ruler.before("inline", "plain_where_too_big", _plain_where_too_big)
    parser.core.ruler.after("inline", "task_items", _task_items)
    return parser


PARSER = _make_parser()


def code(text: str, language: str = "") -> str:
    """A code block with its language and a Copy button, coloured when that is cheap."""
    body = str(escape(text))
    longest = max(map(len, text.splitlines()), default=0)
    if language and len(text) <= LONGEST_CODE and longest <= LONGEST_CODE_LINE:
        with suppress(ClassNotFound):
            body = highlight(text, get_lexer_by_name(language, stripnl=False, ensurenl=False), FORMATTER)
    return (
        f'<div class="code"><div class="code-bar"><span class="code-language">{escape(language[:40])}</span>'
        '<button class="code-copy" type="button" data-copy>Copy</button></div>'
        f"<pre><code>{body}</code></pre></div>\n"
    )


def _draw(text: str) -> str:
    if text.count("|") > MOST_BARS:
        return code(text)
    env: dict[str, Any] = {}
    try:
        tokens = PARSER.parse(text, env)
    except RecursionError:
        return code(text)
    # The parser drops what lies deeper than it goes; nothing said may vanish.
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return code(text)
    return str(PARSER.renderer.render(tokens, PARSER.options, env))


def render(text: str) -> SafeString:
    """The whole text as HTML that is safe in any page."""
    return mark_safe(CLEANER.clean(_draw(text)))  # noqa: S308  (cleaned)


@lru_cache(maxsize=512)
def _closed(source: str) -> str:
    return str(render(source))


def sources(text: str) -> list[str]:
    """Cut text at its top-level blocks; joined again, the pieces are the text."""
    state = StateCore(text, PARSER, {})
    for rule in ("normalize", "block"):
        PARSER.core.ruler.__rules__[PARSER.core.ruler.__find__(rule)].fn(state)
    lines = state.src.split("\n")
    edges = [token.map for token in state.tokens if token.level == 0 and token.map and token.nesting >= 0]
    edges.append([len(lines), len(lines)])
    cuts = [0]
    for end, start in pairwise(edges):
        # Link definitions draw nothing, but they end the block before them and stay out of its piece.
        if any(line.strip() for line in lines[end[1] : start[0]]):
            cuts.append(end[1])
        cuts.append(start[0])
    cuts = cuts if len(cuts) > 1 else [0, len(lines)]
    pieces = ["\n".join(lines[a:b]) for a, b in pairwise(cuts)]
    return [piece + "\n" for piece in pieces[:-1]] + pieces[-1:]


def _mended(tail: str) -> str:
    """Close bold and code that are still open, so that their marks do not flash."""
    if tail.lstrip().startswith(("```", "~~~")):
        return tail
    paragraph = tail.rsplit("\n", 1)[-1]
    if paragraph.count("`") % 2:
        return tail + "`"
    if paragraph.count("**") % 2 and not paragraph.endswith(("*", " ")):
        return tail + "**"
    return tail


def _settled(text: str) -> str:
    """The text without a last line that may yet become something else."""
    before, _, line = text.rpartition("\n")
    mark = line.strip(" \t>") or ">" * (">" in line)
    return before if UNDECIDED.fullmatch(mark) else text


def blocks(text: str) -> tuple[list[str], str]:
    """The finished blocks of a growing text, which never change again, and its tail as it looks now."""
    *closed, tail = sources(_settled(text))
    return [_closed(source) for source in closed], str(render(_mended(tail)))


class Growing:
    """The HTML of a growing text, shared by all who follow it: a finished block is drawn only once."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.tail = ""
        self._consumed = 0
        self._drawn = -1
        self._lock = threading.Lock()

    def update(self, text: str) -> None:
        with self._lock:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            if len(text) == self._drawn:
                return
            self._drawn = len(text)
            rest = text[self._consumed :]
            closed, self.tail = blocks(rest)
            if closed:
                self._consumed += sum(map(len, sources(rest)[: len(closed)]))
                self.closed.extend(closed)
