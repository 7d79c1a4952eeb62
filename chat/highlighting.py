"""Colours of code, by one pass whose time is linear in the code, whatever it says.

The well-known lexers are made for code, not for text that wants to be slow: eight thousand blanks, or a
comment opened again and again, hold some of them for seconds. These rules know comments, strings, numbers and
keywords of the languages that models answer in, and nothing else; a mark that is never closed goes on to the
end of its line or text.
"""

import re
from collections.abc import Iterable
from functools import cache

from django.utils.html import escape

# The short names that styles/prose.css gives a colour.
COMMENT, KEYWORD, STRING, NUMBER = "c", "k", "s", "m"
FUNCTION, CLASS, DECORATOR, VARIABLE, TAG, ATTRIBUTE = "nf", "nc", "nd", "nv", "nt", "na"
ADDED, REMOVED, HEADING = "gi", "gd", "gu"
CLASSES = {COMMENT, KEYWORD, STRING, NUMBER, FUNCTION, CLASS, DECORATOR, VARIABLE, TAG, ATTRIBUTE}
CLASSES |= {ADDED, REMOVED, HEADING}

ESCAPED = r"\\(?:.|\Z)"


def _line(mark: str) -> str:
    return rf"{mark}[^\n]*+"


def _block(begin: str, end: str) -> str:
    """From one mark to the other, or to the end: what opens never fails, so it is not tried again."""
    first, rest = re.escape(end[0]), re.escape(end[1:])
    return rf"{re.escape(begin)}(?:[^{first}]++|{first}(?!{rest}))*+(?:{re.escape(end)}|\Z)"


def _quoted(mark: str) -> str:
    """Within a line."""
    return rf"{mark}(?:[^{mark}\\\n]++|{ESCAPED})*+(?:{mark}|(?=\n)|\Z)"


def _spanning(mark: str) -> str:
    """Over lines."""
    return rf"{mark}(?:[^{mark}\\]++|{ESCAPED})*+(?:{mark}|\Z)"


def _tripled(mark: str) -> str:
    return rf"{mark * 3}(?:[^{mark}\\]++|{ESCAPED}|{mark}(?!{mark * 2}))*+(?:{mark * 3}|\Z)"


HASH, SLASHES, DASHES = _line(r"(?<!\S)#"), _line("//"), _line("--")
C_COMMENT, HTML_COMMENT = _block("/*", "*/"), _block("<!--", "-->")
DOUBLE, SINGLE, TICKS = _quoted('"'), _quoted("'"), _spanning("`")
# A character or a lifetime: 'a' and '\n', but not what follows 'static.
CHARACTER = r"'(?:[^'\\\n]|\\[^\n]{1,8}?)'"
NUMBERS = r"(?<![\w.])\d(?:\w|\.(?=\d))*+"
WORD = r"[^\W\d]\w*+"

Rules = tuple[tuple[str, str], ...]
CODE: Rules = ((NUMBER, NUMBERS), ("word", WORD))
C_LIKE: Rules = ((COMMENT, f"{SLASHES}|{C_COMMENT}"), (STRING, DOUBLE))
SCRIPT: Rules = ((COMMENT, HASH), (STRING, f"{_spanning(chr(34))}|{_spanning(chr(39))}"))
DOLLAR: Rules = ((VARIABLE, r"\$\{\w++\}?|\$\w++"),)
AT: Rules = ((DECORATOR, r"@[^\W\d][\w.]*+"),)
KEY: Rules = ((TAG, r"^[ \t]*+(?:- [ \t]*+)?(?:[\w./-]++|\"[^\"\n]*+\")(?=[ \t]*+[:=])"),)
MARKUP: Rules = (
    (COMMENT, HTML_COMMENT),
    (TAG, r"</?[\w:-]++|/?>"),
    (ATTRIBUTE, r"[\w@][\w:@.-]*+(?==)"),
    (STRING, f"{_spanning(chr(34))}"),
    ("word", r"[\w@][\w:@.-]*+"),
)
STYLES: Rules = (
    (COMMENT, C_COMMENT),
    (STRING, f"{DOUBLE}|{SINGLE}"),
    (KEYWORD, r"@[\w-]++|![a-z]++"),
    (NUMBER, r"#[0-9a-fA-F]{3,8}+(?![\w-])|(?<![\w.-])\d[\w.%]*+"),
    (CLASS, r"[.#][^\W\d][\w-]*+"),
    (ATTRIBUTE, r"[\w-]++(?=[ \t]*+:)"),
    ("word", r"[\w-]++"),
)
CHANGES: Rules = (
    (HEADING, r"^(?:@@|diff |index |---|\+\+\+)[^\n]*+"),
    (ADDED, r"^\+[^\n]*+"),
    (REMOVED, r"^-[^\n]*+"),
)
DATA: Rules = (
    (COMMENT, f"{SLASHES}|{C_COMMENT}"),
    (TAG, r'"(?:[^"\\\n]++|\\.)*+"(?=[ \t]*+:)'),
    (STRING, DOUBLE),
)
LISP_COMMENT = _line(";")

