#!/usr/bin/env python
"""Run OneClaw's commands; `manage.py up` starts everything."""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036  (an older Python reads this far)
    sys.exit("OneClaw needs Python 3.11 or newer, and this is " + sys.version.split()[0] + ".")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("OneClaw's libraries are not installed for this Python. `make run` installs and starts it.")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"OneClaw can't start: {error}")


if __name__ == "__main__":
    main()
