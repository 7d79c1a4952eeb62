"""Card numbers and the code beside them; other long numbers are none."""

import re
from collections.abc import Iterator

from oneclaw.masking.secret import CARD, Secret

# Card numbers: 13 to 19 digits, in groups or not, with a known issuer's prefix and Luhn's check digit.
DIGITS = re.compile(r"(?<![\w+.,])\d(?:[ \u00a0\u2009\u202f‐‑–-]?\d){12,79}+(?!\w|[.,]\d)")
GROUP = re.compile(r"\d+")
ISSUERS = re.compile(
    r"4|5[0-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[47]|3(?:0[0-5]|095|[689])|6(?:011|2|4[4-9]|5)|5[6-8]|6[0-9]"
)
JCB = re.compile(r"35(?:2[89]|[3-8])")
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
# What stands before a long number that is no card's.
OTHER_NUMBER = re.compile(
    r"(?:order|invoice|tracking|shipment|parcel|serial|ticket|case|ean|gtin|isbn|imei|upc|tel|phone|bestell\w*|"
    r"rechnung\w*|sendung\w*|"
    r"auftrag\w*|pedido|factura|commande|facture|suivi|订单号?|单号|訂單|注文番号|伝票番号)"
    r"[ -]?(?:number|numbers|nummer|nr|no|num|id|code|número|numéro|n°)?[.:#°= ]{0,4}$",
    re.IGNORECASE,
)
AFTER_CARD = re.compile(
    r"[\s,;|/]{0,4}(?:[^\W\d]{1,12}[\s:.,]{1,3}){0,2}(?:\d{1,2} ?/ ?\d{2,4})?"
    r"[\s,;|/]{1,4}(\d{3,4})(?!\w|[/.-]\w)"
)
DIGIT = re.compile(r"\d")
THREE_DIGITS = re.compile(r"\d{3}")
CVC = re.compile(
    r"\b(?:cvc2?|cvv2?|cvn|card verification (?:code|value|number)|security code|prüfziffer|prüfnummer|"
    r"kartenprüfnummer|código de seguridad|cryptogramme(?: visuel)?|code de sécurité)\b"
    r"[\s:=#]{0,3}(?:(?:is|ist|lautet|es|est)\s)?\s?(\d{3,4})(?!\w)"
    r"|(?:安全码|安全碼|セキュリティコード)[\s:：是はが为為]{0,3}(\d{3,4})(?!\d)",
    re.IGNORECASE,
)


def cards(text: str) -> Iterator[Secret]:
    if not DIGIT.search(text):
        return
    for run in DIGITS.finditer(text):
        if OTHER_NUMBER.search(text[max(0, run.start() - 40) : run.start()]):
            continue
        for start, end in windows(run):
            if any(
                one.start() <= start < one.end() for one in UUID.finditer(text, max(0, start - 36), end + 36)
            ):
                continue
            yield Secret(start, end, CARD)
            if beside := AFTER_CARD.match(text, end):
                yield Secret(beside.start(1), beside.end(1), CARD)
    # Most texts have no such number, and looking for the words before it takes half of all masking's time.
    if not THREE_DIGITS.search(text):
        return
    for match in CVC.finditer(text):
        group = 1 if match[1] else 2
        yield Secret(match.start(group), match.end(group), CARD)


def windows(run: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Neighbouring groups that make a card number; a date or a CVC may stand on either side of them."""
    groups = [(run.start() + one.start(), run.start() + one.end()) for one in GROUP.finditer(run[0])]
    first = 0
    while first < len(groups):
        found = card_from(run.string, groups[first : first + 6])
        if found:
            yield groups[first][0], groups[first + found - 1][1]
        first += found or 1


def card_from(text: str, groups: list[tuple[int, int]]) -> int:
    """How many of these groups make a card number, as cards are printed: 4-4-4-4, 4-6-5, 4-3-3-3; or none."""
    digits, found = "", 0
    for count, (start, end) in enumerate(groups, start=1):
        digits += "".join(str(int(digit)) for digit in text[start:end])
        if len(digits) > 19:
            break
        if len(digits) >= 13 and is_card(digits):
            found = count
        if end - start < (4 if count == 1 else 3):
            break
    return found


def is_card(digits: str) -> bool:
    # Fifteen digits that begin with 35 are a telephone's IMEI, which has the same check digit.
    known = ISSUERS.match(digits) or (JCB.match(digits) and len(digits) >= 16)
    return bool(known) and luhn(digits) and len(set(digits)) > 1


def luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0
