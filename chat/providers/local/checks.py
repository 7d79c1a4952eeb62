"""Checks before a model file is served: what would stop it, in a sentence."""

import os
from importlib.util import find_spec
from pathlib import Path

from chat.providers.local.weights import ModelWeights

MAGIC = b"GGUF"
# Beside the weights: the context, the buffers and the process itself.
HEADROOM = 150 * 2**20


def problem(weights: ModelWeights) -> str:
    """A sentence that says what is wrong and what to do, or nothing."""
    path = weights.path
    if find_spec("xllamacpp") is None:
        return "Local models need the xllamacpp package, which was left out of the install: run make install."
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except FileNotFoundError:
        return f"There is no model file at {path}."
    except OSError as error:
        return f"The model file {path} can't be read: {error.strerror}."
    if magic != MAGIC:
        return f"{path.name} is not a GGUF model file."
    return too_little_memory(path.stat().st_size, free_memory())


def too_little_memory(size: int, free: int | None) -> str:
    if free is None or size + HEADROOM <= free:
        return ""
    return (
        f"The model needs about {gigabytes(size + HEADROOM)} of memory and only {gigabytes(free)} is free: "
        "close other programs or use a smaller model."
    )


def gigabytes(size: int) -> str:
    return f"{size / 2**30:.1f} GB"


def free_memory() -> int | None:
    """Bytes this process may still use, on the machine and in its container; None if unknown."""
    known = [amount for amount in (machine_memory(), container_memory()) if amount is not None]
    return min(known, default=None)


def machine_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def container_memory(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    try:
        most = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return None if most == "max" else max(0, int(most) - used)
