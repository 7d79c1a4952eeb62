#!/usr/bin/env python
"""Run OneClaw's commands; `manage.py up` starts everything."""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036  (an older Python reads this far)
    sys.exit("OneClaw needs Python 3.11 or newer, and this is " + sys.version.split()[0] + ".")


def main() -> None:
    # Whatever OneClaw writes is its owner's alone, and its processes inherit that.
    os.umask(0o077)
    # Django would tell its own.
    if sys.argv[1:2] == ["version"] or "--version" in sys.argv[1:]:
        from oneclaw import __version__

        print(f"OneClaw {__version__}")  # noqa: T201
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
        from django.db import DatabaseError, OperationalError
    except ImportError:
        sys.exit(
            "OneClaw's libraries are not installed for this Python. Run `make run` to install and start it."
        )
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"OneClaw can't start: {error}")
    except DatabaseError as error:
        # The disk's or another program's fault; its subclasses, but one, are the code's.
        if type(error) not in (DatabaseError, OperationalError) or "--traceback" in sys.argv:
            raise
        from oneclaw.server.database import trouble

        sys.exit(f"{trouble(error)} (--traceback shows where.)")


if __name__ == "__main__":
    main()
