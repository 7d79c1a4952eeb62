"""Take the Dockerfile's steps in a bare Debian, without a container engine, up to a served page.

`sudo python -m scripts.bare_debian FOLDER` needs debootstrap (Debian: apt install debootstrap) and a network
for packages. The page is served in a network of its own that leads nowhere: once built, OneClaw runs offline.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
# What reaches into the build from outside: how to get to packages, nothing else.
PASSED = re.compile(
    r"(?i)https?_proxy|no_proxy|PIP_(CERT|INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|DEFAULT_TIMEOUT)"
)
CERTIFICATE = "/run/certificates.pem"
PATIENCE = 240.0
# Runs in the closed network: its loopback is brought up, and all else is the given command's.
LOOPBACK = """
import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lo:
    fcntl.ioctl(lo, 0x8914, struct.pack("16sh14x", b"lo", 1 | 64))
os.execvp(sys.argv[1], sys.argv[1:])
"""
PAGE = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=30) as answer:
    sys.stdout.write(f"{answer.status} {answer.url} {answer.read().decode()}")
"""


class StepFailed(Exception):
    """A step of the Dockerfile did not do what it says."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the Dockerfile, with those that continue it."""

    word: str
    rest: str

    @property
    def words(self) -> list[str]:
        """A JSON list where one is written, else words of a shell."""
        start = self.rest.find("[")
        found: list[str] = json.loads(self.rest[start:]) if start >= 0 else shlex.split(self.rest)
        return found


@dataclass(slots=True)
class Machine:
    """The folder that is to become the container, and what the steps so far have said of it."""

    root: Path
    folder: str = "/"
    user: str = "root"
    variables: dict[str, str] = field(default_factory=dict)

    def command(self, *command: str) -> list[str]:
        variables = [f"{name}={value}" for name, value in self.variables.items()]
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        inside = shlex.join(["cd", self.folder]) + " && exec " + shlex.join(command)
        return [
            *("chroot", f"--userspec={self.user}:{self.user}", str(self.root)),
            *("/usr/bin/env", "-i", path, "HOME=/", "LANG=C.UTF-8", *variables, "/bin/sh", "-c", inside),
        ]


def steps(text: str) -> Iterator[Step]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield Step(word.upper(), rest.strip())


def build(machine: Machine, dockerfile: list[Step], mirror: str) -> None:
    """Everything up to the command that the container runs."""
    for step in dockerfile:
        say(f"{step.word} {' '.join(step.rest.split())}")
        match step.word:
            case "FROM":
                debootstrap(machine.root, step.rest.removeprefix("debian:").removesuffix("-slim"), mirror)
                adopt_network(machine.root)
            case "ARG" | "ENV":
                for pair in shlex.split(step.rest):
                    name, _, value = pair.partition("=")
                    machine.variables[name] = value
            case "WORKDIR":
                machine.folder = step.rest
                (machine.root / step.rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "USER":
                machine.user = step.rest
            case "COPY":
                *sources, target = step.words
                for source in sources:
                    copy(source, machine.root / machine.folder.lstrip("/") / target)
            case "RUN":
                run(replace(machine, variables=from_outside() | machine.variables), step.rest)
            case "VOLUME" | "EXPOSE" | "STOPSIGNAL" | "HEALTHCHECK" | "CMD":
                pass
            case other:
                raise StepFailed(f"The Dockerfile says {other}, which this script does not know.")


def from_outside() -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if PASSED.fullmatch(name)}
    return found | ({"PIP_CERT": CERTIFICATE} if "PIP_CERT" in found else {})


def debootstrap(root: Path, suite: str, mirror: str) -> None:
    if (root / "etc/debian_version").exists():
        return
    call(["debootstrap", "--variant=minbase", suite, str(root), mirror])


def adopt_network(root: Path) -> None:
    """Names as this machine knows them, and the certificate of a company's proxy where pip needs one."""
    shutil.copyfile("/etc/resolv.conf", root / "etc/resolv.conf")
    if certificate := os.environ.get("PIP_CERT"):
        shutil.copyfile(certificate, root / CERTIFICATE[1:])


def copy(source: str, target: Path) -> None:
    """Tracked files that .dockerignore leaves in; a folder's contents go into the target."""
    ignored = (HERE / ".dockerignore").read_text().split()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", source],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [name for name in listed.stdout.split("\0") if name and not is_ignored(name, ignored)]
    if not names:
        raise StepFailed(f"COPY found no {source}.")
    base = HERE if source == "." else (HERE / source if (HERE / source).is_dir() else HERE)
    for name in names:
        if (HERE / name).is_file():
            to = target / (HERE / name).relative_to(base)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(HERE / name, to)


