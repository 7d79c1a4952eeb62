"""One text has one vector, whatever processor computes it."""

import base64
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings as configured
from django.test import Client

from memory.embedding import EmbeddingEngine, engine, stored
from people.models import User

BUNDLED = Path(configured.EMBEDDING_MODEL)
REFERENCE = json.loads((BUNDLED / "reference.json").read_text())
TEXTS = [
    *(entry["text"] for entry in REFERENCE),
    # Another vector under Haswell as soon as attention is fused: its softmax differs in the last digits.
    "3 May 2026: We moved the piano into the back room, although the stairs were narrow and two of the men "
    "had gone home by then. Nobody had measured the door, so the legs came off and stood in the hall for a "
    "week. The tuner from Ely comes on Thursday at ten, costs ninety pounds, and wants the heating off the "
    "night before.",
]
EMULATED = """
import sys
from pathlib import Path
import numpy as np
from memory.embedding import EmbeddingEngine
engine = EmbeddingEngine(Path(sys.argv[1]))
np.save(sys.argv[2], np.stack([engine.embed(text) for text in sys.argv[3:]]))
"""


def emulator() -> str | None:
    return shutil.which("qemu-x86_64") if platform.machine() == "x86_64" else None


@pytest.mark.skipif(
    not emulator() and not os.environ.get("CI"),
    reason="no qemu-x86_64 on this machine (apt install qemu-user)",
)
def test_a_processor_without_vnni_gives_the_very_same_vectors(tmp_path: Path):
    qemu = emulator()
    assert qemu, "CI has no qemu-x86_64: install Debian's qemu-user"
    subprocess.run(
        [qemu, "-cpu", "Haswell", sys.executable, "-c", EMULATED, BUNDLED, tmp_path / "found.npy", *TEXTS],
        check=True,
        cwd=configured.BASE_DIR,
        env={"DJANGO_SETTINGS_MODULE": "oneclaw.settings", "OPENBLAS_NUM_THREADS": "1"},
        stderr=subprocess.DEVNULL,
        timeout=600,
    )
    emulated = np.load(tmp_path / "found.npy")
    here = np.stack([vector for vector in engine().embed_many(TEXTS) if vector is not None])
    assert np.abs(emulated - here).max() < 1e-6


def test_the_vectors_are_those_that_came_with_the_model():
    for entry in REFERENCE:
        vector = engine().embed(entry["text"])
        assert vector is not None
        assert np.abs(vector - stored(entry["vector"])).max() < 1e-6
    assert engine().agrees


def test_a_model_folder_without_reference_vectors_is_not_doubted(tmp_path: Path):
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(BUNDLED / name, tmp_path)
    other = EmbeddingEngine(tmp_path)
    assert other.agreement is None
    assert other.agrees


def test_the_stats_page_says_when_this_machine_disagrees(tmp_path: Path, settings, client: Client, ada: User):
    client.force_login(ada)
    assert "computes other vectors" not in client.get("/memory/stats/").text
    folder = tmp_path / "model"
    shutil.copytree(BUNDLED, folder)
    (folder / "SHA256SUMS").unlink()
    unlike = engine().embed("Something else entirely.")
    assert unlike is not None
    entry = {"text": TEXTS[0], "vector": base64.b64encode(unlike.tobytes()).decode()}
    (folder / "reference.json").write_text(json.dumps([entry]))
    settings.EMBEDDING_MODEL = folder
    assert "computes other vectors" in client.get("/memory/stats/").text
