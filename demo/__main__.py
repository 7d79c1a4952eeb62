"""`python -m demo`: fill a folder of its own with a year, and start OneClaw on it with a scripted model."""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "demo-data"
OURS = ("ONECLAW_", "OPENAI_", "ANTHROPIC_", "GEMINI_")


def environment(folder: Path, model_url: str) -> dict[str, str]:
    """Only the demo's own settings: no key, no other provider and no other data folder come along."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return plain | {
        "DJANGO_SETTINGS_MODULE": "oneclaw.settings",
        "ONECLAW_DATA_DIR": str(folder),
        "ONECLAW_PROVIDER": "openai",
        "ONECLAW_BASE_URL": model_url,
        "ONECLAW_MODEL": "demo-model",
        "ONECLAW_STARTER": "0",
        "ONECLAW_DISCOVER": "0",
    }


def prepare(folder: Path) -> str:
    """Fill the folder once; returns how to log in."""
    import django

    django.setup()
    from django.db import connections

    from demo import filling, year
    from oneclaw.server import database
    from people.models import User

    database.prepare()
    if not User.objects.exists():
        say(f"Writing a year of made-up chats and logs into {folder}. This takes a minute, once.")
        filling.fill()
    connections.close_all()
    return f"Log in as {year.USERNAME} with the password: {year.PASSWORD}"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="data folder (%(default)s)")
    parser.add_argument("--port", default="8000", help="port to listen on (%(default)s)")
    options = parser.parse_args()
    from demo import model

    folder = options.folder.resolve()
    env = environment(folder, model.serve())
    for name in [name for name in os.environ if name.startswith(OURS)]:
        del os.environ[name]
    os.environ |= env
    say(prepare(folder))
    # The password is no secret, so nobody but this machine may come.
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--host", "127.0.0.1", "--port", options.port]
    process = subprocess.Popen(command, env=env, cwd=ROOT)  # noqa: S603  (our own command)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: process.send_signal(number))
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
