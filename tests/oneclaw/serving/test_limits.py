"""A body is counted as it comes in, whatever its header claims."""

from typing import Any

import pytest

from oneclaw.serving.limits import BodyLimit


async def ask(chunks: list[bytes], headers: list[tuple[bytes, bytes]] | None = None) -> tuple[int, int]:
    """The status of the answer, and how many chunks were left unread."""
    left = list(chunks)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})

    await BodyLimit(app, most=10)({"type": "http", "headers": headers or []}, receive, send)
    return sent[0]["status"], len(left)


async def test_a_body_within_the_limit_goes_through() -> None:
    assert await ask([b"12345", b"67890"]) == (200, 0)


@pytest.mark.parametrize(
    "headers", [[], [(b"content-length", b"11")], [(b"content-length", b"5")], [(b"content-length", b"x")]]
)
async def test_more_is_read_away_and_refused(headers: list[tuple[bytes, bytes]]) -> None:
    assert await ask([b"12345", b"67890", b"1"], headers) == (413, 0)


async def test_far_more_is_cut_off() -> None:
    status, unread = await ask([b"1234567890"] * 100)
    assert status == 413
    assert unread > 90


async def test_other_protocols_pass() -> None:
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    await BodyLimit(app, most=1)({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    assert seen == ["lifespan"]
