"""Model servers that already run on this machine: Ollama, llama.cpp, LM Studio at their usual ports."""

import asyncio
from dataclasses import dataclass

from chat.adapters import client
from chat.errors import ModelError
from chat.models import Provider
from chat.providers import catalogue, manage, presets
from chat.providers.presets import Known

# Long enough for a busy machine, short enough to wait for.
SECONDS = 1.5
PLACES = tuple(
    (presets.BY_KEY[key].name, presets.BY_KEY[key].base_url) for key in ("ollama", "llamacpp", "lmstudio")
)


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered with a list of models."""

    name: str
    base_url: str
    models: tuple[Known, ...]


def discover() -> list[FoundServer]:
    """The servers that answer on loopback, all asked at once; finding none is not an error."""
    return client.run_alone(_look())


async def _look() -> list[FoundServer]:
    answers = await asyncio.gather(*(_ask(name, url) for name, url in PLACES))
    return [found for found in answers if found]


async def _ask(name: str, url: str) -> FoundServer | None:
    try:
        models = await catalogue.models("openai", url, seconds=SECONDS)
    except ModelError:
        return None
    return FoundServer(name, url, tuple(models)) if models else None


def adopt() -> list[Provider]:
    """Create providers for the servers that were found and are not known yet."""
    made = []
    for found in discover():
        # The same server may be written localhost; its port tells enough on this machine.
        port = found.base_url.rpartition(":")[2]
        known = [f"http://{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")]
        if Provider.objects.filter(base_url__in=known).exists():
            continue
        provider = Provider.objects.create(
            name=manage.free_name(found.name),
            kind=Provider.Kind.OPENAI,
            base_url=found.base_url,
            origin=Provider.Origin.FOUND,
        )
        manage.add_models(provider, found.models[: manage.MOST_AT_FIRST])
        made.append(provider)
    return made
