"""A provider's address: put in order when it is entered, and refused when it can't be one."""

from urllib.parse import urlsplit, urlunsplit

from django.core.exceptions import ValidationError

# What people paste from documentation, and the path that each protocol has when none is given.
TAILS = ("/chat/completions", "/completions", "/messages", "/models")
ROOTS = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}


def validate_base_url(url: str) -> None:
    """http or https, a host, and nothing secret or odd in it."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or 0 < parts.port < 65536
    except ValueError:
        raise ValidationError("Write an address such as https://api.example.org/v1.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise ValidationError("Write an address that begins with http:// or https://.")
    if parts.username or parts.password:
        raise ValidationError("Put the key in its own field, not in the address.")
    if parts.query or parts.fragment or any(letter.isspace() for letter in url) or not url.isprintable():
        raise ValidationError("Leave out everything after the path: no ?, no #, no blanks.")


def tidy(url: str, kind: str) -> str:
    """The address as the adapters want it: no trailing slash, no method, a path where one is needed."""
    url = url.strip().rstrip("/")
    if "://" not in url and url:
        local = url.startswith(("localhost", "127.", "[::1]"))
        url = f"{'http' if local else 'https'}://{url}"
    for tail in TAILS:
        url = url.removesuffix(tail).rstrip("/")
    validate_base_url(url)
    parts = urlsplit(url)
    path = parts.path or ROOTS.get(kind, "")
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), path, "", ""))


def same_place(one: str, other: str) -> bool:
    """Whether a key that was given for one address may be sent to the other."""
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.netloc.lower()) == (second.scheme, second.netloc.lower())


def host(url: str) -> str:
    return urlsplit(url).netloc
