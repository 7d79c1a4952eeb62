"""The addresses of OpenAI's protocol: /v1/models and /v1/chat/completions."""

import logging
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt

from chat.models import AiModel
from chat.replies.threads import in_thread, reading
from connect.tokens.access import Refused, caller_of
from connect.tokens.keys import Caller
from connect.v1 import asking, faults, replying, wire
from connect.v1.faults import ApiError
from connect.v1.replying import Completion

logger = logging.getLogger(__name__)

# Bytes of one request, pictures included.
LONGEST = 32 * 2**20
View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def in_json(*methods: str) -> Callable[[View], View]:
    """Whatever goes wrong, say it as OpenAI's clients expect it."""

    def around(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        async def guarded(request: HttpRequest, **named: str) -> HttpResponseBase:
            try:
                if methods and request.method not in methods:
                    raise faults.wrong_method(str(request.method), request.path, methods)
                return await view(request, **named)
            except ApiError as error:
                told = error
            except Exception:
                logger.exception("A request of a program failed")
                told = ApiError(500, replying.UNEXPECTED, kind="server_error")
            return JsonResponse(told.body, status=told.status, headers=told.headers)

        return guarded

    return around


async def caller_by_token(request: HttpRequest) -> Caller:
    """Whom the request acts for: let in by a token alone."""
    try:
        return await in_thread(reading, caller_of, request)
    except Refused as refused:
        raise faults.of_refusal(refused) from None


@in_json("GET", "HEAD")
async def models(request: HttpRequest) -> HttpResponseBase:
    """Every model that can be asked, the default one first."""
    await caller_by_token(request)
    found = replying.ids(await in_thread(reading, replying.default_first))
    return JsonResponse({"object": "list", "data": [described(name, each) for name, each in found.items()]})


@in_json("GET", "HEAD")
async def model(request: HttpRequest, model_name: str) -> HttpResponseBase:
    """One of them."""
    await caller_by_token(request)
    found = await in_thread(reading, replying.chosen, model_name)
    return JsonResponse(described(model_name, found))


def described(name: str, model: AiModel) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": int(model.provider.created_at.timestamp()),
        "owned_by": model.provider.name,
    }


@in_json()
async def unknown(request: HttpRequest, rest: str = "") -> HttpResponseBase:
    """What else OpenAI has under /v1/, such as embeddings, is not here."""
    raise faults.not_here(str(request.method), request.path)


@in_json("POST")
async def completions(request: HttpRequest) -> HttpResponseBase:
    """One answer, whole or streamed. What goes wrong before its first word has a status of its own."""
    caller = await caller_by_token(request)
    body = request.read(LONGEST + 1)
    if len(body) > LONGEST:
        raise faults.too_large(LONGEST)
    asked = await in_thread(reading, asking.read, body)
    completion = Completion(caller, asked, await replying.prepare(caller, asked))
    if not asked.stream:
        return JsonResponse(await wire.whole(completion))
    events = completion.events()
    first = await anext(events, None)
    response = StreamingHttpResponse(
        wire.streamed(completion, first, events), content_type="text/event-stream"
    )
    response["Cache-Control"] = "no-store"
    # Proxies that buffer would hold the words back.
    response["X-Accel-Buffering"] = "no"
    return response
