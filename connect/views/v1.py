"""The addresses of OpenAI's protocol: /v1/models and /v1/chat/completions."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from chat.replies.threads import in_thread, reading
from connect.tokens.access import Refused, caller_of
from connect.tokens.keys import Caller
from connect.v1 import asking, faults, replying, wire
from connect.v1.faults import ApiError
from connect.v1.replying import Completion

# Bytes of one request, pictures included.
LONGEST = 32 * 2**20
View = Callable[[HttpRequest, Caller], Coroutine[Any, Any, HttpResponseBase]]


def by_token(view: View) -> Callable[[HttpRequest], Coroutine[Any, Any, HttpResponseBase]]:
    """Let in by a token alone, and say every error as OpenAI's clients expect it."""

    @csrf_exempt
    @wraps(view)
    async def guarded(request: HttpRequest) -> HttpResponseBase:
        try:
            try:
                caller = await in_thread(reading, caller_of, request)
            except Refused as refused:
                raise faults.of_refusal(refused) from None
            return await view(request, caller)
        except ApiError as error:
            return JsonResponse(error.body, status=error.status, headers=error.headers)

    return guarded


@require_safe
@by_token
async def models(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Every model that can be asked, the default one first."""
    found = replying.ids(await in_thread(reading, replying.default_first))
    rows = [
        {
            "id": name,
            "object": "model",
            "created": int(model.provider.created_at.timestamp()),
            "owned_by": model.provider.name,
        }
        for name, model in found.items()
    ]
    return JsonResponse({"object": "list", "data": rows})


@require_POST
@by_token
async def completions(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """One answer, whole or streamed. What goes wrong before its first word has a status of its own."""
    body = request.read(LONGEST + 1)
    if len(body) > LONGEST:
        raise ApiError(413, f"A request can have at most {LONGEST // 2**20} MB.")
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
