"""Formulas in Markdown: `$…$`, `$$…$$`, `\\(…\\)` and `\\[…\\]`, drawn as MathML; prices stay prices."""

import re
from collections.abc import Sequence

from django.utils.html import escape
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

# The budget of one message; a formula past it shows its source.
LONGEST = 2_000
MOST = 300
MOST_TEX = 10_000

# How a formula begins and ends; the two that stand on lines of their own come first.
DISPLAYED = (("$$", "$$"), (r"\[", r"\]"))
MARKS = (*DISPLAYED, (r"\(", r"\)"), ("$", "$"))
# Between two dollars, what begins with a figure and has none of these is about money.
SIGNS = re.compile(r"[\\^_={}<>+*/]")
FIGURE = re.compile(r"\d")
# Environments of amsmath that stand for themselves, without a mark around them.
ALONE = re.compile(r"\\begin\{((?:align|gather|equation|multline|flalign|eqnarray)\*?)\}")
# What the library doesn't know, numbers, or draws on one line, by the name of one that it draws right.
RENAMED = {
    "aligned": "split",
    "alignedat": "split",
    "align": "align*",
    "flalign": "align*",
    "eqnarray": "align*",
    "equation": "split",
    "gather": "matrix",
    "gathered": "matrix",
    "multline": "matrix",
}
NAMED = re.compile(
    r"\\(begin|end)\{(aligned|alignedat|align|flalign|eqnarray|equation|gather|gathered|multline)\*?\}"
    r"(?:\{\d{1,2}\})?"
)


TAGS = {
    *("math", "mrow", "mi", "mo", "mn", "ms", "mtext", "mspace", "mstyle", "mpadded", "mphantom", "menclose"),
    *("mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts"),
    *("mtable", "mtr", "mtd", "semantics", "annotation"),
}
ATTRIBUTES = {
    "math": {"display"},
    "annotation": {"encoding"},
    "mi": {"mathvariant"},
    "mo": {
        "stretchy",
        "fence",
        "form",
        "separator",
        "lspace",
        "rspace",
        "minsize",
        "maxsize",
        "movablelimits",
    },
    "mstyle": {"displaystyle", "scriptlevel"},
    "mfrac": {"linethickness"},
    "mover": {"accent"},
    "munder": {"accentunder"},
    "mspace": {"width", "height", "depth"},
    "menclose": {"notation"},
    "mtable": {"columnalign", "rowspacing", "columnspacing", "columnlines", "rowlines", "displaystyle"},
    "mtd": {"columnalign"},
}

# How many parts each of these is made of.
PARTS = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}


