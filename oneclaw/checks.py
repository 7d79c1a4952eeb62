"""System checks: configurations that would work badly, said at the start instead of found out later."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from oneclaw import env
from oneclaw.sqlite import driver

# `up` runs these alone, so that it starts at once; `manage.py check` runs all.
ONECLAW = "oneclaw"
LEAST_TOKEN = 16


@register(ONECLAW)
def variables_are_known(**kwargs: Any) -> list[CheckMessage]:
    """A misspelt ONECLAW_* variable would be ignored in silence."""
    return [
        Warning(f"{name} is not a OneClaw setting.", hint="The README lists them.", id="oneclaw.W001")
        for name in env.unknown()
    ]


@register(ONECLAW)
def vectors_can_be_searched(**kwargs: Any) -> list[CheckMessage]:
    if driver.can_load_extensions(driver.choose()):
        return []
    return [
        Warning(
            "This Python's SQLite can't load sqlite-vec, so vectors are compared one by one.",
            hint="Install pysqlite3, or use a Python built with loadable extensions.",
            id="oneclaw.W002",
        )
    ]


@register(ONECLAW)
def embedding_model_is_there(**kwargs: Any) -> list[CheckMessage]:
    folder = Path(settings.EMBEDDING_MODEL)
    missing = [name for name in ("model.onnx", "tokenizer.json") if not (folder / name).is_file()]
    if not missing:
        return []
    return [
        Warning(
            f"{folder} has no {' and no '.join(missing)}: memory is searched by keywords only.",
            hint="Restore the folder from the repository, or set ONECLAW_EMBEDDING_MODEL.",
            id="oneclaw.W003",
        )
    ]


@register(ONECLAW)
def https_is_reachable(**kwargs: Any) -> list[CheckMessage]:
    if settings.HTTPS and not settings.HOSTS:
        return [
            Error(
                "ONECLAW_HTTPS is on, but ONECLAW_HOSTS names no host that the proxy serves.",
                hint="For example ONECLAW_HOSTS=oneclaw.example.org",
                id="oneclaw.E001",
            )
        ]
    return []


@register(ONECLAW)
def figures_can_be_read(**kwargs: Any) -> list[CheckMessage]:
    """Without a token, Prometheus under an account of its own finds no page; a short one can be guessed."""
    make_one = (
        "Make one with `openssl rand -hex 32`, and give it to Prometheus: docs/deploy.md has an example."
    )
    if 0 < len(settings.METRICS_TOKEN) < LEAST_TOKEN:
        said = f"ONECLAW_METRICS_TOKEN is shorter than {LEAST_TOKEN} characters, so it could be guessed."
        return [Error(said, hint=make_one, id="oneclaw.E003")]
    if settings.METRICS and not settings.METRICS_TOKEN:
        said = "Without ONECLAW_METRICS_TOKEN only programs of OneClaw's own account can read /metrics."
        return [Warning(said, hint=make_one, id="oneclaw.W004")]
    return []


@register(ONECLAW)
def backups_are_elsewhere(**kwargs: Any) -> list[CheckMessage]:
    """Inside the data folder each would hold the ones before it, and go with the disk it is to replace."""
    if settings.BACKUP_DIR is None or Path(settings.DATA_DIR) not in (
        settings.BACKUP_DIR,
        *settings.BACKUP_DIR.parents,
    ):
        return []
    return [
        Error(
            "ONECLAW_BACKUP_DIR is in the data folder.",
            hint="Choose a folder outside it, ideally on another disk.",
            id="oneclaw.E002",
        )
    ]
