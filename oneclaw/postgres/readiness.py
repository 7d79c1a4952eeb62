"""What a PostgreSQL server must have before OneClaw starts on it; a lack is told with what to do."""

import time

from django.db import DatabaseError, connection, transaction

from oneclaw.postgres import news

OLDEST = 14
OLDEST_VECTOR = (0, 7)  # the first with distances between bits
# In every sentence about an address.
URL = "ONECLAW_DATABASE_URL"
# What keeps a server from being reached, by words of its driver's or its own, and what to do about it.
CAUSES = {
    "Connection refused": "Nothing answers at this host and port. Start PostgreSQL, let it listen there "
    f"(listen_addresses), or correct {URL}.",
    "starting up": "PostgreSQL is still starting. Try again in a moment.",
    "No such file or directory": f"PostgreSQL has no socket there. Start it, or name its host in {URL}.",
    "resolve host": f"There is no such host. Correct its name in {URL}.",
    "translate host name": f"There is no such host. Correct its name in {URL}.",
    "port number": f"A port is a number from 1 to 65535. Correct it in {URL}.",
    'option "port"': f"A port is a number from 1 to 65535. Correct it in {URL}.",
    "timeout expired": f"The host does not answer. Look at its firewall, or correct {URL}.",
    "timed out": f"The host does not answer. Look at its firewall, or correct {URL}.",
    "password authentication failed": f"The name or the password is wrong. Correct them in {URL}, where @ is "
    "written %40 and / %2F, or set the password anew: ALTER ROLE … PASSWORD '…'.",
    "no password supplied": f"The server wants a password. Write it into {URL}: postgres://name:password@….",
    "Peer authentication failed": "By its socket the server lets in only the account of the same name. Run "
    f"OneClaw as that, or name a host and a password in {URL}.",
    "no pg_hba.conf entry": "The server lets nobody in from this machine under this name. Add a line to its "
    "pg_hba.conf and reload it.",
    "not permitted to log in": "Run as the server's admin: ALTER ROLE … LOGIN.",
    "role ": f"There is no such role. Create it (CREATE ROLE … LOGIN PASSWORD '…'), or correct {URL}.",
    "permission denied for database": "This role may not connect to it. Run as the server's admin: "
    "GRANT CONNECT ON DATABASE … TO ….",
    "database ": f"There is no such database. Create it (CREATE DATABASE … OWNER …), or correct {URL}.",
    "too many": "The server has no connection left. Raise its max_connections, or lower "
    "ONECLAW_DATABASE_CONNECTIONS.",
    "connection slots": "The server has no connection left. Raise its max_connections, or lower "
    "ONECLAW_DATABASE_CONNECTIONS.",
    "certificate": f"Its certificate is not the one to be expected. See sslmode and sslrootcert in {URL}.",
    "SSL": f"The two don't agree on encryption. See sslmode in {URL}.",
}
# These may pass by themselves, as while the machine starts.
PASSING = ("Connection refused", "starting up", "No such file or directory")


def place() -> str:
    """The database for people; never with a password."""
    facts = connection.settings_dict
    return f"{facts['NAME']} on {facts['HOST'] or 'this machine'}"


def unreachable(patience: float = 0.0) -> str:
    """Why the database can't be reached, with what to do; nothing when it can.

    The pool would only say that it got no connection, and wait ten seconds for that.
    """
    from psycopg import Error

    until = time.monotonic() + patience
    while True:
        try:
            # Under another name: it is not OneClaw at work.
            news.connect(application_name="oneclaw-look").close()
        except Error as error:
            said = str(error)
            if not any(words in said for words in PASSING) or time.monotonic() >= until:
                return explained(said)
            time.sleep(0.5)
        else:
            return ""


def explained(said: str) -> str:
    """A driver's words in one line, and what to do."""
    line = next(iter(said.strip().splitlines()), "").rstrip(".")
    # Names of hosts, roles and databases stand in quotation marks and may be anything; so the first line
    # is looked at from its end, where the reason stands.
    reason = line.rpartition("failed: ")[2].rpartition("FATAL:  ")[2].removeprefix("connection is bad: ")
    known = (advice for words, advice in CAUSES.items() if words in reason)
    advice = next(known, f"See {URL} and the log of PostgreSQL.")
    return f"The database {place()} can't be opened: {reason}. {advice}"


def lacking(*, change: bool = True) -> str:
    """What is missing for OneClaw; nothing when all is there. It makes the extension where it may."""
    if fault := unreachable():
        return fault
    connection.ensure_connection()
    version = connection.connection.info.server_version // 10_000 if connection.connection else 0
    if version < OLDEST:
        return f"PostgreSQL {version} is too old: OneClaw needs {OLDEST} or newer."
    return _encoding() or _rights() or _vectors(version, change)


def _encoding() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_encoding")
        encoding = cursor.fetchone()[0]
    if encoding == "UTF8":
        return ""
    return f"The database is encoded as {encoding}. Create it with: CREATE DATABASE … ENCODING 'UTF8'."


def _rights() -> str:
    """Since PostgreSQL 15 only its owner may make tables in a database's schema public."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT CURRENT_USER, CURRENT_DATABASE(), CURRENT_SCHEMA(), "
            "has_schema_privilege(CURRENT_SCHEMA(), 'CREATE')"
        )
        role, name, schema, may = cursor.fetchone()
    if may:
        return ""
    return (
        f"The role {role} may not make tables in the database {name}. Run as the server's admin: "
        f'ALTER DATABASE "{name}" OWNER TO "{role}"; or, connected to that database: '
        f'GRANT ALL ON SCHEMA {schema or "public"} TO "{role}".'
    )


def extension() -> tuple[str | None, str | None]:
    """The version of pgvector that the database has, and the one that the server would give it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'vector'"
        )
        found: tuple[str | None, str | None] | None = cursor.fetchone()
    return found or (None, None)


def _vectors(version: int, change: bool) -> str:
    found, offered = extension()
    if not found and not offered:
        return (
            "PostgreSQL has no pgvector. Install it on the server (Debian: "
            f"postgresql-{version}-pgvector), and start OneClaw again."
        )
    if not found:
        if _is_old(offered):
            return f"pgvector {offered} is too old: {_newer(version)}, and start OneClaw again."
        return _add_extension() if change else ""
    if not _is_old(found):
        return ""
    update = "run as the database's owner or admin: ALTER EXTENSION vector UPDATE"
    if _is_old(offered):
        return f"pgvector {found} is too old: {_newer(version)}, then {update}."
    return f"pgvector {found} is too old for OneClaw, and the server has {offered}: {update}."


def _newer(version: int) -> str:
    oldest = ".".join(map(str, OLDEST_VECTOR))
    return f"install {oldest} or newer on the server (Debian: postgresql-{version}-pgvector)"


def _is_old(version: str | None) -> bool:
    numbers = [int(part) for part in (version or "0").split(".")[:2] if part.isdigit()]
    return tuple(numbers) < OLDEST_VECTOR


def _add_extension() -> str:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except DatabaseError as error:
        return (
            f"The extension pgvector can't be added ({news.first_line(error)}). Run as the server's admin, "
            "connected to this database: CREATE EXTENSION vector."
        )
    return ""
