"""Exits with 0 while OneClaw serves pages on this machine: for containers, which come without curl."""

import os
import sys
import urllib.request

PORT = os.environ.get("ONECLAW_PORT", "8000")


def main() -> int:
    try:
        # "degraded" answers 200 too: pages work, and a restart would mend nothing.
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/healthz", timeout=8) as answer:
            return 0 if answer.status == 200 else 1
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
