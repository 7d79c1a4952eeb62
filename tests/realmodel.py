"""A real peer for the tests: SmolLM2 served by llama.cpp on loopback, in a process of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from chat.providers.local.server import start
from chat.providers.local.weights import ModelWeights, WeightsKind, bundled
from tests.limits import Mortal, line_of

CONTEXT = 256
KEY = "real-model-key"


@dataclass(frozen=True, slots=True)
class RealModel:
    """A running peer: what an adapter needs to reach it, and its process."""

    url: str
    key: str
    name: str
    context: int
    process: Mortal[str]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)


@contextmanager
def running() -> Iterator[RealModel]:
    process = Mortal[str]([sys.executable, "-m", "tests.realmodel"], stdout=subprocess.PIPE, text=True)
    try:
        told = json.loads(line_of(process, 120))
        yield RealModel(process=process, **told)
    finally:
        process.kill()
        process.wait(20)


@pytest.fixture(scope="session")
def real_model() -> Iterator[RealModel]:
    """One peer for all tests that only talk to it."""
    with running() as model:
        yield model


@pytest.fixture
def mortal_model() -> Iterator[RealModel]:
    """A peer of one's own, to be killed."""
    with running() as model:
        yield model


def serve() -> None:
    path = bundled()
    assert path, "The tests need the starter model: run make install-dev."
    server = start(ModelWeights(path, WeightsKind.STARTER, CONTEXT), KEY)
    told = {"url": server.url, "key": KEY, "name": server.name, "context": server.context}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)


if __name__ == "__main__":
    serve()
