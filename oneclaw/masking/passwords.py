"""Passwords and codes by the words around them, in English, German, Spanish, French, Chinese, Japanese."""

import re
from collections.abc import Iterator
from itertools import pairwise

from oneclaw.masking.secret import MASK, PASSWORD, Secret

# What a password or a code is called.
LABELS = re.compile(
    r"(?P<word>pass-?word|passwd|pass-?phrase|pass-?code|passwort|kennwort|zugangscode|contraseñas?|"
    r"mots? de passe|mdp|(?<!\w)pwd?(?!\w))"
    # What follows these is often something else, so it has to look like a secret.
    r"|(?P<code>(?<![^\W_])(?:pin(?:-?(?:code|nummer))?|puk|geheimzahl|"
    r"(?:2fa|otp|recovery|backup|security|unlock|door|alarm|gate|entry|access) codes?|"
    r"código(?: de acceso)?|clave(?: secreta| de acceso)?|code (?:secret|d'accès|pin)|"
    r"(?:api|secret|access|private|encryption|licen[cs]e|account|shared|signing|master)[ _-]?"
    r"(?:access[ _-]?)?key|api[ _-]?schlüssel|clé (?:d[’']?api|secrète|privée)|"
    r"(?:auth|access|api|refresh|bearer|secret|session|bot)[ _-]?token|token|"
    r"client[ _-]?secret|secret)(?!\w))"
    r"|(?P<cjk>密码|密碼|口令|密钥|密鑰|金鑰|验证码|驗證碼|パスワード|パスコード|暗証番号|合言葉)",
    re.IGNORECASE,
)
QUICK = re.compile(
    r"pass|pwd?\b|mdp|kennwort|zugangs|contrase|pin|puk|code|código|clave|key|schlüssel|clé|token|secret|geheim|seed|recovery|mnemonic|wiederherst|semilla|"
    r"[密口金验驗パ暗合]",
    re.IGNORECASE,
)
# The same for plain ASCII: looking for each part by itself is ten times as quick, and most texts have none.
PARTS = (
    *("pass", "pw", "mdp", "kennwort", "zugangs", "contrase", "pin", "puk", "code", "clave", "key", "token"),
    *("secret", "geheim", "seed", "recovery", "mnemonic", "wiederherst", "semilla"),
)
# What may stand between the label and the secret: " for the NAS is ", " lautet ", ": ".
LINK = re.compile(
    r"[\"'”`*_)\]]{0,3}(?P<between>(?:\s+(?:for|of|to|on|at|in|für|fürs|von|vom|zu|zum|zur|im|am|beim|"
    r"de|del|para|du|des|pour|au)(?:\s+[^\s:=.,;!?？。()]{1,30}){1,5}?)?)"
    r"(?:\s*(?:[:=：＝]|->|→|=>)\s*"
    r"|\s+(?P<verb>is now|is still|is|was|lautet|ist|war|es|era|est|était|heißt)\s+"
    r"|\s+(?P<change>to|into|auf|zu|por|en)\s+)"
    r"(?P<quote>[\"'“„«`*「『]{0,3})",
    re.IGNORECASE,
)
BESIDE = re.compile(r"\s(?P<quote>[\"'“„«`]?)(?P<between>)(?P<verb>)(?P<change>)")
CJK_LINK = re.compile(
    r"(?:[^\s是为為はが:：=。，、！？]{0,12}?)\s*(?:是|为|為|は|が|[:：=＝])\s*(?P<quote>[\"'“”「『`]?)"
)
VALUE = re.compile(r"[^\s\"”“»`」』，。、；]{1,128}+")
ASCII_VALUE = re.compile(r"[!-~]{3,128}+")
CLOSING = re.compile(r"([^\n\"”“»`」』]{1,128}?)[\"'”“»`」』*]")
ENDS = re.compile(
    r"\s*(?:[.,;!)。、，]|$|\n|です|だ(?![ぁ-ん])|でした|(?:and|or|und|oder|y|o|et|ou)\b)", re.IGNORECASE
)
# Said of a password, and no password themselves.
ORDINARY = frozenset(
    re.findall(
        r"\S+",
        """
        a an the this that these my our your his her its their not no never now still same also
        always only just too very so wrong incorrect invalid correct right good bad fine ok okay
        expired required missing needed mandatory optional weak strong safe unsafe secure insecure
        unknown known empty blank null none set unset changed saved stored kept hashed encrypted
        salted lost forgotten compromised leaked stolen long short old new different default visible
        hidden masked shown in on at of for from with without by under behind as like what where
        when how who why which something anything nothing everything somewhere there here written
        printed being been going must should can could would will may might has have had do does did
        be are was is one required: case-sensitive protected rejected accepted working broken locked
        disabled enabled available unavailable reused shared rotated reset stale gone up out down
        back about between if because but and or than then via per to it you we they he she i falsch
        richtig korrekt abgelaufen ungültig gültig nicht kein keine zu sehr sicher unsicher schwach
        stark leer vergessen geändert gespeichert das der die den dem des ein eine einen einem mein
        meine dein ihr im auf bei am dasselbe dieselbe gleich kurz lang erforderlich nötig weg
        bekannt unbekannt noch schon immer nur auch jetzt neu alt wie wo wenn weil für von vom mit
        ohne unter hinter geschützt verschlüsselt verloren gesperrt hinterlegt notiert incorrecta
        incorrecto correcta correcto errónea inválida válida caducada segura débil fuerte la el los
        las un una mi tu su muy demasiado necesaria obligatoria desconocida vacía nueva vieja
        olvidada guardada cambiada que en de del por para con sin como donde cuando la-misma igual
        larga corta distinta faux fausse incorrecte correcte invalide valide expiré périmé sûr
        faible fort trop très le les une mon ma ton ta son sa pas vide oublié enregistré changé
        inconnu requis obligatoire nécessaire dans sur sous avec sans pour comme où quand toujours
        encore nouveau ancien court différent même bon mauvais du au aux ce cette
        """,
    )
)
# Names of methods and products with a digit in them.
METHODS = re.compile(
    r"(?:sha|md|aes|rsa|oauth|utf|base|ed|p|argon|pbkdf|bcrypt|x|http|tls|ssl|ipv|1password|2fa|mfa|totp|v|python|"
    r"win(?:dows)?|iso|rfc|cve|jwt|id)-?[0-9][a-z0-9.-]{0,12}|[0-9]+(?:st|nd|rd|th|x|k|m|gb|mb|h|min|s|-digit|-char\w*)?|"
    r"(?:1password|2fa|3d-?secure)",
    re.IGNORECASE,
)
PHRASE = re.compile(r"(?:[a-z]{3,8}\s){11,23}+[a-z]{3,8}\b")
PHRASE_LABEL = re.compile(
    r"(?:seed|recovery|mnemonic|wiederherstellungs|semilla)[ -]?(?:phrase|words|wörter|phrases?)?", re.I
)
BACKWARDS = re.compile(
    r"(?<![^\s\"'“„«`(])(?P<value>[^\s\"'”“„«»`(),]{4,64}+)[\"'”»`]?\s(?:is|was|ist|war|es|era|est)\s"
    r"(?:(?:my|our|the|his|her|mein|unser|das|mi|la|nuestra|mon|le|notre|son|su)\s)(?:[\w-]{1,20}\s){0,2}"
    r"(?:password|passphrase|passcode|pin|passwort|kennwort|contraseña|mot de passe)(?!\w)",
    re.IGNORECASE,
)


