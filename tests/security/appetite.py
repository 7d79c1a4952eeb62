"""Takes what a hostile provider sends, in a process of its own, and prints how much memory that cost.

    python -m tests.security.appetite URL ATTACKS

asks the server at URL once for each attack and protocol, as a run does, and prints one line of JSON for each.
"""

import json
import os
import resource
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
import django

django.setup()

from chat import adapters  # noqa: E402
from chat.adapters import ChatTurn, ModelRequest, client  # noqa: E402
from chat.adapters.events import Event  # noqa: E402
from chat.errors import ModelError  # noqa: E402
from chat.providers import catalogue  # noqa: E402
from tests.security.hostile import KINDS  # noqa: E402

PATHS = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}


def peak_mb() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 2**20 if sys.platform == "darwin" else used / 2**10


async def answer(kind: str, base_url: str) -> tuple[str, list[Event]]:
    events: list[Event] = []
    request = ModelRequest(kind, base_url, "m", (ChatTurn("user", "Hi"),), deadline=60, silence=20)
    try:
        async for event in adapters.stream(request):
            events.append(event)
    except ModelError as error:
        return error.code, events
    return "", events


async def models(kind: str, base_url: str) -> tuple[str, list[Event]]:
    try:
        await catalogue.models(kind, base_url, seconds=60)
    except ModelError as error:
        return error.code, []
    return "", []


def main(url: str, attacks: str) -> None:
    before = peak_mb()
    for attack in attacks.split(","):
        for kind in KINDS:
            ask = models if attack == "models" else answer
            code, events = client.run_alone(ask(kind, url + PATHS[kind]))
            line = {
                "attack": attack,
                "kind": kind,
                "code": code,
                "events": len(events),
                "mb": round(peak_mb() - before, 1),
            }
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
