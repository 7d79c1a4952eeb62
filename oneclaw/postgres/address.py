"""ONECLAW_DATABASE_URL: read into Django's settings, and never repeated with its password."""

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.core.exceptions import ImproperlyConfigured

SCHEMES = ("postgres", "postgresql")
EXAMPLE = "postgres://oneclaw:password@db.example.org:5432/oneclaw"


def without_password(url: str) -> str:
    """The same address for others to see: PostgreSQL's own library finds the password in ~/.pgpass."""
    parts = urlsplit(url)
    who, at, where = parts.netloc.rpartition("@")
    fields = [field for field in parse_qsl(parts.query) if "password" not in field[0].lower()]
    return parts._replace(netloc=who.partition(":")[0] + at + where, query=urlencode(fields)).geturl()


def database(url: str, connections: int) -> dict[str, Any]:
    """Django's settings for the database at this address, with at most so many connections a process."""
    # Imported here: an installation on SQLite needs none of it.
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    if urlsplit(url).scheme not in SCHEMES:
        raise ImproperlyConfigured(f"ONECLAW_DATABASE_URL must begin with postgres://, such as {EXAMPLE}.")
    try:
        parts: dict[str, Any] = conninfo_to_dict(url)
    except ProgrammingError:
        # Psycopg's own words may hold the password.
        raise ImproperlyConfigured(
            f"ONECLAW_DATABASE_URL can't be read. It should look like {EXAMPLE}; "
            "write characters such as @ or / in a password as %40 or %2F."
        ) from None
    name = parts.pop("dbname", None)
    if not name:
        raise ImproperlyConfigured(f"ONECLAW_DATABASE_URL names no database. It should look like {EXAMPLE}.")
    return {
        "ENGINE": "oneclaw.postgres",
        "NAME": name,
        "USER": parts.pop("user", ""),
        "PASSWORD": parts.pop("password", ""),
        "HOST": parts.pop("host", ""),
        "PORT": parts.pop("port", ""),
        # A connection that was cut is noticed when it is taken from the pool, not by whoever gets it.
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": "10",
            "application_name": "oneclaw",
            **parts,
            # Who gives up early begins anew, instead of waiting ever longer for a server that is back.
            "pool": {"min_size": 0, "max_size": connections, "timeout": 10, "reconnect_timeout": 5},
        },
    }
