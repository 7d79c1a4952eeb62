"""Which parts of a message its writer pasted: quoted mail, pages, logs, code. Linear in the text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from memory.speech.orders import FORGED_TURN, gives_orders
from memory.speech.phrases import phrases, plain
from memory.storage.markdown import Line, lines_of

# Paragraphs without a word of oneself, of so many characters together, were not typed.
LONG_BLOCK = 1_200
# The first or the last paragraph of a message, when short, is what the writer says about the rest.
REMARK = 240
# A request to work on a text says so early.
REQUEST_CHARS = 200
# Shorter quotations are somebody's words inside a sentence of one's own, unless they give orders.
LONG_QUOTATION, QUOTATION = 120, 20

QUOTED = re.compile(r" {0,3}+>")
MAIL_HEADER = re.compile(
    r"[ \t*]{0,4}+(?:from|to|cc|bcc|subject|date|sent|reply-to|von|an|betreff|gesendet|datum|de|para|asunto"
    r"|fecha|enviado|à|objet|envoyé|da|oggetto|发件人|收件人|主题|日期|发送时间|抄送|差出人|宛先|件名|日時|送信日時"
    r"|от|кому|тема|дата)[ \t*]{0,4}+[:：]\s*+\S",
    re.IGNORECASE,
)
FORWARDED = re.compile(
    r"[ \t]*+(?:-{2,}+[ \t]*+(?:original message|forwarded message|ursprüngliche nachricht"
    r"|weitergeleitete nachricht|mensaje original|mensaje reenviado|message d'origine"
    r"|message transféré|原始邮件|转发|元のメッセージ"
    r"|転送|исходное сообщение)|begin forwarded message|anfang der weitergeleiteten nachricht"
    r"|inicio del mensaje reenviado|début du message"
    r"|(?:on|am|el|le|il)\b[^\n]{5,120} (?:wrote|schrieb|escribió|a écrit|ha scritto)[^\n]{0,80}[:：]\s*+\Z)",
    re.IGNORECASE,
)
LOG_LINE = re.compile(
    r"[ \t]*+(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|\[\d\d/\w{3}/\d{4}:\d\d"
    r"|\w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d |\[?\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\]? \[?[A-Z]{3,8}\b"
    r"|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL)\]?[: ]"
    r"|Traceback \(most recent|File \"[^\"\n]{1,300}\", line \d|at [\w$.<>]{3,200}\()"
)
TAGS = ("document", "article", "email", "mail", "page", "text", "context", "transcript", "html", "body")
OPENS = re.compile(rf"[ \t]*+(?:(\"{{3}}|'{{3}})|<({'|'.join(TAGS)})\b[^>\n]{{0,200}}>)", re.IGNORECASE)
# Longer than any word that is not a chemical's or a link.
UNBROKEN = re.compile(r"[!-~]{100}")
QUOTATION_MARKS = re.compile(
    r"\"[^\"\n]++\"|“[^“”\n]++”|„[^„“”\n]++[“”]|«[^«»\n]++»|‹[^‹›\n]++›|「[^「」\n]++」|『[^『』\n]++』"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a message, by its writer or pasted."""

    text: str
    pasted: bool


def parts_of(message: str) -> list[Part]:
    """The message in order, cut where pasted text begins or ends; the parts together are the message."""
    asked = _request_end(message)
    lines = lines_of(message[:asked] if asked else message)
    flags = _long_blocks(lines, _flags(lines))
    pieces = [
        Part("".join(line.text + line.end for _, line in group), pasted)
        for pasted, group in groupby(zip(flags, lines, strict=True), key=lambda pair: pair[0])
    ]
    found = [part for piece in pieces for part in ([piece] if piece.pasted else _quotations(piece.text))]
    if asked:
        found.append(Part(message[asked:], True))
    return list(_joined(found))


def own_words(message: str) -> str:
    """What the writer of a message said in their own words."""
    return "".join(part.text for part in parts_of(message) if not part.pasted).strip()


def is_logged(text: str) -> bool:
    """Whether a passage is mostly the output of a machine: log lines, traces, endless unbroken strings."""
    lines = [line for line in text.splitlines() if line.strip()]
    logged = sum(1 for line in lines if LOG_LINE.match(line))
    return 2 * logged > len(lines) or UNBROKEN.search(text) is not None


