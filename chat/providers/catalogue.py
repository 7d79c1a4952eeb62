"""Which models a provider has: its own list, as each protocol gives it."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import Any

from chat import errors
from chat.adapters.anthropic import VERSION
from chat.adapters.cleaning import clean
from chat.adapters.client import bearer, key_header
from chat.adapters.http import fetch_json
from chat.errors import ModelError
from chat.providers import localservers, presets
from chat.providers.presets import Known

MOST_MODELS = 2_000
MOST_ROWS = 10_000
NO_LIST = "Check the provider's address: it did not return a list of models."


async def models(
    kind: str, base_url: str, key: str = "", *, seconds: float = 10.0, given: bool = False
) -> list[Known]:
    """The models that can chat, by name, with all that the list and the name tell; or a ModelError."""
    ends = asyncio.get_running_loop().time() + seconds
    url, headers = where(kind, base_url.rstrip("/"), key)
    data = await fetch_json("GET", url, headers, None, ends, secrets=(key,) if key else (), given=given)
    try:
        rows = list(islice(listed(kind, data), MOST_ROWS))
    except (AttributeError, TypeError, ValueError, RecursionError):
        raise ModelError(errors.NOT_JSON, NO_LIST) from None
    found = [merge(presets.known(model.name), model) for model in rows if model.name]
    found = [model for model in found if presets.is_for_chat(model.name)][:MOST_MODELS]
    if kind == "openai":
        found = await localservers.refine(base_url, headers, data, found, ends, given=given)
    unique = {model.name: model for model in found}
    return sorted(unique.values(), key=lambda model: model.name.lower())


def where(kind: str, base_url: str, key: str) -> tuple[str, dict[str, str]]:
    if kind == "anthropic":
        root = base_url.removesuffix("/v1")
        return f"{root}/v1/models?limit=1000", {"anthropic-version": VERSION, **key_header("x-api-key", key)}
    if kind == "gemini":
        return f"{base_url}/models?pageSize=1000", key_header("x-goog-api-key", key)
    return f"{base_url}/models", bearer(key)


def listed(kind: str, data: Any) -> Iterator[Known]:
    rows = data.get("models" if kind == "gemini" else "data") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise ModelError(errors.NOT_JSON, NO_LIST)
    read = {"gemini": from_gemini, "anthropic": from_anthropic}.get(kind, from_openai)
    for row in rows:
        if isinstance(row, dict) and (model := read(row)):
            yield model


def from_openai(row: dict[str, Any]) -> Known | None:
    """OpenAI's row, with what OpenRouter, Mistral, Groq, vLLM and llama.cpp add to it."""
    meta = _dict(row.get("meta"))
    capabilities = _dict(row.get("capabilities"))
    if capabilities.get("completion_chat") is False:
        return None
    window = next(
        (
            value
            for told in (
                row.get("context_length"),
                row.get("context_window"),
                row.get("max_context_length"),
                row.get("max_model_len"),
                meta.get("n_ctx"),
                meta.get("n_ctx_train"),
            )
            if (value := localservers.size(told))
        ),
        None,
    )
    parameters = row.get("supported_parameters")
    able = {each for each in parameters if isinstance(each, str)} if isinstance(parameters, list) else None
    tools = "tools" in able if able is not None else capabilities.get("function_calling")
    thinking = "reasoning" in able if able is not None else None
    label = row.get("name") if able is not None else ""
    inputs = _dict(row.get("architecture")).get("input_modalities")
    images = "image" in inputs if isinstance(inputs, list) else _told(capabilities.get("vision"))
    return Known(_name(row.get("id")), _label(label), window, tools, thinking, images)


def from_anthropic(row: dict[str, Any]) -> Known:
    able = _dict(row.get("capabilities"))
    return Known(
        _name(row.get("id")),
        _label(row.get("display_name")),
        localservers.size(row.get("max_input_tokens")),
        thinking=_told(_dict(able.get("thinking")).get("supported")),
        images=_told(_dict(able.get("image_input")).get("supported")),
    )


def from_gemini(row: dict[str, Any]) -> Known | None:
    if "generateContent" not in (row.get("supportedGenerationMethods") or []):
        return None
    return Known(
        _name(row.get("name")).removeprefix("models/"),
        _label(row.get("displayName")),
        localservers.size(row.get("inputTokenLimit")),
        thinking=_told(row.get("thinking")),
    )


def merge(guess: Known, told: Known) -> Known:
    """What the provider says, filled up with what the name tells."""
    return Known(
        told.name,
        told.label or guess.label,
        told.context_window or guess.context_window,
        guess.tools if told.tools is None else told.tools,
        guess.thinking if told.thinking is None else told.thinking,
        guess.images if told.images is None else told.images,
    )


def _told(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _name(value: Any) -> str:
    """The name as it has to be sent back; one that can't be stored names nothing."""
    return value if isinstance(value, str) and len(value) <= 200 and value == clean(value) else ""


def _label(value: Any) -> str:
    return clean(value[:200]) if isinstance(value, str) else ""
