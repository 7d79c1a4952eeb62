"""One question to a model and its whole answer: for titles, summaries and compaction."""

from dataclasses import dataclass, replace

from chat import adapters
from chat.adapters import ChatTurn, ModelRequest, client
from chat.adapters.events import Finished, Reason, TextDelta, Usage
from chat.errors import CONTEXT_TOO_LONG, ModelError
from chat.models import AiModel

__all__ = ["CONTEXT_TOO_LONG", "Answer", "ModelError", "ask_model"]

ROOM_FOR_THOUGHT = 8_192


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said; unknown token counts are None."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    # "length" when the model was cut off: what it said is not the whole of it.
    reason: Reason = "stop"


def ask_model(
    model: AiModel,
    prompt: str,
    *,
    system: str = "",
    max_tokens: int | None = None,
    temperature: float | None = None,
    timeout: float = 120,
) -> Answer:
    """The answer, or a ModelError. Blocks: call it from a worker or a thread, never inside a transaction."""
    request = question(
        model, prompt, system=system, max_tokens=max_tokens, temperature=temperature, timeout=timeout
    )
    return client.run_alone(patiently(request))


def question(
    model: AiModel,
    prompt: str,
    *,
    system: str,
    max_tokens: int | None,
    temperature: float | None = None,
    timeout: float,
) -> ModelRequest:
    """One question as a request, without thoughts. Reads `model.provider`."""
    return ModelRequest.to(
        model,
        [ChatTurn("user", prompt)],
        system=system,
        max_tokens=max_tokens,
        temperature=temperature,
        thinking=False,
        deadline=timeout,
    )


async def patiently(request: ModelRequest) -> Answer:
    """The answer; a model that spent its whole limit on thoughts is asked once more with room for both."""
    answer = await collect(request)
    if answer.text or answer.reason != "length" or not request.max_tokens:
        return answer
    return await collect(replace(request, max_tokens=request.max_tokens + ROOM_FOR_THOUGHT))


async def collect(request: ModelRequest) -> Answer:
    """The whole answer to a request, without what was thought on the way."""
    text: list[str] = []
    usage = Usage()
    reason: Reason = "stop"
    async for event in adapters.stream(request):
        if isinstance(event, TextDelta):
            text.append(event.text)
        elif isinstance(event, Usage):
            usage = event
        elif isinstance(event, Finished):
            reason = event.reason
    return Answer("".join(text).strip(), usage.input_tokens, usage.output_tokens, reason)
