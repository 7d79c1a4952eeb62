"""What the first start shows while libraries arrive, and says when they don't: real pip, tiny packages."""

import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import install
from tests.running import ROOT


def wheel(folder: Path, name: str) -> str:
    """A package with nothing in it; its line of a lock comes back."""
    path, info = folder / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def run(lock: str, folder: Path, **settings: str) -> tuple[int, str]:
    """Install what a lock names into a folder, by pip itself; how it ended and what was shown."""
    path = folder / "requirements.lock"
    path.write_text(lock)
    own = {name: value for name, value in os.environ.items() if not name.upper().startswith(("PIP_", "HTTP"))}
    quiet = {"PIP_TARGET": str(folder / "there"), "PIP_RETRIES": "1", "PIP_CONFIG_FILE": os.devnull}
    code = "import sys; sys.prefix = sys.argv.pop(1)\n"
    code += "from scripts.install import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), str(path)],
        cwd=ROOT,
        env=own | quiet | settings,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert not done.stderr
    return done.returncode, done.stdout


def test_each_package_is_shown_and_those_for_other_machines_are_not_counted(tmp_path: Path) -> None:
    lock = wheel(tmp_path, "alpha") + wheel(tmp_path, "beta")
    lock += 'gamma==1.0 ; sys_platform == "win32" --hash=sha256:' + "0" * 64 + "\n"
    code, said = run(lock, tmp_path, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path))
    assert code == 0, said
    assert "1 of 2  alpha" in said
    assert "2 of 2  beta" in said
    assert "gamma" not in said
    assert (tmp_path / "there" / "beta.py").exists()


def test_a_machine_without_a_network_is_told_so(tmp_path: Path) -> None:
    lock = f"alpha==1.0 --hash=sha256:{'0' * 64}\n"
    code, said = run(lock, tmp_path, PIP_INDEX_URL="http://127.0.0.1:9/simple/")
    assert code == 1
    assert "seems to be offline" in said
    assert "HTTPS_PROXY" in said
    assert "alpha" in (tmp_path / "install.log").read_text()


def test_a_proxy_that_does_not_answer_is_named(tmp_path: Path) -> None:
    lock = f"alpha==1.0 --hash=sha256:{'0' * 64}\n"
    index = {"PIP_INDEX_URL": "https://index.invalid/simple/", "HTTPS_PROXY": "http://127.0.0.1:9"}
    code, said = run(lock, tmp_path, **index)
    assert code == 1
    assert "The proxy did not let the download through" in said


def test_a_package_that_is_another_than_it_was_is_not_installed(tmp_path: Path) -> None:
    wheel(tmp_path, "alpha")
    lock = f"alpha==1.0 --hash=sha256:{'0' * 64}\n"
    code, said = run(lock, tmp_path, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path))
    assert code == 1
    assert "not what it should be" in said
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "disk is full",
        ),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "PIP_CERT"),
        ("pip._vendor.urllib3.exceptions.ReadTimeoutError: Read timed out.", "broke off"),
        ("ERROR: No matching distribution found for alpha==1.0", "another Python"),
        ("ERROR: Failed building wheel for alpha", "C compiler"),
        ("Something nobody has seen yet", "the log below"),
    ],
)
def test_a_reason_says_what_to_do(line: str, words: str) -> None:
    assert words in install.reason(["Collecting alpha", line])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_where_somebody_looks_one_line_changes() -> None:
    screen = Terminal()
    display = install.Display(screen, 2)
    said = [
        "Collecting alpha==1.0",
        "  Downloading alpha-1.0.whl (11.2 MB)",
        "WARNING: Retrying (Retry(total=4",
    ]
    said += [
        "WARNING: Retrying (Retry(total=3",
        "Collecting beta==1.0",
        "Installing collected packages: alpha, beta",
    ]
    assert list(install.follow(said, display)) == said
    shown = screen.getvalue()
    assert "[############............] 1 of 2  alpha" in shown
    assert "downloading 11.2 MB" in shown
    assert shown.count("trying again") == 1
    assert "2 of 2  beta" in shown
    assert "unpacking" in shown
    # A shorter line leaves nothing of the longer one before it.
    assert shown.count("\r") == 3


def test_the_locks_are_counted() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    names = [line for line in lines if line[:1].isalnum()]
    assert install.wanted(ROOT / "requirements.lock") == len(names) > 40
