"""Serves one model file through llama.cpp's OpenAI-compatible server, on loopback and behind a key."""

import asyncio
import os
from dataclasses import dataclass
from typing import Any

from chat.adapters import client
from chat.adapters.http import fetch_json
from chat.errors import ModelError
from chat.providers.local.weights import ModelWeights, WeightsKind

# Two conversations at once, each with its whole context; more wait in a queue.
SLOTS = 2
MOST_THREADS = 8
# The starter rambles: it is stopped after so many tokens, whoever asks.
STARTER_ANSWER = 400
PROPS_SECONDS = 10.0


class CannotServe(Exception):
    """The file can't be served; the message is a sentence for the owner."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers: where, and what its model can do."""

    url: str
    name: str
    context: int
    tools: bool
    # llama.cpp stops when this is collected.
    handle: Any


def start(weights: ModelWeights, key: str, threads: int = 0) -> Running:
    """Load the model and listen on a port that the system chooses; blocks until it answers."""
    # Threads that spin while they wait stop a two-core machine; this is read when the library loads.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    import xllamacpp

    try:
        handle = xllamacpp.Server(parameters(xllamacpp, weights, key, threads or usable_cores()))
    except RuntimeError:
        raise CannotServe(
            f"{weights.path.name} can't be loaded: the file is damaged or incomplete, too large for "
            "this machine's memory, or of a kind that this version of llama.cpp doesn't support."
        ) from None
    url = handle.listening_address
    try:
        props = client.run_alone(_props(url, key))
    except ModelError as error:
        raise CannotServe(f"{weights.path.name} is loaded, but its server says: {error.message}") from None
    caps = props.get("chat_template_caps", {})
    context = props.get("default_generation_settings", {}).get("n_ctx") or weights.context
    return Running(
        url=f"{url}/v1",
        name=weights.name,
        context=context,
        tools=bool(caps.get("supports_tools") and caps.get("supports_tool_calls")),
        handle=handle,
    )


async def _props(url: str, key: str) -> dict[str, Any]:
    """What the server tells of its model."""
    ends = asyncio.get_running_loop().time() + PROPS_SECONDS
    told = await fetch_json("GET", f"{url}/props", client.bearer(key), None, ends, secrets=(key,), given=True)
    return told if isinstance(told, dict) else {}


def parameters(xllamacpp: Any, weights: ModelWeights, key: str, threads: int) -> Any:
    """llama.cpp's settings: its own defaults are open to every page and every process."""
    it = xllamacpp.CommonParams()
    it.model.path = str(weights.path)
    it.model_alias = {weights.name}
    it.n_parallel = SLOTS
    it.n_ctx = weights.context * SLOTS
    it.cpuparams.n_threads = it.cpuparams_batch.n_threads = threads
    it.hostnames = ["127.0.0.1"]
    it.port = 0
    it.api_keys = [key]
    it.cors_origins = "http://127.0.0.1"
    it.cors_credentials = False
    it.offline = True
    it.ui = False
    it.endpoint_slots = False
    it.warmup = False
    it.verbosity = 1
    if weights.kind is WeightsKind.STARTER:
        it.n_predict = STARTER_ANSWER
        # So small a model wanders off and repeats itself at the usual settings.
        it.sampling.temp, it.sampling.top_p = 0.2, 0.9
        it.sampling.penalty_repeat, it.sampling.penalty_last_n = 1.1, 128
    # Kept prompts of other chats: the default is 8 GB.
    it.cache_ram_mib = 0
    return it


def usable_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2
    return min(cores, MOST_THREADS)
