"""Fixtures: a scripted model server for the test, and a default model that points to it."""

from collections.abc import Callable, Iterator

import pytest

from chat.adapters import http
from chat.models import AiModel, Provider
from tests.modelserver import ModelServer

SECRET = "sk-test-0123456789-wxyz"


@pytest.fixture(autouse=True)
def forgetful_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test learns a server's quirks for another, and none waits long between attempts."""
    monkeypatch.setattr(http, "_learnt", {})
    monkeypatch.setattr(http, "FIRST_WAIT", 0.01)


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture
def make_provider(db: None, model_server: ModelServer) -> Callable[..., AiModel]:
    """make_provider("anthropic") → its model, which is the default one unless another already is."""

    def make(kind: str = "openai", **fields: object) -> AiModel:
        model = {
            name: fields.pop(name)
            for name in ("context_window", "supports_tools", "supports_thinking", "supports_images")
            if name in fields
        }
        values = {"name": f"Scripted {kind}", "base_url": model_server.base_url(kind), **fields}
        provider = Provider(kind=kind, **values)
        provider.set_key(SECRET)
        provider.save()
        first = not AiModel.objects.filter(is_default=True).exists()
        return AiModel.objects.create(provider=provider, name="scripted-model", is_default=first, **model)

    return make
