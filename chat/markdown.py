"""Markdown of replies and memory as safe HTML: whole, or block by block while it still grows."""

import re
import threading
from collections.abc import Sequence
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

from chat import maths
from chat.drawn import Drawn
from chat.highlighting import CLASSES, highlight

# The budget of one message. Past it text is shown as it is: parsing costs more than any reader gains.
LONGEST_INLINE = 5_000
MOST_MARKS = 20_000
MOST_LINES = 10_000
LONGEST_CODE = 30_000
MOST_CODE = 60_000
MOST_CELLS = 4_000
MOST_BARS = 20_000
DEEPEST = 40
# What the marks of inline Markdown cost, in units of the cheapest. Addresses are looked for by patterns that
# read on from every one of them, so each costs the more, the longer the paragraph is.
MARKS = {"[": 4, "*": 1, "_": 1, "`": 1, "~": 1, "<": 1, "&": 1, "\\": 1, "@": 1, "!": 1, "$": 4, "\n": 1}
LONG_ADDRESS = 50
# Of HTML that is kept, in characters.
KEPT = 16_000_000

# A last line that may still turn into a heading rule, list marker, fence or table row.
UNDECIDED = re.compile(r"[-=*+_#>|:~`][-=*+_#>|:~` \t]*+|\d{1,9}[.)]?|`{3,}+[^`]*+")

TEXT_TAGS = {"p", "li", "ul", "ol", "h3", "h4", "h5", "h6", "blockquote", "td", "th"}
CLEANER = nh3.Cleaner(
    tags=TEXT_TAGS
    | maths.TAGS
    | {"a", "br", "button", "code", "del", "div", "em", "hr", "pre", "s", "span", "strong"}
    | {"table", "tbody", "thead", "tr"},
    attributes={
        "a": {"href", "title"},
        "ol": {"start"},
        "div": {"tabindex", "role", "aria-label"},
        "span": {"role", "aria-label"},
        "button": {"type", "data-copy", "data-wrap", "aria-pressed"},
        **maths.ATTRIBUTES,
    },
    allowed_classes={
        "div": {"code", "code-bar", "maths", "table"},
        "button": {"code-copy", "code-wrap"},
        "a": {"image-link"},
        "li": {"task"},
        "td": {"center", "right"},
        "th": {"center", "right"},
        "span": {"code-language", "check", "checked"} | CLASSES,
    },
    # Code has a direction of its own: a paragraph that begins with it keeps the direction of its words.
    set_tag_attribute_values={"a": {"target": "_blank"}, "pre": {"tabindex": "0"}, "code": {"dir": "ltr"}}
    | {tag: {"dir": "auto"} for tag in TEXT_TAGS},
    link_rel="noopener noreferrer nofollow",
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
)