# Each language: its other names, its rules, its words.
LANGUAGES: dict[str, tuple[str, Rules, str]] = {
    "python": (
        "py python3 py3 pyi starlark",
        (
            (COMMENT, HASH),
            (STRING, rf"\b[rRbBfFuU]{{0,2}}(?:{_tripled(chr(34))}|{_tripled(chr(39))}|{DOUBLE}|{SINGLE})"),
            (STRING, f"{_tripled(chr(34))}|{_tripled(chr(39))}|{DOUBLE}|{SINGLE}"),
            *AT,
        ),
        "and as assert async await break case class continue def del elif else except finally for from "
        "global if import in is lambda match nonlocal not or pass raise return try type while with yield "
        "None True False",
    ),
    "javascript": (
        "js jsx mjs cjs node typescript ts tsx",
        (*C_LIKE, (STRING, f"{SINGLE}|{TICKS}"), *AT),
        "abstract any as async await boolean break case catch class const constructor continue debugger "
        "declare default delete do else enum export extends false finally for from function get if "
        "implements import in instanceof interface keyof let namespace never new null number of private "
        "protected public readonly return satisfies set static string super switch this throw true try "
        "type typeof undefined unknown var void while yield",
    ),
    "java": (
        "kotlin kt kts scala groovy gradle",
        (*C_LIKE, (STRING, CHARACTER), *AT),
        "abstract as boolean break byte by case catch char class companion const continue data def "
        "default do double else enum extends false final finally float for fun if implements implicit "
        "import in init instanceof int interface internal is lazy long match native new null object open "
        "operator override package private protected public record return sealed short static super "
        "suspend switch synchronized this throw throws trait transient true try type val var void "
        "volatile when while with yield",
    ),
    "c": (
        "h cpp c++ cc cxx hpp objective-c objc arduino cuda glsl",
        ((KEYWORD, r"^[ \t]*+#[ \t]*+[a-z]++"), *C_LIKE, (STRING, CHARACTER)),
        "alignas alignof auto bool break case catch char class const consteval constexpr continue "
        "co_await co_return co_yield decltype default delete do double else enum explicit export extern "
        "false final float for friend goto if inline int long mutable namespace new noexcept nullptr "
        "operator override private protected public register requires return short signed sizeof static "
        "static_assert static_cast struct switch template this throw true try typedef typename union "
        "unsigned using virtual void volatile wchar_t while size_t uint8_t int32_t uint32_t int64_t "
        "uint64_t NULL",
    ),
    "csharp": (
        "cs c# f# fsharp",
        (*C_LIKE, (STRING, CHARACTER)),
        "abstract as async await base bool break byte case catch char checked class const continue "
        "decimal default delegate do double else enum event explicit extern false finally fixed float for "
        "foreach get goto if implicit in int interface internal is let lock long match module mutable "
        "namespace new null object operator out override params private protected public readonly record "
        "ref return sealed set short sizeof stackalloc static string struct switch this throw true try "
        "type typeof uint ulong unchecked using var virtual void volatile where while with yield",
    ),
    "go": (
        "golang",
        (*C_LIKE, (STRING, f"{TICKS}|{CHARACTER}")),
        "any bool break byte case chan const continue default defer else error fallthrough false float64 "
        "for func go goto if import int int64 interface map nil package range return rune select string "
        "struct switch true type uint64 var",
    ),
    "rust": (
        "rs zig",
        (*C_LIKE, (STRING, CHARACTER), (DECORATOR, r"#!?\[[^\]\n]*+\]?")),
        "as async await bool break const continue crate dyn else enum extern false fn for i32 i64 if impl "
        "in let loop match mod move mut pub ref return self Self static str struct super trait true try "
        "type u8 u32 u64 unsafe use usize var where while comptime defer error test",
    ),
    "swift": (
        "dart",
        (*C_LIKE, (STRING, SINGLE), *AT),
        "actor as associatedtype async await break case catch class const continue default defer deinit "
        "do dynamic else enum extends extension external factory fallthrough false fileprivate final for "
        "func get guard if implements import in init inout internal is late lazy let library mixin "
        "mutating new nil null operator override part private protocol public repeat required rethrows "
        "return self set some static struct super switch this throw throws true try typealias var void "
        "weak where while with yield",
    ),
    "php": (
        "",
        (*C_LIKE, (COMMENT, HASH), (STRING, SINGLE), *DOLLAR),
        "abstract and array as break callable case catch class clone const continue declare default do "
        "echo else elseif empty enum extends false final finally fn for foreach function global if "
        "implements include instanceof interface isset list match namespace new null or print private "
        "protected public readonly require require_once return static switch this throw trait true try "
        "unset use var while yield",
    ),
    "ruby": (
        "rb elixir ex exs crystal",
        (*SCRIPT, (VARIABLE, r"@{1,2}\w++|:\w++[?!]?")),
        "after alias and begin break case class cond def defmodule defp defstruct do else elsif end "
        "ensure false fn for if import in module next nil not or quote raise redo require rescue retry "
        "return self super then true undef unless until use when while with yield",
    ),
    "bash": (
        "sh shell zsh fish console shell-session shellsession terminal",
        (*SCRIPT, *DOLLAR),
        "alias break case cd continue declare do done echo elif else esac eval exec exit export fi for "
        "function if in local readonly return select set shift source sudo then trap unset until while",
    ),
    "powershell": (
        "ps1 pwsh bat batch cmd",
        ((COMMENT, _block("<#", "#>")), *SCRIPT, *DOLLAR),
        "begin break catch class continue do else elseif end exit filter finally foreach for function if "
        "in param process return switch throw trap try until using while",
    ),
    "sql": (
        "mysql postgresql postgres sqlite plsql tsql",
        ((COMMENT, f"{DASHES}|{C_COMMENT}"), (STRING, f"{_spanning(chr(39))}|{DOUBLE}")),
        "add all alter and as asc avg begin between bigint boolean by cascade case check coalesce column "
        "commit constraint count create cross database date default delete desc distinct drop else end "
        "exists false foreign from full function grant group having if in index inner insert int integer "
        "into is join key left like limit max min not null numeric offset on or order outer over "
        "partition primary procedure references returning right rollback select serial set sum table text "
        "then timestamp trigger true union unique update using values varchar view when where with",
    ),
    "lua": (
        "",
        ((COMMENT, DASHES), (STRING, f"{DOUBLE}|{SINGLE}")),
        "and break do else elseif end false for function goto if in local nil not or repeat return then "
        "true until while",
    ),
    "perl": (
        "pl tcl",
        (*SCRIPT, (VARIABLE, r"[$@%]\w++")),
        "and bless cmp continue do else elsif eq foreach for ge given gt if last le local lt my ne next "
        "no not or our package print proc puts qw redo require return set shift sub undef unless until "
        "use when while",
    ),
    "r": (
        "julia jl matlab octave",
        ((COMMENT, f"{HASH}|{_line('%')}"), (STRING, f"{DOUBLE}|{SINGLE}")),
        "begin break do else elseif end export false FALSE for function if import in let library local "
        "macro module NA next NULL quote repeat return struct true TRUE try using while",
    ),
    "haskell": (
        "hs elm ocaml ml purescript",
        ((COMMENT, f"{DASHES}|{_block('{-', '-}')}|{_block('(*', '*)')}"), (STRING, f"{DOUBLE}|{CHARACTER}")),
        "as begin case class data deriving do else end exposing fun if import in infix infixl infixr "
        "instance let match module newtype of open rec then type val where with",
    ),
    "lisp": (
        "clojure clj scheme elisp emacs-lisp common-lisp racket",
        ((COMMENT, LISP_COMMENT), (STRING, _spanning('"')), (VARIABLE, r":[\w-]++")),
        "and begin case cond def define defmacro defn defun do else fn if lambda let loop nil not ns or "
        "quote recur require set when",
    ),
    "html": ("htm xhtml xml svg rss vue svelte jinja jinja2 django mathml plist", MARKUP, ""),
    "css": ("scss sass less", STYLES, ""),
    "json": ("jsonc json5 jsonl ndjson geojson", DATA, "true false null"),
    "yaml": (
        "yml toml ini cfg conf properties env dotenv editorconfig",
        (
            (COMMENT, f"{HASH}|{_line('^;')}"),
            (HEADING, r"^\[[^\]\n]*+\]++"),
            *KEY,
            (STRING, f"{DOUBLE}|{SINGLE}"),
        ),
        "true false null yes no on off",
    ),
    "make": (
        "makefile docker dockerfile nginx apache cmake just",
        (*SCRIPT, (VARIABLE, r"\$[({]?\w++[)}]?"), (FUNCTION, r"^[\w.-]++(?=[ \t]*+:)")),
        "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN USER VOLUME WORKDIR define "
        "else endef endif export if ifdef ifeq ifndef include location proxy_pass return root server "
        "server_name upstream listen set",
    ),
    "terraform": (
        "hcl tf graphql gql protobuf proto prisma",
        ((COMMENT, HASH), *C_LIKE, *AT),
        "data enum extend false fragment import input interface locals message module mutation null on "
        "oneof optional output package provider query repeated required resource return rpc scalar "
        "service subscription syntax true type union variable bool int32 int64 string",
    ),
    "diff": ("patch udiff", CHANGES, ""),
}
# Words after which a name is given to something.
NAMING = {
    **dict.fromkeys(
        ("def", "func", "fn", "fun", "function", "defp", "defn", "defun", "sub", "proc"), FUNCTION
    ),
    **dict.fromkeys(("class", "struct", "interface", "trait", "enum", "module", "namespace", "impl"), CLASS),
}
IGNORES_CASE = {"sql", "powershell"}
NAMES = {alias: name for name, (aliases, _, _) in LANGUAGES.items() for alias in (name, *aliases.split())}