def install(parser: MarkdownIt) -> None:
    """Teach a parser the formulas."""
    parser.block.ruler.before(
        "fence", "maths", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    # Before escapes, which would take the backslash of `\(`.
    parser.inline.ruler.before("escape", "maths", _inline)
    parser.core.ruler.after("inline", "maths_budget", _budget)
    parser.add_render_rule("maths", _render)
    parser.add_render_rule("maths_block", _render)


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    r"""`$$` or `\[` at the start of a line, up to its mark at the end of one; a blank line comes to nothing.

    What is still open at the end of the text is one paragraph, so that a growing reply is cut behind it.
    """
    if state.is_code_block(start):
        return False
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    marks = _marks(first)
    if marks is None:
        return False
    lines, rest, at, closed = list[str](), first[len(marks[0]) :], start, False
    while not closed:
        line, mark, behind = rest.partition(marks[1])
        if behind.strip():
            return False
        closed = bool(mark)
        lines.append(line)
        at += 1
        if closed or at >= end:
            break
        if state.isEmpty(at) or state.sCount[at] < state.blkIndent:
            return False
        rest = state.src[state.bMarks[at] + state.tShift[at] : state.eMarks[at]]
    if closed and not any(map(str.strip, lines)):
        return False
    if not closed and end < state.lineMax:
        return False
    if silent:
        # Only a whole one ends the paragraph before it: what is open yet may still come to nothing.
        return closed
    source = state.getLines(start, at, state.blkIndent, False).strip()
    if closed:
        token = state.push("maths_block", "math", 0)
        token.block, token.map, token.markup = True, [start, at], DISPLAYED[0][0]
        is_marked = marks in DISPLAYED
        token.content = "\n".join(lines).strip() if is_marked else source
        token.meta = {"source": source}
    else:
        state.push("paragraph_open", "p", 1).map = [start, at]
        words = state.push("inline", "", 0)
        words.content, words.map, words.children = source, [start, at], []
        state.push("paragraph_close", "p", -1)
    state.line = at
    return True


def _marks(line: str) -> tuple[str, str] | None:
    """How a formula that begins with this line begins and ends."""
    if alone := ALONE.match(line):
        return alone[0], f"\\end{{{alone[1]}}}"
    return next((pair for pair in DISPLAYED if line.startswith(pair[0])), None)


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    for opening, closing in MARKS:
        if not state.src.startswith(opening, state.pos):
            continue
        begin = state.pos + len(opening)
        end = state.src.find(closing, begin, min(state.posMax, begin + LONGEST))
        tex = state.src[begin:end] if end > begin else ""
        after = state.src[end + 1 : end + 2]
        if not tex.strip() or (opening == "$" and not _is_formula(tex, after)):
            continue
        if not silent:
            token = state.push("maths", "math", 0)
            token.content, token.markup = tex.strip(), opening
            token.meta = {"source": opening + tex + closing}
        state.pos = end + len(closing)
        return True
    return False


def _is_formula(tex: str, after: str) -> bool:
    """Whether what stands between two dollars is a formula and not what lies between two prices."""
    if tex[0].isspace() or tex[-1].isspace() or tex.endswith("\\") or FIGURE.match(after) or "\n\n" in tex:
        return False
    return not FIGURE.match(tex) or " " not in tex or bool(SIGNS.search(tex))


def _budget(state: StateCore) -> None:
    count = spent = 0
    for token in state.tokens:
        for each in (token, *(token.children or ())):
            if each.type in ("maths", "maths_block"):
                count, spent = count + 1, spent + len(each.content)
                each.meta["plain"] = count > MOST or spent > MOST_TEX or len(each.content) > LONGEST


def _render(
    renderer: RendererProtocol, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[idx]
    source = str(escape(token.meta["source"]))
    shown = token.markup in {mark for mark, _ in DISPLAYED}
    drawn = "" if token.meta.get("plain") else mathml(token.content, shown)
    if not drawn:
        return f"<p>{source}</p>\n" if token.type == "maths_block" else f"<code>{source}</code>"
    return f'<div class="maths" tabindex="0">{drawn}</div>\n' if token.type == "maths_block" else drawn


def mathml(tex: str, displayed: bool) -> str:
    """A formula as MathML with its source inside, for copying; empty where it can't be read."""
    from latex2mathml.converter import convert  # loaded with the first formula

    known = NAMED.sub(lambda name: f"\\{name[1]}{{{RENAMED[name[2]]}}}", tex)
    try:
        drawn: str = convert(known, display="block" if displayed else "inline")
    except Exception:
        # The library raises whatever its tokens stumble over.
        return ""
    head, _, rest = drawn.partition(">")
    body = rest.removesuffix("</math>")
    # A command that it doesn't know comes back as its name, and braces left open come to half a fraction.
    if "\\" in body or tex.count("{") - tex.count(r"\{") != tex.count("}") - tex.count(r"\}"):
        return ""
    if not _is_whole(drawn):
        return ""
    note = f'<annotation encoding="application/x-tex">{escape(tex)}</annotation>'
    return f"{head}><semantics>{body}{note}</semantics></math>"


def _is_whole(drawn: str) -> bool:
    """Whether all has its parts: a fraction without its lower half looks like another number."""
    from defusedxml.ElementTree import ParseError, fromstring  # type: ignore[import-untyped]

    try:
        nodes = fromstring(drawn).iter()
    except ParseError:
        # Of words within a formula the library escapes nothing.
        return False
    return all(len(node) == PARTS.get(node.tag.rpartition("}")[2], len(node)) for node in nodes)
