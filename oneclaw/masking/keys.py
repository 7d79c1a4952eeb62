"""Private keys, tokens of known shapes, and addresses with a password in them."""

import re
from collections.abc import Iterator

from oneclaw.masking.secret import CONNECTION, KEY, MASK, PRIVATE_KEY, Secret

# Private keys: a block in armour. One without its end reaches as far as lines look like its inside.
ARMOUR = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
INSIDE = re.compile(
    r"(?:\s*+(?:[A-Za-z0-9+/=]{16,}+|[A-Za-z-]{1,40}+: [^\n]{0,200}+)(?=\s|\\n|\Z)|\s++|\\n)*+"
)
ARMOUR_END = re.compile(r"[^\n]{0,100}?-----END [A-Z0-9 ]{1,60}-----")


def private_keys(text: str) -> Iterator[Secret]:
    at = 0
    while match := ARMOUR.search(text, at):
        inside = INSIDE.match(text, match.end())
        end = inside.end() if inside else match.end()
        closing = ARMOUR_END.match(text, end)
        end = closing.end() if closing else match.start() + len(text[match.start() : end].rstrip())
        yield Secret(match.start(), end, PRIVATE_KEY)
        at = end


# `scheme://name:password@host`: the password alone goes, so that the address still says what it is about.
ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,30}+://[^\s/:@\"'<>]{0,200}+:([^\s/@\"'<>]{1,200}+)@", re.IGNORECASE
)


def addresses(text: str) -> Iterator[Secret]:
    if "://" not in text:
        return
    for match in ADDRESS.finditer(text):
        if match[1] != MASK:
            yield Secret(match.start(1), match.end(1), CONNECTION)


SHORTEST = 16
# Keys and tokens that tell by their shape what they are. Tried at the start of each long word only.
LONG_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z0-9][A-Za-z0-9_.:+/=~-]{15,}+")
SHAPES = re.compile(
    "|".join(
        (
            r"sk-[A-Za-z0-9_-]{20,}+",  # OpenAI, Anthropic, OpenRouter and many alike
            r"(?:gsk|hf|r8|tgp|nvapi|fw|pplx|xai|csk|lin_api|ntn|figd|napi|dop|dor|doo)[_-](?:v1_)?[A-Za-z0-9_-]{24,}+",
            r"oc_[A-Za-z0-9]{40,}+",  # our own
            r"gh[pousr]_[A-Za-z0-9]{30,}+",
            r"github_pat_[A-Za-z0-9_]{22,}+",
            r"gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{20,}+",
            r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}+",
            r"xapp-[A-Za-z0-9-]{10,}+",
            r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
            r"AIza[A-Za-z0-9_-]{30,}+",
            r"GOCSPX-[A-Za-z0-9_-]{20,}+",
            r"ya29\.[A-Za-z0-9_-]{20,}+",
            r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}+",
            r"whsec_[A-Za-z0-9+/=]{20,}+",
            r"npm_[A-Za-z0-9]{30,}+",
            r"pypi-[A-Za-z0-9_-]{40,}+",
            r"dckr_[a-z]{2,4}_[A-Za-z0-9_-]{20,}+",
            r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+",
            r"[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}+",  # Telegram
            r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}+",  # Discord
            r"SK[0-9a-f]{32}(?![A-Za-z0-9])",  # Twilio
            r"key-[0-9a-f]{32}(?![A-Za-z0-9])",  # Mailgun
            r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
            r"sq0[a-z]{3}-[A-Za-z0-9_-]{20,}+",
            r"dapi[0-9a-f]{32}",
            r"hv[sbr]\.[A-Za-z0-9_-]{20,}+",
            r"tskey-[A-Za-z0-9-]{16,}+",
            r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{20,}+",
            r"sntry[su]_[A-Za-z0-9_+/=-]{20,}+",
            r"ATATT3[A-Za-z0-9_=-]{20,}+",
            r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
            r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+",
            r"eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{4,}+(?:\.[A-Za-z0-9_-]*+)?",  # JWT
        )
    )
)
WEBHOOK = re.compile(
    r"https://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/([A-Za-z0-9_/-]{20,200}+)"
)
BEARER = re.compile(r"\bbearer\s{1,3}([A-Za-z0-9._~+/=-]{16,}+)", re.IGNORECASE)


def tokens(text: str) -> Iterator[Secret]:
    # Each of them is one word, and most texts have none so long.
    if max(map(len, text.split()), default=0) < SHORTEST:
        return
    for word in LONG_WORD.finditer(text):
        shape = SHAPES.match(text, word.start())
        if shape is None and "=" in word[0]:
            # KEY=sk-… as in a shell or an environment file
            shape = SHAPES.match(text, word.start() + word[0].index("=") + 1)
        if shape and not telling(shape[0]):
            yield Secret(shape.start(), shape.end(), KEY)
    for match in (*WEBHOOK.finditer(text), *BEARER.finditer(text)):
        if any(sign.isdigit() for sign in match[1]):
            yield Secret(match.start(1), match.end(1), KEY)


def telling(shape: str) -> bool:
    """Words in the shape of a token, such as `sk-learn-contrib-and-its-friends`: letters and dashes alone."""
    return not any(sign.isdigit() for sign in shape) and shape.islower()
