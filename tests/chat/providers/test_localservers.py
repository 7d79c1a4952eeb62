"""What local servers tell of their models in ways of their own."""

from typing import Any

import pytest

from chat.adapters import client
from chat.providers import catalogue, localservers
from chat.providers.presets import Known
from tests.modelserver import ModelServer


def listed(server: ModelServer) -> list[Known]:
    return client.run_alone(catalogue.models("openai", server.base_url()))


def test_ollama_tells_each_models_abilities_and_the_window_it_has_loaded(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(localservers, "OLLAMA_PORT", model_server.port)
    model_server.models = ["qwen3:8b", "tiny", "nomic", "silent"]
    model_server.pages["/api/ps"] = {"models": [{"name": "qwen3:8b", "context_length": 32768}]}
    abilities = {
        "qwen3:8b": ["completion", "tools", "thinking"],
        "tiny": ["completion", "vision"],
        "nomic": ["embedding"],
    }
    for name, able in abilities.items():
        model_server.error(
            200, {"capabilities": able}, match=lambda r, name=name: r.json and r.json.get("model") == name
        )
    model_server.error(404, match=lambda r: r.json and r.json.get("model") == "silent")
    assert listed(model_server) == [
        Known("qwen3:8b", "", 32768, True, True, False),
        Known("silent", "", 4096),
        Known("tiny", "", 4096, False, False, True),
    ]


def test_lm_studio_tells_what_is_loaded(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(localservers, "LM_STUDIO_PORT", model_server.port)
    model_server.models = ["a", "b", "c", "d"]
    rows: list[dict[str, Any]] = [
        {"id": "a", "type": "llm", "loaded_context_length": 8192, "capabilities": ["tool_use"]},
        {"id": "b", "type": "embeddings"},
        {"id": "d", "type": "vlm"},
    ]
    model_server.pages["/api/v0/models"] = {"data": rows}
    assert listed(model_server) == [
        Known("a", "", 8192, True, images=False),
        Known("c"),
        Known("d", images=True),
    ]


def test_llamacpp_tells_the_window_it_was_started_with(model_server: ModelServer) -> None:
    row = {"id": "model.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}
    model_server.error(200, {"data": [row]}, match="models")
    model_server.pages["/props"] = {
        "default_generation_settings": {"n_ctx": 8192},
        "modalities": {"vision": True, "audio": False},
    }
    assert listed(model_server) == [Known("model.gguf", "", 8192, images=True)]


@pytest.mark.parametrize("nonsense", [[], {"models": 7, "data": {}}, {"default_generation_settings": 1}])
@pytest.mark.parametrize("port", ["OLLAMA_PORT", "LM_STUDIO_PORT", ""])
def test_nonsense_leaves_the_list_as_it_is(
    nonsense: Any, port: str, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if port:
        monkeypatch.setattr(localservers, port, model_server.port)
    model_server.models = ["a"]
    model_server.error(200, {"data": [{"id": "a", "owned_by": "llamacpp"}]}, match="models")
    for page in ("/api/ps", "/api/v0/models", "/props"):
        model_server.pages[page] = nonsense
    model_server.default = "not what was asked"
    assert [model.name for model in listed(model_server)] == ["a"]