def _flags(lines: list[Line]) -> list[bool]:
    """Which lines show by themselves, or by the line above, that they were pasted."""
    flags = list[bool]()
    rest = False
    closing = ""
    ends = _closing_lines(lines)
    for at, line in enumerate(lines):
        text = line.text
        if closing:
            flags.append(True)
            closing = "" if closing in plain(text) else closing
            continue
        opened = OPENS.match(text)
        mark = _mark(opened) if opened else ""
        if opened and ends.get(mark, -1) > at:
            closing = "" if mark in plain(text[opened.end() :]) else mark
            flags.append(True)
            continue
        mail = MAIL_HEADER.match(text) and at + 1 < len(lines) and MAIL_HEADER.match(lines[at + 1].text)
        rest = rest or bool(mail) or FORWARDED.match(text) is not None
        goes_on = bool(flags) and flags[-1] and text[:4] == "    " and not line.blank
        logged = LOG_LINE.match(text) is not None
        quoted = QUOTED.match(text) or FORGED_TURN.match(text)
        flags.append(rest or line.fenced or logged or goes_on or quoted is not None)
    return flags


def _mark(opened: re.Match[str]) -> str:
    """What closes the block that a line opens."""
    return opened[1] or f"</{opened[2].lower()}>"


def _closing_lines(lines: list[Line]) -> dict[str, int]:
    """For each mark that may close a block, the last line that has it: one never closed opens nothing."""
    found: dict[str, int] = {}
    marks = ('"""', "'''", *(f"</{name}>" for name in TAGS))
    for at, line in enumerate(lines):
        if '"""' in line.text or "'''" in line.text or "</" in line.text:
            said = plain(line.text)
            found |= {mark: at for mark in marks if mark in said}
    return found


def _long_blocks(lines: list[Line], flags: list[bool]) -> list[bool]:
    """The flags, with runs of paragraphs in which nobody speaks of themselves, if they are long enough."""
    groups = [
        [at for at, _ in rows]
        for skipped, rows in groupby(enumerate(lines), key=lambda row: row[1].blank or flags[row[0]])
        if not skipped
    ]
    texts = ["\n".join(lines[at].text for at in rows) for rows in groups]
    strange = [not phrases("myself").are_in(plain(text)) for text in texts]
    for end in (0, -1):
        if texts and len(texts[end]) <= REMARK:
            strange[end] = False
    out = list(flags)
    for is_strange, run in groupby(range(len(groups)), key=lambda number: strange[number]):
        numbers = list(run)
        if is_strange and sum(len(texts[number]) for number in numbers) >= LONG_BLOCK:
            for at in range(groups[numbers[0]][0], groups[numbers[-1]][-1] + 1):
                out[at] = True
    return out


def _request_end(message: str) -> int:
    """Where a request to work on a text ends and the text begins; 0 where there is none."""
    head = message[:REQUEST_CHARS]
    at = min((place for sign in ":：" if (place := head.find(sign)) >= 0), default=-1)
    if at < 0 or not phrases("working_on").are_in(plain(head[:at])):
        return 0
    # What is left of an address or a time is no text to work on.
    return at + 1 if message[at + 1 : at + 2].isspace() or head[at] == "：" else 0


def _quotations(text: str) -> Iterator[Part]:
    """Text of the writer's own, cut at long quotations and at those that give orders."""
    past = 0
    for quotation in QUOTATION_MARKS.finditer(text):
        size = quotation.end() - quotation.start()
        if size >= LONG_QUOTATION or (size >= QUOTATION and gives_orders(quotation[0])):
            yield Part(text[past : quotation.start()], False)
            yield Part(quotation[0], True)
            past = quotation.end()
    yield Part(text[past:], False)


def _joined(parts: list[Part]) -> Iterator[Part]:
    """Neighbours of one kind together; blank stretches go with the part before them."""
    text, pasted = "", False
    for part in parts:
        if part.pasted == pasted or not part.text.strip() or not text.strip():
            pasted = part.pasted if part.text.strip() else pasted
            text += part.text
        else:
            yield Part(text, pasted)
            text, pasted = part.text, part.pasted
    if text:
        yield Part(text, pasted)
