"""The model server as a process: closed to strangers, honest about its model, clear about bad files."""

from pathlib import Path

import httpx
import pytest

from chat.providers.local.server import CannotServe, start
from chat.providers.local.weights import ModelWeights, WeightsKind, bundled
from tests.realmodel import CONTEXT, RealModel


def test_it_listens_on_loopback_alone(real_model: RealModel):
    assert real_model.url.startswith("http://127.0.0.1:")


def test_it_says_how_much_one_conversation_may_hold(real_model: RealModel):
    assert real_model.context == CONTEXT


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
def test_without_its_key_it_answers_nobody(real_model: RealModel, headers: dict[str, str]):
    assert httpx.get(f"{real_model.url}/models", headers=headers, timeout=60).status_code == 401


def test_another_page_in_the_browser_is_not_let_in(real_model: RealModel):
    answer = httpx.options(
        f"{real_model.url}/chat/completions",
        headers={"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"},
    )
    assert answer.headers.get("Access-Control-Allow-Origin") not in ("*", "https://elsewhere.example")
    assert answer.headers.get("Access-Control-Allow-Credentials") != "true"


def test_what_others_asked_can_not_be_read(real_model: RealModel):
    base = real_model.url.removesuffix("/v1")
    answer = httpx.get(f"{base}/slots", headers={"Authorization": f"Bearer {real_model.key}"}, timeout=60)
    assert answer.status_code >= 400


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    whole = bundled()
    assert whole
    assert start(ModelWeights(whole, WeightsKind.STARTER, CONTEXT), "key").context == CONTEXT


def test_a_damaged_file_is_refused_with_a_sentence(tmp_path: Path):
    whole = bundled()
    assert whole
    damaged = tmp_path / "damaged.gguf"
    with whole.open("rb") as file:
        damaged.write_bytes(file.read(200_000))
    with pytest.raises(CannotServe, match=r"damaged\.gguf can't be loaded"):
        start(ModelWeights(damaged, WeightsKind.LOCAL, 512), "key")
