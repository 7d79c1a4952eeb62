"""Stops the children of a killed `up`: it reads their process groups from a pipe that ends when `up` does.

Run as a plain script, so that it starts at once and needs nothing but Python.
"""

import os
import signal
import sys
import time

PATIENCE = 3.0


def send(group: int, number: int) -> bool:
    """Signal a whole process group; False when nobody is left in it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says this of a group of zombies
        return False
    return True


def end(groups: set[int], patience: float = PATIENCE) -> None:
    """Ask the leader of each group to stop, and kill what is left of the group after a while."""
    for leader in groups:
        try:
            os.kill(leader, signal.SIGTERM)
        except ProcessLookupError:
            continue
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and any(send(group, 0) for group in groups):
        time.sleep(0.05)
    for group in groups:
        send(group, signal.SIGKILL)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    end(groups)


if __name__ == "__main__":
    main()
