"""One JSON answer to a small question, with the same errors that a conversation has."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import httpx

from chat import errors
from chat.adapters import connection, faults
from chat.adapters.exchange import LONGEST_ERROR, network_error, read_body
from chat.errors import ModelError

LONGEST = 16 * 1024 * 1024


async def ask(
    method: str, url: str, headers: dict[str, str], body: Any, ends: float, secrets: Iterable[str] = ()
) -> Any:
    try:
        request = connection.client().build_request(
            method, url, headers=headers, json=body, timeout=connection.timeouts(10.0)
        )
        async with asyncio.timeout_at(ends):
            response = await connection.client().send(request, stream=True)
        try:
            failed = response.status_code != 200
            raw = await read_body(response, LONGEST_ERROR if failed else LONGEST, ends, cut=failed)
        finally:
            await response.aclose()
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as fault:
        raise network_error(fault) from None
    if failed:
        answer = faults.read(response.status_code, response.headers, raw)
        raise faults.explain(answer, model="", secrets=secrets)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise ModelError(
            errors.NOT_JSON, "The address answered with something other than a list of models: check it."
        ) from None
