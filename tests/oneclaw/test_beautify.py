"""The formatter of styles and scripts: what it writes, and what its check only names."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import beautify

UGLY = ".a{color:red;margin:0}"
TIDY = ".a {\n  color: red;\n  margin: 0\n}\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs it over a tree with one ugly style, a tidy script, and somebody else's style."""
    for name, text in {
        "static/styles/a.css": UGLY,
        "static/vendor/theirs.css": UGLY,
        "templates/service-worker.js": "keep();\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(beautify, "ROOT", tmp_path)

    def run(*arguments: str) -> int:
        monkeypatch.setattr("sys.argv", ["beautify", *arguments])
        return beautify.main()

    return run


def test_the_check_names_what_differs_and_writes_nothing(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert run("--check") == 1
    assert capsys.readouterr().err == "Would format static/styles/a.css\n"
    assert (tmp_path / "static/styles/a.css").read_text() == UGLY


def test_what_was_written_passes_the_check(run: Callable[..., int], tmp_path: Path):
    assert run() == 0
    assert (tmp_path / "static/styles/a.css").read_text() == TIDY
    assert run("--check") == 0


def test_what_others_wrote_is_left_alone(run: Callable[..., int], tmp_path: Path):
    run()
    assert (tmp_path / "static/vendor/theirs.css").read_text() == UGLY
