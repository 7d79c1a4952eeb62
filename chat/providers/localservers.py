"""What Ollama, LM Studio and llama.cpp tell of their models beyond the common list, each in its own way."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from chat.adapters.http import fetch_json
from chat.errors import ModelError
from chat.providers.presets import Known

OLLAMA_PORT = 11434
LM_STUDIO_PORT = 1234
# What Ollama takes unless it is told otherwise, however long the model's own window is.
OLLAMA_WINDOW = 4096
MOST_SHOWN = 40
# What Ollama shows of a model holds its licence; so many are asked for at once.
LONGEST_SHOWN = 1024 * 1024
AT_ONCE = 4
# One question to the server whose list it is: method, address and what else differs.
Ask = Callable[..., Awaitable[Any]]


async def refine(
    base_url: str,
    headers: dict[str, str],
    listed: Any,
    found: list[Known],
    ends: float,
    *,
    given: bool = False,
) -> list[Known]:
    """The models with what their server adds; as they were where it adds nothing."""
    root = re.sub(r"/v1/?$", "", base_url)
    ask = partial(fetch_json, headers=headers, ends=ends, given=given)
    try:
        port = urlsplit(base_url).port
        if port == OLLAMA_PORT:
            return await from_ollama(root, ask, found)
        if port == LM_STUDIO_PORT:
            return from_lm_studio(await ask("GET", f"{root}/api/v0/models", body=None), found)
        if any(row.get("owned_by") == "llamacpp" for row in rows(listed, "data")):
            return from_llamacpp(await ask("GET", f"{root}/props", body=None), found)
    except (ModelError, ValueError):
        pass
    return found


async def from_ollama(root: str, ask: Ask, found: list[Known]) -> list[Known]:
    """What each model can do is told only when asked for each; its real window only once it is loaded."""
    try:
        running = rows(await ask("GET", f"{root}/api/ps", body=None), "models")
    except ModelError:
        running = []
    windows = {name: size(row.get("context_length")) for name, row in by_name(running, "name").items()}
    turns = asyncio.Semaphore(AT_ONCE)

    async def show(model: Known) -> Known | None:
        window = windows.get(model.name) or OLLAMA_WINDOW
        try:
            async with turns:
                data = await ask("POST", f"{root}/api/show", body={"model": model.name}, most=LONGEST_SHOWN)
        except ModelError:
            data = None
        able = data.get("capabilities") if isinstance(data, dict) else None
        if not isinstance(able, list):
            return replace(model, context_window=window)
        if "completion" not in able:
            return None
        return Known(model.name, model.label, window, "tools" in able, "thinking" in able, "vision" in able)

    shown = await asyncio.gather(*(show(model) for model in found[:MOST_SHOWN]))
    return [model for model in shown if model] + found[MOST_SHOWN:]


def from_lm_studio(data: Any, found: list[Known]) -> list[Known]:
    told = by_name(rows(data, "data"), "id")
    refined = []
    for model in found:
        row = told.get(model.name, {})
        if row.get("type") == "embeddings":
            continue
        window = size(row.get("loaded_context_length")) or model.context_window
        able = row.get("capabilities")
        tools = "tool_use" in able if isinstance(able, list) else model.tools
        images = row["type"] == "vlm" if isinstance(row.get("type"), str) else model.images
        refined.append(replace(model, context_window=window, tools=tools, images=images))
    return refined


def from_llamacpp(data: Any, found: list[Known]) -> list[Known]:
    given = data.get("default_generation_settings") if isinstance(data, dict) else None
    window = size(given.get("n_ctx")) if isinstance(given, dict) else None
    senses = data.get("modalities") if isinstance(data, dict) else None
    sees = senses.get("vision") if isinstance(senses, dict) else None
    return [
        replace(
            model,
            context_window=window or model.context_window,
            images=sees if isinstance(sees, bool) else model.images,
        )
        for model in found
    ]


def rows(data: Any, name: str) -> list[dict[str, Any]]:
    listed = data.get(name) if isinstance(data, dict) else None
    return [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []


def by_name(listed: list[dict[str, Any]], field: str) -> dict[str, dict[str, Any]]:
    return {name: row for row in listed if isinstance(name := row.get(field), str)}


def size(value: Any) -> int | None:
    """A number of tokens, if it is a plausible one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else None
