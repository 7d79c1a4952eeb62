"""Pictures on the wire: each protocol's own form, seen by a server that speaks it."""

import base64
from typing import Any

import pytest

from chat.adapters import ChatTurn, Picture, faults
from chat.adapters.request import MOST_PICTURE_TOKENS, settled
from tests.chat.adapters.exchanges import KINDS, answer, failure, request_to, text_of
from tests.modelserver import ModelServer

CAT = Picture("image/png", b"\x89PNG cat", "cat.png", 800, 600)
DOG = Picture("image/jpeg", b"\xff\xd8 dog", "dog.jpg", 40, 30)
CAT_64, DOG_64 = (base64.b64encode(each.data).decode() for each in (CAT, DOG))


def sent(kind: str, server: ModelServer) -> list[dict[str, Any]]:
    """The parts of the user's last message, as they arrived."""
    body = server.last.json
    turns = body["contents"] if kind == "gemini" else body["messages"]
    newest = [turn for turn in turns if turn["role"] == "user"][-1]
    parts: list[dict[str, Any]] = newest["parts"] if kind == "gemini" else newest["content"]
    return parts


def on_the_wire(kind: str, *parts: str | Picture) -> list[dict[str, Any]]:
    forms: dict[str, Any] = {
        "openai": lambda p: {
            "type": "image_url",
            "image_url": {"url": f"data:{p.media_type};base64,{p.base64}"},
        },
        "anthropic": lambda p: {
            "type": "image",
            "source": {"type": "base64", "media_type": p.media_type, "data": p.base64},
        },
        "gemini": lambda p: {"inlineData": {"mimeType": p.media_type, "data": p.base64}},
    }
    kind_of_text = {} if kind == "gemini" else {"type": "text"}
    return [kind_of_text | {"text": p} if isinstance(p, str) else forms[kind](p) for p in parts]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_picture_goes_in_the_protocols_own_form(kind: str, model_server: ModelServer) -> None:
    turn = ChatTurn("user", "What is this?", pictures=(CAT,))
    assert text_of(await answer(request_to(kind, model_server, messages=(turn,))))
    assert sent(kind, model_server) == on_the_wire(kind, CAT, "What is this?")
    assert CAT_64 in model_server.last.text


@pytest.mark.parametrize("kind", KINDS)
async def test_several_pictures_are_named_and_in_order(kind: str, model_server: ModelServer) -> None:
    turn = ChatTurn("user", "Which is the dog?", pictures=(CAT, DOG))
    await answer(request_to(kind, model_server, messages=(turn,)))
    wanted = on_the_wire(kind, "Picture 1: cat.png", CAT, "Picture 2: dog.jpg", DOG, "Which is the dog?")
    assert sent(kind, model_server) == wanted


@pytest.mark.parametrize("kind", KINDS)
async def test_a_picture_without_words_is_a_turn(kind: str, model_server: ModelServer) -> None:
    await answer(request_to(kind, model_server, messages=(ChatTurn("user", " ", pictures=(CAT,)),)))
    assert sent(kind, model_server) == on_the_wire(kind, CAT)


@pytest.mark.parametrize("kind", KINDS)
async def test_notes_come_with_the_words_and_leave_the_picture(kind: str, model_server: ModelServer) -> None:
    turn = ChatTurn("user", "Look", pictures=(CAT,))
    await answer(request_to(kind, model_server, messages=(turn,), notes="A note."))
    assert sent(kind, model_server) == on_the_wire(kind, CAT, "A note.\n\nLook")


@pytest.mark.parametrize("kind", KINDS)
async def test_earlier_pictures_stay_with_their_turn(kind: str, model_server: ModelServer) -> None:
    turns = (
        ChatTurn("user", "Look", pictures=(CAT,)),
        ChatTurn("assistant", "A cat."),
        ChatTurn("user", "What colour?"),
    )
    await answer(request_to(kind, model_server, messages=turns))
    assert model_server.last.text.count(CAT_64) == 1
    assert "What colour?" in model_server.last.last_user
    assert not any("image" in str(part).lower() for part in sent(kind, model_server))


async def test_without_pictures_text_stays_plain(model_server: ModelServer) -> None:
    for kind in ("openai", "anthropic"):
        await answer(request_to(kind, model_server))
        assert model_server.last.json["messages"][-1]["content"] == "Hi"


def test_neighbours_of_one_role_keep_both_pictures() -> None:
    turns = settled([ChatTurn("user", "a", pictures=(CAT,)), ChatTurn("user", "b", pictures=(DOG,))])
    assert turns == [ChatTurn("user", "a\n\nb", pictures=(CAT, DOG))]


def test_what_a_picture_costs() -> None:
    assert CAT.tokens == 800 * 600 // 750
    assert DOG.tokens == 85
    assert Picture("image/png", b"", width=9000, height=9000).tokens == MOST_PICTURE_TOKENS
    assert Picture("image/png", b"").tokens == MOST_PICTURE_TOKENS  # of unknown size


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "No endpoints found that support image input"),
        (400, "Invalid content type. image_url is only supported by certain models."),
        (
            500,
            "image input is not supported - hint: you may need to provide the mmproj",
        ),
        (500, "this model is missing data required for image input"),
        (400, "Model does not support vision"),
        (400, "scripted-model is not a multimodal model"),
        (400, "Failed to deserialize: unknown variant `image_url`, expected `text`"),
    ],
)
async def test_a_server_that_can_not_see_is_understood(
    status: int, said: str, model_server: ModelServer
) -> None:
    model_server.error(status, {"error": {"message": said}})
    turn = ChatTurn("user", "What is this?", pictures=(CAT,))
    error, events = await failure(request_to("openai", model_server, messages=(turn,)))
    assert (error.code, events) == ("no_pictures", [])
    assert "scripted-model can't see pictures" in error.message


@pytest.mark.parametrize("said", ["image_url could not be fetched", "Unsupported parameter: temperature"])
def test_other_complaints_are_not_taken_for_blindness(said: str) -> None:
    assert faults.explain(faults.Fault(400, said), model="m").code == "bad_request"
