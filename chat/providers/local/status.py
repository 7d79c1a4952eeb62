"""How the model server is doing, in a small file of the data folder that every process can read."""

import json
import os
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from django.conf import settings

from chat.providers.local.weights import ModelWeights


class ServerState(StrEnum):
    OFF = "off"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The server's last report; `sentence` is for people."""

    state: ServerState = ServerState.OFF
    sentence: str = ""
    name: str = ""
    kind: str = ""
    pid: int = 0


def file() -> Path:
    return Path(settings.DATA_DIR) / "modelserver.json"


def write(state: ServerState, weights: ModelWeights, sentence: str = "") -> None:
    status = ServerStatus(state, sentence, weights.name, weights.kind, os.getpid())
    part = file().with_suffix(".part")
    part.touch(mode=0o600)
    part.write_text(json.dumps(asdict(status)))
    part.replace(file())


def clear() -> None:
    file().unlink(missing_ok=True)


def read() -> ServerStatus:
    """The server's last report, corrected if it has died since: a crash reports nothing itself."""
    try:
        said = json.loads(file().read_text())
        status = ServerStatus(**{**said, "state": ServerState(said["state"])})
    except (OSError, ValueError, KeyError, TypeError):
        return ServerStatus()
    if status.state in (ServerState.STARTING, ServerState.READY) and not alive(status.pid):
        sentence = f"The model server for {status.name} stopped unexpectedly and is being restarted."
        return ServerStatus(ServerState.FAILED, sentence, status.name, status.kind, status.pid)
    return status


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