def is_ignored(name: str, patterns: list[str]) -> bool:
    parts = Path(name).parts
    for pattern in patterns:
        if pattern.startswith("**/"):
            if any(fnmatch(part, pattern[3:]) for part in parts):
                return True
        elif fnmatch(parts[0], pattern):
            return True
    return False


def run(machine: Machine, line: str) -> None:
    call(machine.command("/bin/sh", "-c", line))


def call(command: list[str]) -> None:
    done = subprocess.run(command, stdout=sys.stderr)
    if done.returncode:
        raise StepFailed(f"`{shlex.join(command)[-200:]}` ended with {done.returncode}.")


@contextmanager
def mounted(root: Path, binds: list[Path]) -> Iterator[None]:
    """The kernel's folders, and those in which this machine keeps packages."""
    places = [
        (["-t", "proc", "proc"], root / "proc"),
        # Where processes share semaphores; container engines bring one.
        (["-t", "tmpfs", "-o", "mode=1777", "tmpfs"], root / "dev/shm"),
        *((["--bind", "-o", "ro", str(bind)], root / str(bind)[1:]) for bind in binds),
    ]
    done = list[Path]()
    try:
        for how, target in places:
            target.mkdir(parents=True, exist_ok=True)
            call(["mount", *how, str(target)])
            done.append(target)
        yield
    finally:
        for target in reversed(done):
            subprocess.run(["umount", "-l", str(target)], check=False)


def serve(machine: Machine, dockerfile: list[Step]) -> str:
    """Start the container's command where no network is, wait until it is healthy, and read a page."""
    command = next(step.words for step in dockerfile if step.word == "CMD")
    health = next(step.words for step in dockerfile if step.word == "HEALTHCHECK")
    port = machine.variables["ONECLAW_PORT"]
    process = subprocess.Popen(
        ["unshare", "--net", sys.executable, "-c", LOOPBACK, *machine.command(*command)],
        stdout=sys.stderr,
        start_new_session=True,
    )
    inside = ["nsenter", f"--net=/proc/{process.pid}/ns/net"]
    try:
        until = time.monotonic() + PATIENCE
        python, address = command[0], f"http://127.0.0.1:{port}/"

        def fetched(page: str) -> str:
            reading = [*inside, *machine.command(python, "-c", PAGE, address + page)]
            return subprocess.run(reading, capture_output=True, text=True).stdout

        def is_well() -> bool:
            checked = subprocess.run([*inside, *machine.command(*health)], capture_output=True)
            return not checked.returncode and '"worker": "ok"' in fetched("healthz")

        while not is_well():
            if process.poll() is not None:
                raise StepFailed(f"The command ended with {process.returncode}.")
            if time.monotonic() > until:
                raise StepFailed(f"It was not healthy within {PATIENCE:.0f} seconds.")
            time.sleep(1)
        page = fetched("")
        if not page.startswith("200 "):
            raise StepFailed(f"The page was not served: {page[:500]}")
        doctor = subprocess.run(
            [*inside, *machine.command(python, "manage.py", "doctor")], capture_output=True, text=True
        )
        say(doctor.stdout + doctor.stderr)
        if doctor.returncode:
            raise StepFailed("`manage.py doctor` found something to fix.")
        return page
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


def say(line: str) -> None:
    sys.stderr.write(f"== {line}\n")
    sys.stderr.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.bare_debian", description=__doc__)
    parser.add_argument("root", type=Path, help="an empty folder for the Debian, or one of an earlier run")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    parser.add_argument(
        "--bind", type=Path, action="append", default=[], help="a folder with packages, read only"
    )
    options = parser.parse_args()
    if os.geteuid():
        parser.error("Making another system's root needs root: sudo python -m scripts.bare_debian …")
    dockerfile = list(steps((HERE / "Dockerfile").read_text()))
    machine = Machine(options.root.resolve())
    machine.root.mkdir(parents=True, exist_ok=True)
    try:
        first = [step for step in dockerfile if step.word == "FROM"]
        build(machine, first, options.mirror)
        with mounted(machine.root, options.bind):
            build(machine, [step for step in dockerfile if step.word != "FROM"], options.mirror)
            page = serve(machine, dockerfile)
    except StepFailed as error:
        say(str(error))
        return 1
    title = re.search(r"<title>([^<]*)</title>", page)
    say(f"Served without a network, as {machine.user}: {page.split()[1]} “{(title or ['', ''])[1].strip()}”")
    return 0


if __name__ == "__main__":
    sys.exit(main())
