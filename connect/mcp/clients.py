"""What the program at the other end calls itself, and how that name is shown."""

import json
from typing import Any

from django.core import signing

from oneclaw.masking import mask

LONGEST = 50
HERE = "this machine"
UNNAMED = "A program"
# How programs that people know by another name introduce themselves.
KNOWN = {
    "claude-ai": "Claude Desktop",
    "claude-code": "Claude Code",
    "cursor": "Cursor",
    "cursor-vscode": "Cursor",
    "visual studio code": "VS Code",
    "visual-studio-code": "VS Code",
}
SALT = "connect.mcp.clients"


def cleaned(name: object) -> str:
    """A name in one short line that can be seen and holds no secret."""
    if not isinstance(name, str):
        return ""
    name = " ".join(name[:1000].split())
    name = mask("".join(sign for sign in name if sign.isprintable()))
    return KNOWN.get(name.lower(), name[:LONGEST].strip())


def shown(name: str, token: str) -> str:
    """The program as history and activity name it: with its token, which no program chooses itself."""
    return f"{cleaned(name) or UNNAMED} ({token or HERE})"


def introduced(body: bytes) -> str:
    """The name in a request that opens a session; empty in all others."""
    try:
        message: Any = json.loads(body)
        if message.get("method") != "initialize":
            return ""
        info = message["params"]["clientInfo"]
        return cleaned(info.get("title") or info["name"])
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return ""


def session_of(name: str) -> str:
    """A session's id that says who opened it, so that the server need not remember: it may restart."""
    return signing.dumps(name, salt=SALT)


def named_by(session: str) -> str:
    """The name in a session's id; empty if it is not one of ours."""
    try:
        return cleaned(signing.loads(session, salt=SALT)) if session else ""
    except signing.BadSignature:
        return ""
