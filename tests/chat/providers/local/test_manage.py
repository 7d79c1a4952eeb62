"""The model on this machine as a provider: when it is wanted, what it is trusted with, when it goes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as project
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from chat.models import AiModel, Provider, Session
from chat.providers.local import manage, status
from chat.providers.local.server import Running
from chat.providers.local.weights import WeightsKind
from people.models import User
from tests.limits import Mortal, line_of

pytestmark = pytest.mark.django_db

ANSWERS = Running("http://127.0.0.1:5/v1", "tiny", 2048, True, None)


def real_provider(**values: object) -> AiModel:
    kept = {"name": "Ollama", "kind": "openai", "base_url": "http://127.0.0.1:11434/v1"} | values
    return AiModel.objects.create(provider=Provider.objects.create(**kept), name="llama3")


def local_file(data_dir: Path) -> Path:
    file = data_dir / "models" / "mine.gguf"
    file.parent.mkdir()
    file.write_bytes(b"GGUF")
    os.utime(file, (500, 500))
    return file


def test_with_nothing_configured_the_starter_is_wanted():
    assert manage.wanted().startswith("starter ")


def test_a_real_provider_makes_the_starter_unneeded_and_takes_its_place_away():
    manage.announce(WeightsKind.STARTER, ANSWERS, "key")
    real_provider()
    assert manage.wanted() == ""
    assert not Provider.objects.filter(origin="starter").exists()


def test_a_real_provider_that_is_switched_off_does_not_count():
    real_provider(enabled=False)
    assert manage.wanted().startswith("starter ")


def test_the_starter_can_be_forbidden(settings: Settings):
    settings.STARTER = False
    assert manage.wanted() == ""


def test_an_own_file_is_served_beside_other_providers(data_dir: Path):
    file = local_file(data_dir)
    real_provider()
    assert manage.wanted() == f"local {file}"


def test_an_own_file_takes_the_starters_place(data_dir: Path):
    manage.announce(WeightsKind.STARTER, ANSWERS, "key")
    local_file(data_dir)
    assert manage.wanted().startswith("local ")
    assert not Provider.objects.exists()


def test_a_file_that_is_gone_takes_its_provider_with_it(data_dir: Path):
    file = local_file(data_dir)
    manage.announce(WeightsKind.LOCAL, ANSWERS, "key")
    file.unlink()
    assert manage.wanted().startswith("starter ")
    assert not Provider.objects.exists()


@pytest.mark.parametrize("switch", ["send_memory", "can_write_memory"])
def test_a_file_that_is_copied_again_finds_the_owners_switches(data_dir: Path, switch: str):
    file = local_file(data_dir)
    manage.announce(WeightsKind.LOCAL, ANSWERS, "key")
    Provider.objects.update(**{switch: False})
    file.unlink()
    for _ in range(2):
        assert manage.wanted().startswith("starter ")
    assert not AiModel.objects.exists()
    assert Provider.objects.get().sealed_key == ""
    file.write_bytes(b"GGUF")
    os.utime(file, (500, 500))
    assert manage.wanted() == f"local {file}"
    model = manage.announce(WeightsKind.LOCAL, ANSWERS, "key")
    assert not getattr(model.provider, switch)
    assert model.is_default


def test_what_the_owner_switched_off_stays_off(data_dir: Path):
    manage.announce(WeightsKind.STARTER, ANSWERS, "key")
    Provider.objects.update(enabled=False)
    assert manage.wanted() == ""
    assert Provider.objects.filter(origin="starter", enabled=False).exists()


def test_the_starter_may_neither_write_memory_nor_call_tools():
    model = manage.announce(WeightsKind.STARTER, ANSWERS, "key")
    assert not model.provider.can_write_memory
    assert not model.supports_tools
    assert model.is_default


def test_a_local_model_is_trusted_and_calls_tools_if_its_template_can():
    model = manage.announce(WeightsKind.LOCAL, ANSWERS, "key")
    assert model.provider.can_write_memory
    assert model.supports_tools
    assert model.context_window == 2048


def test_a_restart_moves_the_address_and_keeps_what_the_owner_chose():
    first = manage.announce(WeightsKind.LOCAL, ANSWERS, "one")
    Provider.objects.update(can_write_memory=False, name="My model")
    again = Running("http://127.0.0.1:6/v1", "other", 4096, False, None)
    second = manage.announce(WeightsKind.LOCAL, again, "two")
    assert second.pk == first.pk
    assert (second.name, second.provider.base_url, second.provider.key()) == (
        "other",
        "http://127.0.0.1:6/v1",
        "two",
    )
    assert second.provider.name == "My model"
    assert not second.provider.can_write_memory


def test_when_the_default_leaves_another_takes_its_place(data_dir: Path):
    file = local_file(data_dir)
    manage.announce(WeightsKind.LOCAL, ANSWERS, "key")
    real = real_provider()
    file.unlink()
    manage.wanted()
    real.refresh_from_db()
    assert real.is_default


def test_another_default_stays_the_default():
    real = real_provider()
    AiModel.objects.filter(pk=real.pk).update(is_default=True)
    assert not manage.announce(WeightsKind.LOCAL, ANSWERS, "key").is_default


def test_a_name_that_is_taken_gets_a_number():
    real_provider(name="Local model")
    assert manage.announce(WeightsKind.LOCAL, ANSWERS, "key").provider.name == "Local model 2"


def test_the_key_is_sealed():
    model = manage.announce(WeightsKind.STARTER, ANSWERS, "a-secret-key")
    assert "a-secret-key" not in model.provider.sealed_key


def test_a_bad_file_ends_the_server_with_a_sentence_that_pages_can_show(settings: Settings):
    settings.LOCAL_MODEL = "/nowhere/model.gguf"
    with pytest.raises(CommandError, match="There is no model file at /nowhere/"):
        call_command("modelserver")
    assert status.read().state is status.ServerState.FAILED
    assert status.read().sentence == "There is no model file at /nowhere/model.gguf."
    assert not Provider.objects.exists()


def test_without_a_wish_there_is_no_server():
    real_provider()
    with pytest.raises(CommandError, match="No local model is needed"):
        call_command("modelserver")


def test_the_chat_says_that_the_starter_is_only_a_starter(page: Client, session: Session):
    manage.announce(WeightsKind.STARTER, ANSWERS, "key")
    assert "makes things up" in page.get("/").content.decode()
    assert "makes things up" in page.get(f"/chat/{session.id}/").content.decode()


def test_an_admin_gets_one_click_to_a_real_model(page: Client, user: User):
    manage.announce(WeightsKind.STARTER, ANSWERS, "key")
    assert "Add a provider" not in page.get("/").content.decode()
    User.objects.filter(pk=user.pk).update(is_staff=True)
    html = page.get("/").content.decode()
    assert f'href="{reverse("settings:providers")}">Add a provider' in html


def test_of_a_real_model_nothing_is_said(page: Client):
    real = real_provider()
    AiModel.objects.filter(pk=real.pk).update(is_default=True)
    assert manage.notice() is None
    assert 'id="model-notice"' not in page.get("/").content.decode()


def test_a_local_model_that_fails_is_told_on_the_page(page: Client, settings: Settings):
    settings.LOCAL_MODEL = "/nowhere/model.gguf"
    with pytest.raises(CommandError):
        call_command("modelserver")
    assert "There is no model file at /nowhere/model.gguf." in page.get("/").content.decode()


def test_the_process_announces_itself_and_clears_up_when_it_is_stopped(tmp_path: Path):
    command = [sys.executable, str(project.BASE_DIR / "manage.py")]
    environment = os.environ | {"ONECLAW_DATA_DIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    subprocess.run([*command, "migrate", "-v0"], env=environment, check=True, timeout=120)
    process = Mortal[str]([*command, "modelserver"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert "is ready at http://127.0.0.1:" in line_of(process, 120)
        assert json.loads((tmp_path / "modelserver.json").read_text())["state"] == "ready"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
    assert not (tmp_path / "modelserver.json").exists()
