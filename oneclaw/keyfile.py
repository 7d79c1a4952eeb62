"""Small secrets kept as files: made once, whole from the first moment, readable by their owner alone."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def made_once(file: Path, make: Callable[[], str]) -> str:
    """The text of the file; the first of any number of processes to ask makes it."""
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        pass
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A temporary file is made with mode 0600; linking it never replaces another process's file.
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "w") as made:
            made.write(make() + "\n")
            made.flush()
            os.fsync(made.fileno())
        try:
            os.link(name, file)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            os.replace(name, file)
    finally:
        Path(name).unlink(missing_ok=True)
    return file.read_text().strip()
