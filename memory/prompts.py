"""Prompts that ask a model to write memory: their templates, the frame around data, and reading answers."""

import re
import secrets

from django.template.loader import render_to_string

ANSWER_TOKENS = 3_000
SMALLEST_PIECE = 2_000  # characters
INSTRUCTION_TOKENS = 1_300  # what a prompt says besides the data
CHARS_A_TOKEN = 3

FENCE = re.compile(r"^\s*(?:```|~~~)")
# However a model marks the items of a list.
BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")


def prompt(name: str, **values: object) -> str:
    """A prompt from templates/memory/prompts; they switch escaping off, being no pages."""
    return render_to_string(f"memory/prompts/{name}.txt", values).strip()


def framed(text: str, name: str = "data") -> dict[str, str]:
    """The text between marks that it can't contain, because they are drawn after it was written."""
    while (nonce := secrets.token_hex(8)) in text:
        pass
    return {"text": text, "begin": f"<<<{name} {nonce}>>>", "end": f"<<<end of {name} {nonce}>>>"}


def piece_limit(context_window: int | None, most: int) -> int:
    """Characters of data that one call may hold: a model with a small window gets less."""
    if not context_window:
        return most
    answer = min(ANSWER_TOKENS, context_window // 3)
    room = (context_window - answer - INSTRUCTION_TOKENS) * CHARS_A_TOKEN
    return max(SMALLEST_PIECE, min(most, room))


def unfenced(answer: str) -> str:
    """An answer that came inside a code fence, without the fence."""
    lines = answer.replace("\r\n", "\n").strip().split("\n")
    if len(lines) >= 2 and FENCE.match(lines[0]):
        lines = lines[1:]
        closing = next((at for at in range(len(lines) - 1, -1, -1) if FENCE.match(lines[at])), None)
        if closing is not None:
            del lines[closing]
    return "\n".join(lines).strip()