def _price(content: str) -> int:
    """What reading the inline marks of a paragraph costs, in marks."""
    addresses = content.count("://") + content.count("www.")
    marks = sum(price * content.count(mark) for mark, price in MARKS.items())
    return 1 + marks + addresses * (1 + len(content) // LONG_ADDRESS)


def _plain_where_too_big(state: StateCore) -> None:
    """Keep paragraphs that are too long, and all that is over the budget, out of the inline parser."""
    cells = spent = 0
    for token in state.tokens:
        if token.type != "inline":
            continue
        cells += token.level > 2
        spent += _price(token.content) if len(token.content) <= LONGEST_INLINE else 0
        if len(token.content) > LONGEST_INLINE or cells > MOST_CELLS or spent > MOST_MARKS:
            token.type = "text"


def _code_budget(state: StateCore) -> None:
    """Colours for the first so many characters of code."""
    spent = 0
    for token in state.tokens:
        if token.type == "fence":
            spent += len(token.content)
            token.meta["plain"] = spent > MOST_CODE


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
        return code(tokens[idx].content, language, plain=tokens[idx].meta.get("plain", False))

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return code(tokens[idx].content)

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        label = escape(self.renderInlineAsText(tokens[idx].children, options, env) or "image")
        source = str(tokens[idx].attrs.get("src", ""))
        if source.startswith(("http://", "https://")):
            return f'<a class="image-link" href="{escape(source)}">{label}</a>'
        return f"<span>{label}</span>"


def _link_only_addresses(parser: MarkdownIt) -> None:
    """Links with a scheme or `www.`; a file's name such as README.md is no place in the world."""
    linkify = parser.linkify
    assert linkify is not None
    linkify.set({"fuzzy_link": False, "fuzzy_email": False})
    host = re.compile(r"[a-z0-9][a-z0-9.-]*+(?::\d{1,5})?(?:[/?#][^\s<>\"'`|]*+)?", re.IGNORECASE)

    def length(_: Any, text: str, at: int) -> int:
        """How much of the text from here on belongs to the address, without the mark that ends a sentence."""
        found = host.match(text, at)
        return len(found[0].rstrip(".,;:!?)]}*_~-")) if found else 0

    def absolute(_: Any, match: Any) -> None:
        match.url = f"https://{match.url}"

    linkify.add("www.", {"validate": length, "normalize": absolute})


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt(
        "commonmark",
        {"html": False, "linkify": True, "breaks": True, "maxNesting": DEEPEST},
        renderer_cls=Renderer,
    )
    parser.enable(["table", "strikethrough", "linkify"])
    maths.install(parser)
    _link_only_addresses(parser)
    parser.core.ruler.before("inline", "plain_where_too_big", _plain_where_too_big)
    parser.core.ruler.after("inline", "code_budget", _code_budget)
    parser.core.ruler.after("inline", "task_items", _task_items)
    return parser


PARSER = _make_parser()


def code(text: str, language: str = "", *, plain: bool = False) -> str:
    """A code block with its language and a Copy button, coloured where the language is known."""
    body = highlight(text, language) if not plain and len(text) <= LONGEST_CODE else None
    if body is None:
        body = str(escape(text))
    return (
        f'<div class="code"><div class="code-bar"><span class="code-language">{escape(language[:40])}</span>'
        '<button class="code-wrap" type="button" data-wrap aria-pressed="false">Wrap</button>'
        '<button class="code-copy" type="button" data-copy>Copy</button></div>'
        f"<pre><code>{body}</code></pre></div>\n"
    )


def _too_big(text: str) -> bool:
    """Whether finding the blocks of a text would cost too much already."""
    return text.count("|") > MOST_BARS or text.count("\n") > MOST_LINES


def _draw(text: str) -> str:
    if _too_big(text):
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


DRAWN = Drawn(room=KEPT)


def render(text: str) -> SafeString:
    """The whole text as HTML that is safe in any page; drawn once, however often it is shown."""
    return mark_safe(DRAWN.html(text, lambda: _as_it_looks_now(text)))  # noqa: S308  (cleaned)


def _as_it_looks_now(text: str) -> str:
    """Drawn and not kept: the text may be another in a moment."""
    return str(CLEANER.clean(_draw(text)))


def sources(text: str) -> list[str]:
    """Cut text at its top-level blocks; joined again, the pieces are the text."""
    if _too_big(text):
        return [text]
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
    # A formula on lines of its own is none if a word follows it there.
    formula = mark.startswith(("$$", r"\[")) or mark.endswith(("$$", r"\]"))
    return _before_open_formula(before if formula or UNDECIDED.fullmatch(mark) else text)


def _before_open_formula(text: str) -> str:
    """The text up to a line with a formula that is still open: its lines may yet be a list, or the formula's.

    A blank line comes to nothing in a formula, and one past its budget is none.
    """
    start = text.rfind("\n\n") + 2 if "\n\n" in text else 0
    opened = [text.find("$$", start)] if text.count("$$", start) % 2 else []
    if (at := text.rfind(r"\[", start)) > text.rfind(r"\]", start):
        opened.append(at)
    first = min(opened, default=len(text))
    return text if len(text) - first > maths.LONGEST else text[: _line_of(text, first)]


def _line_of(text: str, at: int) -> int:
    """Where the line begins that this place is in; the end of the text is in none."""
    return at if at == len(text) else text.rfind("\n", 0, at) + 1


def blocks(text: str) -> tuple[list[str], str]:
    """The finished blocks of a growing text, which never change again, and its tail as it looks now."""
    *closed, tail = sources(_settled(text))
    return [str(render(source)) for source in closed], _as_it_looks_now(_mended(tail))


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
