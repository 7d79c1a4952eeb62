"""Secrets in a text: found in six languages, and everything that only looks like one left alone."""

import re
from time import process_time

import pytest

from oneclaw import masking
from oneclaw.masking import MASK, cover, kind_of_secret, mask

# A text, and the words of it that nobody else may read.
SECRETS = [
    ("My card is 4111 1111 1111 1111, 12/27, 123.", "4111 123"),
    ("Visa 4111111111111111 cvc 737", "4111111111111111 737"),
    ("Amex 3782 822463 10005 exp 04/28 CVV: 1234", "822463 1234"),
    ("card 5555-5555-5555-4444", "5555"),
    ("key sk-proj-abcdEFGH1234567890abcdEFGH", "abcdEFGH"),
    ("OPENAI_API_KEY=sk-ant-api03-AAAABBBBCCCCDDDD1111222233334444", "AAAABBBB"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefgh"),
    ("AKIAIOSFODNN7EXAMPLE is the key", "AKIAIOSFODNN7EXAMPLE"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalr"),
    (
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "eyJhbG",
    ),
    ("my password is hunter2", "hunter2"),
    ("My wifi password is swordfish.", "swordfish"),
    ("the password for the NAS is Sonne!blume", "Sonne"),
    ("Password: Tr0ub4dor&3", "Tr0ub"),
    ("mein Passwort lautet Kirschbaum77", "Kirsch"),
    ('Das WLAN-Passwort ist "grüner apfel baum"', "grüner"),
    ("Kennwort: geheim123", "geheim123"),
    ("mi contraseña es gatoNegro9", "gatoNegro9"),
    ("La contraseña del wifi es perrito", "perrito"),
    ("mon mot de passe est Soleil2024!", "Soleil"),
    ("Le mot de passe du wifi : chaton", "chaton"),
    ("我的密码是abc12345", "abc12345"),
    ("密码：hunter2。", "hunter2"),
    ("パスワードはhunter2です", "hunter2"),
    ("暗証番号は4711です", "4711"),
    ("PIN is 4711", "4711"),
    ("My pin: 0815", "0815"),
    ("Die PIN für die EC-Karte ist 4711", "4711"),
    ("postgres://app:s3cr3t@db.example.org/shop", "s3cr3t"),
    ("redis://:pa55@cache:6379/0", "pa55"),
    ("Server=db;User Id=sa;Password=Passw0rd!;Database=x", "Passw0rd"),
    ("hunter2 is my password", "hunter2"),
    ("I changed my password to Blumen4711!", "Blumen"),
    ("wifi FRITZ!Box 7590, password Kirschbaum77", "Kirschbaum77"),
    ("api key: 9f86d081884c7d659a2feaa0c55ad015", "9f86d0"),
    ("Authorization: Bearer abcdef1234567890abcdef", "abcdef123"),
    ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXX1XXXXXXXXXXXXXXX", "XXXXXXXX1"),
    (
        "seed phrase: abandon ability able about above absent absorb abstract absurd abuse access accident",
        "abandon",
    ),
    ("The access token is 8f14e45fceea167a5a36dedd4bea2543", "8f14"),
    ("'password': 'hunter2'", "hunter2"),
    ('{"password": "correct horse battery"}', "horse"),
    ("El PIN es 4321", "4321"),
    ("Le code pin est 4321", "4321"),
    ("door code is 4821", "4821"),
    ("La clave es gato2024", "gato2024"),
    ("pw: sunshine", "sunshine"),
    ("glpat-ABCDEFGHIJ1234567890", "ABCDEF"),
    ("４１１１ １１１１ １１１１ １１１１", "１１１１"),
    ('password = "abc def"', "abc def"),
]
ORDINARY = [
    "the password is wrong",
    "The password is not working",
    "password is required",
    "Passwords are hashed with SHA256 and bcrypt",
    "Das Passwort ist falsch",
    "Mein Passwort ist zu kurz",
    "La contraseña es incorrecta",
    "La clave es la paciencia",
    "The key is patience, the secret is practice.",
    "Le mot de passe est trop court",
    "密码是错的",
    "密码不对",
    "パスワードは間違っています",
    "パスワードはGoogleに保存しています",
    "Order number 1234567890123456",
    "order #4111111111111111",
    "ISBN 978-3-16-148410-0",
    "ISBN 9783161484100",
    "call me at +49 170 1234567 or 0049 170 1234567890",
    "(555) 123-4567",
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 5afb02c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f6a7",
    "1731870349123",
    "0.4111111111111111",
    "IMEI 353456789012348",
    "the token limit is 4096 tokens",
    "Use scikit-learn, sk-learn-contrib-imbalanced-and-friends",
    "I forgot my password for the router",
    "password reset in 2024 took long",
    "Remind me to change my password tomorrow",
    "We use OAuth2 tokens and 1Password",
    "pin the package to version 2.3.1",
    "The PIN code is on the card",
    "The secret to good bread is time",
    "http://localhost:8000/a:b@c",
    "Bearer of good news everywhere today",
    "What is my password?",
    "the password manager is Bitwarden",
    "I keep passwords in 1Password",
    "api key rotation is every 90 days",
    "The API key is stored in Vault",
    "Flight LH1234567890123 on 2026-05-03",
    "2026-05-03 10:15:30 4500 records, 4501 rows, 4502 more",
    "Code: see chapter 12",
    "token: the smallest unit",
    "My passport is C01X00T47",
    "Ich wohne in 10115 Berlin, Kundennummer 20231234567",
    "La contraseña es la misma de siempre",
    "password: must have 12 characters",
    "Mein Passwort ist sicher im Tresor",
    "the passcode is in the drawer",
    "0049 30 901820 4",
    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
    "4 8 15 16 23 42 4 8 15 16 23 42",
    "Die Kontonummer 532013000",
    "secret santa is Anna",
    "secret: Anna",
    "https://example.org/reset?page=2",
    "The password is the name of my first pet",
]


@pytest.mark.parametrize(("text", "words"), SECRETS)
def test_a_secret_is_masked(text: str, words: str):
    masked = mask(text)
    assert MASK in masked
    assert not [word for word in words.split() if word in masked]


@pytest.mark.parametrize("text", ORDINARY)
def test_what_is_no_secret_stays(text: str):
    assert mask(text) == text


def test_masking_twice_changes_nothing():
    for text, _ in SECRETS:
        assert mask(mask(text)) == mask(text)


def test_an_address_keeps_what_it_is_about():
    assert mask("postgres://app:s3cr3t@db.example.org/shop") == f"postgres://app:{MASK}@db.example.org/shop"


@pytest.mark.parametrize(
    "kind", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
def test_a_private_key_goes_whole_and_may_keep_its_lines(kind: str):
    body = "\n".join(["MIIEpAIBAAKCAQEAv7Yc0f3h5oQm1u8Zs2r4" * 2] * 4)
    text = f"Here:\n-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\nand that was it"
    assert mask(text) == f"Here:\n{MASK}\nand that was it"
    assert mask(text, keep_lines=True).count("\n") == text.count("\n")
    torn = f"Here:\n-----BEGIN {kind}-----\n{body}"
    assert mask(torn) == f"Here:\n{MASK}"


def test_every_issuer_is_known_in_any_grouping():
    for number in (
        "4012888888881881",
        "5105105105105100",
        "2223003122003222",
        "378282246310005",
        "30569309025904",
        "6011111111111117",
        "3530111333300000",
        "6200000000000005",
        "4222222222222",
        "6759649826438453",
    ):
        for card in (number, " ".join(re.findall(".{1,4}", number)), "-".join(re.findall(".{1,4}", number))):
            assert mask(f"It is {card}, thanks") == f"It is {MASK}, thanks"
        wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
        assert mask(f"It is {wrong}, thanks") == f"It is {wrong}, thanks"


def test_a_refusal_can_say_what_it_found():
    assert kind_of_secret("card 4111 1111 1111 1111") == masking.CARD
    assert kind_of_secret("my password is hunter2") == masking.PASSWORD
    assert kind_of_secret("I like trains") == ""


def test_what_is_covered_comes_back_or_not_at_all():
    text = "- The password is hunter2\n- Card 4111 1111 1111 1111\n- Likes [secret 1] gardens"
    covered = cover(text)
    assert "hunter2" not in covered.text
    assert covered.uncovered(covered.text) == text
    assert covered.uncovered(covered.text.replace(next(iter(covered.signs)), "")) is None


UNITS = [
    "password is ",
    "password for a a a a a ",
    "4111 ",
    "4",
    "4 ",
    "eyJ",
    "eyJa.eyJ",
    "a:",
    "http://a:",
    "密码是",
    "pin ",
    "seed phrase ",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----\n",
    "A-",
    "token=",
    'password"',
    "x is my ",
    "cvc ",
    "4111 1111 1111 1111 ",
    "recovery abandon ability ",
    "a=",
    "-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAAAAAA",
]


@pytest.mark.parametrize("unit", UNITS)
def test_the_cost_grows_with_the_length_and_no_faster(unit: str):
    def cost(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        return min(_timed(text) for _ in range(3))

    # Of the square it would be four; what is too quick to measure is linear enough.
    assert cost(16_000) <= 3.2 * cost(8_000) + 0.02


def _timed(text: str) -> float:
    start = process_time()
    mask(text)
    return process_time() - start
