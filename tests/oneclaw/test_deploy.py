"""What `deploy/`, the Dockerfile and the compose files say agrees with OneClaw itself."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from oneclaw import env
from scripts import bare_debian
from tests import running

ROOT = Path(running.ROOT)
STEPS = list(bare_debian.steps((ROOT / "Dockerfile").read_text()))
NAME = re.compile(r"ONECLAW_[A-Z_]+")
START = [".venv/bin/python", "manage.py", "up"]
UNITS = ("oneclaw.service", "oneclaw@.service")


def test_the_image_runs_as_nobody_special_with_one_volume_and_a_health_check():
    words = [step.word for step in STEPS]
    assert words.index("USER") > max(at for at, word in enumerate(words) if word == "RUN")
    assert [step.rest for step in STEPS if step.word == "USER"] == ["oneclaw"]
    assert [step.rest for step in STEPS if step.word == "VOLUME"] == ["/data"]
    assert (ROOT / next(step.words for step in STEPS if step.word == "HEALTHCHECK")[1]).is_file()
    assert next(step.words for step in STEPS if step.word == "CMD") == START


def test_what_is_copied_is_there_and_what_is_private_is_not():
    ignored = (ROOT / ".dockerignore").read_text().split()
    for step in STEPS:
        if step.word == "COPY":
            assert all((ROOT / source).exists() for source in step.words[:-1])
    for private in (
        "data/secret.key",
        ".git/config",
        ".venv/bin/python",
        "demo-data/db.sqlite3",
        "a/__pycache__/b.pyc",
        ".env",
        ".env.production",
        "before-update.zip",
        "backups/oneclaw-2026-03-01_10-00-00.zip",
    ):
        assert bare_debian.is_ignored(private, ignored), private
    for needed in (
        "manage.py",
        "memory/models.py",
        "models/all-MiniLM-L6-v2/model.onnx",
        "deploy/healthcheck.py",
    ):
        assert not bare_debian.is_ignored(needed, ignored), needed


def test_git_leaves_passwords_and_backups_out():
    private = [".env", ".env.production", "before-update.zip", "data/secret.key"]
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", *private], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    if done.returncode == 128:
        pytest.skip("this is no git repository")
    assert done.stdout.split() == private


def test_the_compose_files_fit_together_and_name_known_settings():
    plain = yaml.safe_load((ROOT / "compose.yaml").read_text())
    added = yaml.safe_load((ROOT / "compose.postgres.yaml").read_text())
    assert plain["services"]["oneclaw"]["volumes"][0] == "oneclaw:/data"
    assert set(added["services"]["oneclaw"]["depends_on"]) == {"database"}
    several = yaml.safe_load((ROOT / "compose.several.yaml").read_text())
    web, worker = plain["services"]["oneclaw"], several["services"]["worker"]
    # Several copies share no name but the service's, and a worker is shut in as the web process is.
    assert "container_name" not in web
    alike = (
        "image",
        "restart",
        "volumes",
        "read_only",
        "tmpfs",
        "cap_drop",
        "security_opt",
        "env_file",
        "init",
    )
    for name in alike:
        assert worker[name] == web[name], name
    # All of OneClaw's settings pass through .env; only what the container relies on is pinned.
    assert web["env_file"] == [{"path": ".env", "required": False}]
    assert web["init"] is True
    assert web["environment"].items() <= worker["environment"].items()
    assert set(web["environment"]) == {"ONECLAW_DATA_DIR", "ONECLAW_HOST", "ONECLAW_PORT"}
    # A backup has somewhere to go: the root is read-only, and the data folder is no place for it.
    assert any(volume.endswith(":/backups") for volume in web["volumes"])
    assert any("/backups" in step.rest for step in STEPS if step.word == "RUN")
    address = added["services"]["oneclaw"]["environment"]["ONECLAW_DATABASE_URL"]
    assert worker["environment"]["ONECLAW_DATABASE_URL"] == address
    for service, kind in (("oneclaw", "web"), ("worker", "worker")):
        assert several["services"][service]["command"] == [*START, "--only", kind]
    # What compose reads itself, beside OneClaw's own settings; OneClaw gets it too, and does not mind.
    known = {*env.KNOWN, *env.OTHERS}
    for file in (
        "Dockerfile",
        "compose.yaml",
        "compose.postgres.yaml",
        "compose.several.yaml",
        "docs/deploy.md",
        "deploy/nginx.conf",
    ):
        assert set(NAME.findall((ROOT / file).read_text())) <= known, file


@pytest.mark.parametrize("file", ["deploy/nginx.conf", "deploy/Caddyfile"])
def test_a_proxy_streams_and_keeps_figures_inside(file: str):
    text = (ROOT / file).read_text()
    assert "proxy_buffering off" in text or "flush_interval -1" in text
    assert re.search(r"/metrics[^}]*404", text)


# Where the whole suite counts, a missing systemd is a failure.
@pytest.mark.skipif(
    not shutil.which("systemd-analyze") and not os.environ.get("CI"), reason="systemd is not on this machine"
)
@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_the_unit(tmp_path: Path, name: str):
    # A template is looked at with its place filled.
    unit = tmp_path / name.replace("@.", "@web.")
    text = (ROOT / "deploy/systemd" / name).read_text()
    unit.write_text(text.replace("/opt/oneclaw/.venv/bin/python", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60
    )
    assert unit.name not in done.stderr, done.stderr


def test_a_command_gets_the_settings_of_the_service(tmp_path: Path):
    """Without them it would work on a database that it made up itself."""
    unit = (ROOT / "deploy/systemd/oneclaw.service").read_text()
    fake = tmp_path / "systemd-run"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    done = subprocess.run(
        ["sh", str(ROOT / "deploy/systemd/oneclaw-manage"), "backup", "/srv/a b.zip"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    said = done.stdout.splitlines()
    assert said[-3:] == ["manage.py", "backup", "/srv/a b.zip"], done.stderr
    for line in ("User", "Group", "WorkingDirectory", "EnvironmentFile", "UMask"):
        (wanted,) = re.findall(rf"^{line}=.*", unit, re.MULTILINE)
        assert f"--property={wanted}" in said
    assert "--setenv=ONECLAW_DATA_DIR=/var/lib/oneclaw" in said
    assert "ONECLAW_DATA_DIR=/var/lib/oneclaw" in unit
    assert "env ONECLAW_DATA_DIR" not in (ROOT / "docs/deploy.md").read_text()


def test_each_part_is_shut_in_as_the_whole():
    whole, part = ((ROOT / "deploy/systemd" / name).read_text() for name in UNITS)
    said, more = (set(re.findall(r"^\w.*", text, re.MULTILINE)) for text in (whole, part))
    assert {line.partition("=")[0] for line in said - more} == {"Description", "ExecStart"}
    assert {line.partition("=")[0] for line in more - said} == {
        "Description",
        "ExecStart",
        "RequiresMountsFor",
    }


def test_a_dockerfile_is_read_as_docker_reads_it():
    text = '# no step\nFROM debian:x\nRUN one && \\\n    # nor this\n    two\nCMD ["a", "b c"]\n'
    assert list(bare_debian.steps(text)) == [
        bare_debian.Step("FROM", "debian:x"),
        bare_debian.Step("RUN", "one &&      two"),
        bare_debian.Step("CMD", '["a", "b c"]'),
    ]
    assert list(bare_debian.steps(text))[-1].words == ["a", "b c"]
