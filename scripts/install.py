"""Install exact versions with pip, and show how far it is: `python -m scripts.install requirements.lock`.

Run by `make` before any library is there, so it needs nothing but Python. When a download fails, it says why
and what to do; pip's own words are in `install.log` beside the environment.
"""

import re
import subprocess
import sys
import sysconfig
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

BAR = 24
KEPT = 400  # lines of pip's that are looked at for the reason
COLLECTING = re.compile(
    r"(?:Collecting|Requirement already satisfied:|Processing) "
    r"(?:\S*/)?([A-Za-z0-9._]+(?:-[A-Za-z_][\w.]*)*)"
)
DOWNLOADING = re.compile(r" *Downloading \S+ \(([0-9.]+ ?[kMG]?B)\)")
PINNED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?==")

# What pip says, and what a person can do about it; the first that fits is told.
REASONS = (
    (
        ("No space left on device", "Disk quota exceeded", "[Errno 28]", "not enough space on the disk"),
        "The disk is full. OneClaw's libraries take about 1 GB. Free some space and run `make run` again.",
    ),
    (
        ("ProxyError", "Tunnel connection failed", "Cannot connect to proxy", "407 Proxy"),
        "The proxy did not let the download through. Check HTTPS_PROXY, for example\n"
        "  HTTPS_PROXY=http://user:password@proxy.example:3128 make run",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED", "SSLError", "SSLCertVerificationError"),
        "The package index's certificate is not trusted. Behind a company's proxy, name its certificate:\n"
        "  PIP_CERT=/path/to/company.pem make run\n"
        "Otherwise check this machine's clock.",
    ),
    (
        ("DO NOT MATCH THE HASHES",),
        "A download was not what it should be, so it was not installed: it was damaged on the way, or the\n"
        "index has another file. Try again; if it stays so, try without the mirror or cache you use.",
    ),
    (
        (
            "Temporary failure in name resolution",
            "nodename nor servname",
            "getaddrinfo failed",
            "Name or service not known",
            "Network is unreachable",
            "Connection refused",
            "Failed to establish a new connection",
            "NewConnectionError",
            "No route to host",
        ),
        "The package index can't be reached: this machine seems to be offline. Connect it and run\n"
        "`make run` again. Behind a proxy set HTTPS_PROXY; with a mirror set PIP_INDEX_URL.",
    ),
    (
        ("timed out", "Connection broken", "IncompleteRead", "Connection reset", "RemoteDisconnected"),
        "The connection broke off. Run `make run` again: what has arrived is kept. On a slow line set\n"
        "PIP_DEFAULT_TIMEOUT=120.",
    ),
    (
        ("Permission denied", "Read-only file system"),
        "The folder can't be written. Run `make run` as the user who owns it.",
    ),
    (
        (
            "error: command 'gcc'",
            "error: command 'cc'",
            "Failed building wheel",
            "metadata-generation-failed",
        ),
        "A library has no ready-made package for this machine and could not be built. Use another Python,\n"
        "for example `make run PYTHON=python3.12`, or install a C compiler.",
    ),
    (
        ("No matching distribution found", "Could not find a version"),
        "The package index lacks a version that OneClaw needs, or has none for this machine. If you use a\n"
        "mirror, it may be behind; otherwise try another Python, for example `make run PYTHON=python3.12`.",
    ),
)
UNKNOWN = "Run `make run` again. If it stays so, the log below says what happened."


def reason(lines: Iterable[str]) -> str:
    """Why pip failed, and what to do, in a few words."""
    said = "\n".join(lines)
    return next((advice for signs, advice in REASONS if any(sign in said for sign in signs)), UNKNOWN)


def wanted(lock: Path) -> int:
    """How many packages a file of exact versions names."""
    return sum(bool(PINNED.match(line)) for line in lock.read_text().splitlines())


def installed() -> int:
    """How many packages are in this environment."""
    return sum(1 for _ in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))


class Display:
    """One line that changes where somebody looks at it, and a line a step where a log is written."""

    def __init__(self, stream: TextIO, total: int) -> None:
        self.stream = stream
        self.total = total
        self.live = stream.isatty()
        self.width = 0

    def step(self, done: int, what: str) -> None:
        done = min(done, self.total)
        if not self.live:
            self.say(f"  {done} of {self.total}  {what}")
            return
        filled = round(BAR * done / max(1, self.total))
        line = f"  [{'#' * filled}{'.' * (BAR - filled)}] {done} of {self.total}  {what}"[:78]
        self.stream.write("\r" + line.ljust(self.width))
        self.stream.flush()
        self.width = len(line)

    def say(self, line: str) -> None:
        self.end()
        self.stream.write(line + "\n")
        self.stream.flush()

    def end(self) -> None:
        """End the changing line, if there is one."""
        if self.width:
            self.stream.write("\n")
            self.width = 0


def follow(lines: Iterable[str], display: Display) -> Iterator[str]:
    """Show each package as pip comes to it; every line is given on."""
    done, warned = 0, False
    for line in lines:
        if line.startswith("Ignoring "):
            # For another machine than this one.
            display.total -= 1
        elif found := COLLECTING.match(line):
            done += 1
            display.step(done, found[1])
        elif found := DOWNLOADING.match(line):
            if display.live:
                display.step(done, f"downloading {found[1]}")
        elif "Retrying" in line and not warned:
            warned = True
            display.say("  The package index does not answer; trying again…")
        elif line.startswith("Installing collected packages"):
            display.say("  Everything is here; unpacking. This takes a moment.")
        yield line


def count_unpacked(display: Display, before: int, stop: threading.Event) -> None:
    """Show how many packages are in place, while pip unpacks them without a word."""
    while display.live and not stop.wait(0.5):
        if new := installed() - before:
            display.step(new, "in place")


def main(arguments: list[str]) -> int:
    lock = Path(arguments[0])
    log = Path(sys.prefix) / "install.log"
    display = Display(sys.stdout, wanted(lock))
    command = [
        *(sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--require-hashes"),
        *("--progress-bar", "off", "--no-input", *arguments[1:], "-r", str(lock)),
    ]
    kept, stop = deque[str](maxlen=KEPT), threading.Event()
    counter = threading.Thread(target=count_unpacked, args=(display, installed(), stop), daemon=True)
    with subprocess.Popen(  # noqa: S603  (pip, with the arguments of the Makefile)
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout
        for line in follow(pip.stdout, display):
            kept.append(line.rstrip("\n"))
            if line.startswith("Installing collected packages"):
                counter.start()
    stop.set()
    if counter.is_alive():
        counter.join(timeout=5)
    display.end()
    if pip.returncode == 0:
        return 0
    display.say(f"\nThe installation did not work.\n{reason(kept)}")
    try:
        log.write_text("\n".join(kept) + "\n")
        display.say(f"What pip said: {log}")
    except OSError:
        # On a full disk there is no room for a log either.
        display.say("\n".join(list(kept)[-5:]))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
