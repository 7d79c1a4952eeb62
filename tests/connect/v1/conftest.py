"""A real server, the scripted model behind it, and OpenAI's own client in front."""

import asyncio
from collections.abc import Callable, Iterator

import openai
import pytest

from chat.models import AiModel
from chat.replies.threads import loop
from memory.manager import MemoryManager
from people.models import User
from tests.chat.conftest import settle, until
from tests.chat.serving import in_thread
from tests.connect.conftest import token_for
from tests.modelserver import ModelServer


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with in_thread() as found:
        yield found


@pytest.fixture
def model(make_provider: Callable[..., AiModel]) -> AiModel:
    return make_provider()


@pytest.fixture
def quiet(transactional_db: None) -> Iterator[None]:
    """Nothing is still being told to memory and no title made when the next test begins."""
    yield
    settle()
    until(lambda: not follow_ups())


def follow_ups() -> list[str]:
    """What goes on after completions, which no client waits for."""
    going_on = asyncio.all_tasks(loop._running())
    return [name for task in going_on if "_follow_up" in (name := str(task.get_coro()))]


@pytest.fixture
def connect(address: str, ada: User, quiet: None) -> Callable[..., openai.OpenAI]:
    """OpenAI's client with a token of Ada's."""

    def make(scope: str = "write", name: str = "Laptop", secret: str = "") -> openai.OpenAI:
        key = secret or token_for(ada, scope, name)
        return openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0, timeout=60)

    return make


@pytest.fixture(autouse=True)
def titled(model_server: ModelServer) -> None:
    for _ in range(4):
        model_server.reply("A title", match="Name this conversation")


@pytest.fixture
def memory(ada: User) -> MemoryManager:
    manager = MemoryManager(ada)
    manager.files.write_memory_file("# Long-term Memory\n\n## Projects\n- Restores a boat called Petrel\n")
    return manager