def named(text: str) -> Iterator[Secret]:
    """What is called a password or a code in so many words."""
    if not may_name(text):
        return
    for label in LABELS.finditer(text):
        found = after_cjk(text, label.end()) if label["cjk"] else after(text, label)
        if found:
            yield Secret(*found, PASSWORD)
    for match in BACKWARDS.finditer(text):
        if is_mixed(match["value"]) and not METHODS.fullmatch(match["value"]):
            yield Secret(match.start("value"), match.end("value"), PASSWORD)
    for match in PHRASE_LABEL.finditer(text):
        phrase = PHRASE.search(text, match.end(), match.end() + 300)
        if phrase:
            yield Secret(phrase.start(), phrase.end(), PASSWORD)


def may_name(text: str) -> bool:
    """Whether any part of a label is in a text at all."""
    if text.isascii():
        lowered = text.lower()
        if not any(part in lowered for part in PARTS):
            return False
    return bool(QUICK.search(text))


def after(text: str, label: re.Match[str]) -> tuple[int, int] | None:
    """The secret behind a label, if what stands there is one."""
    link = LINK.match(text, label.end(), label.end() + 280)
    beside = link is None
    link = link or BESIDE.match(text, label.end())
    value = VALUE.match(text, link.end()) if link else None
    if link is None or value is None:
        return None
    start, words = value.start(), value[0].rstrip(".,;:!?)*_'…>")
    if not link["verb"]:
        # In a connection string the next part follows.
        words = words.partition(";")[0]
    if words == MASK or words.startswith(MASK) or not words:
        return None
    if link["quote"] and (closing := CLOSING.match(text, start)) and closing[1].strip():
        if label["word"] or is_mixed(closing[1]):
            return start, closing.end(1)
        return None
    plain = words.strip("'\"").casefold()
    ordinary = plain in ORDINARY or METHODS.fullmatch(plain)
    if label["word"]:
        if link["change"] is not None or beside:
            secret = is_mixed(words) and len(words) >= 6 and not METHODS.fullmatch(plain)
        else:
            numeric = plain.isdecimal() and 4 <= len(plain) <= 12
            # One word and nothing after it is the password; amid a sentence it must look like one.
            alone = bool(ENDS.match(text, start + len(words)))
            secret = numeric or (not ordinary and (is_mixed(words) or alone))
    else:
        numeric = plain.isdecimal() and 4 <= len(plain) <= 12 and is_code(label[0])
        secret = (numeric and not beside) or (
            is_mixed(words) and len(words) >= 8 and not ordinary and not link["between"]
        )
    return (start, start + len(words)) if secret else None


def after_cjk(text: str, at: int) -> tuple[int, int] | None:
    """Chinese and Japanese passwords are Latin letters and digits: words of the language are none."""
    link = CJK_LINK.match(text, at, at + 40)
    value = ASCII_VALUE.match(text, link.end()) if link else None
    if link is None or value is None:
        return None
    words = value[0].rstrip(".,;:!?)\"'")
    if words.startswith(MASK) or len(words) < 3:
        return None
    alone = ENDS.match(text, link.end() + len(words)) and words.casefold() not in ORDINARY
    if is_mixed(words) or words.isdecimal() or link["quote"] or alone:
        return link.end(), link.end() + len(words)
    return None


def is_code(label: str) -> bool:
    """Whether a label's secret may be a few digits: a PIN and its like, not a token."""
    return not any(part in label.casefold() for part in ("token", "secret", "key", "schlüssel", "clé"))


def is_mixed(words: str) -> bool:
    """Letters with digits, or with signs inside, or capitals amid small letters: no word of a language."""
    letters = any(sign.isalpha() for sign in words)
    digits = any(sign.isdigit() for sign in words)
    signs = any(not sign.isalnum() and sign not in "-'’./_" for sign in words[:-1])
    inner = any(one.islower() and two.isupper() for one, two in pairwise(words))
    return (letters and digits) or (letters and signs) or (digits and signs) or inner