@cache
def rules(name: str) -> tuple[re.Pattern[str], tuple[str, ...], frozenset[str]]:
    """One pattern for a language, the class of each of its groups, and its keywords."""
    _, own, words = LANGUAGES[name]
    kinds: Iterable[tuple[str, str]] = own if own in (MARKUP, STYLES, CHANGES) else (*own, *CODE)
    pairs = tuple(kinds)
    whole = re.compile("|".join(f"({pattern})" for _, pattern in pairs), re.DOTALL | re.MULTILINE)
    return whole, tuple(kind for kind, _ in pairs), frozenset(words.split())


def patterns() -> list[re.Pattern[str]]:
    """Those of all languages."""
    return [rules(name)[0] for name in LANGUAGES]


def highlight(text: str, language: str) -> str | None:
    """The code as HTML with its parts marked; None for a language that has no rules."""
    name = NAMES.get(language.casefold())
    if name is None:
        return None
    pattern, kinds, keywords = rules(name)
    folds = name in IGNORES_CASE
    out: list[str] = []
    done, naming = 0, ""
    for found in pattern.finditer(text):
        kind = kinds[(found.lastindex or 1) - 1]
        word = found[0]
        if kind == "word":
            said = word.casefold() if folds else word
            if said in keywords:
                kind = KEYWORD
            elif naming:
                kind = naming
            elif text.startswith("(", found.end()):
                kind = FUNCTION
            naming = NAMING.get(said, "") if kind == KEYWORD else ""
            if kind == "word":
                continue
        out += escape(text[done : found.start()]), f'<span class="{kind}">', escape(word), "</span>"
        done = found.end()
    out.append(escape(text[done:]))
    return "".join(out)
