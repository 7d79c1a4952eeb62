"""The model server under a real `up`: it comes back when it dies, and a bad file harms nothing else."""

import os
import signal
from pathlib import Path

from chat.providers.local.weights import bundled
from tests.running import Running, oneclaw, rows


def answers(running: Running) -> int:
    return running.log.count("is ready at")


def providers(running: Running) -> list[tuple[object, ...]]:
    return rows(
        running.data_dir,
        "SELECT p.origin, p.can_write_memory, m.supports_tools, m.is_default, p.base_url "
        "FROM chat_provider p JOIN chat_aimodel m ON m.provider_id = p.id",
    )


def test_an_own_file_is_served_and_comes_back_when_its_server_is_killed(tmp_path: Path):
    with oneclaw(tmp_path, ONECLAW_LOCAL_MODEL=str(bundled()), ONECLAW_DISCOVER="0") as running:
        running.wait_until(lambda: answers(running) == 1)
        ((*trust, address),) = providers(running)
        # Trusted, without tools because its template has none, and the default.
        assert trust == ["local", 1, 0, 1]
        assert running.model_server
        os.kill(running.model_server, signal.SIGKILL)
        running.wait_until(lambda: answers(running) == 2)
        ((*again, moved),) = providers(running)
        assert again == trust
        assert moved != address
        assert "killed by SIGKILL" in running.log
        assert running.health()["status"] == "ok"


def test_a_bad_file_is_said_and_tried_again_while_the_rest_goes_on(tmp_path: Path):
    bad = tmp_path / "page.gguf"
    bad.write_text("<html>")
    with oneclaw(tmp_path / "data", ONECLAW_LOCAL_MODEL=str(bad), ONECLAW_DISCOVER="0") as running:
        running.wait_until(lambda: "It restarts in 2 s." in running.log)
        assert running.log.count("page.gguf is not a GGUF model file.") == 2
        assert running.health()["status"] == "ok"
