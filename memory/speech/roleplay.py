"""Role-play: from where in a chat words are a character's, and until where."""

import re
from collections.abc import Iterable, Iterator

from memory.speech.phrases import phrases, plain

# An action between stars, as players write it, at the start of a line.
ACTION = re.compile(r"^[ \t]*+\*(?![*\s])[^*\n]{2,200}+\*(?!\*)", re.MULTILINE)
# A cue stands where a request does; the ten-thousandth word of a pasted story is none.
REQUEST_CHARS = 600


def played(messages: Iterable[tuple[bool, str]], playing: bool = False) -> Iterator[bool]:
    """For each message of a chat, whether it is part of a play; a pair is "the user said it" and the text.

    The request that begins a play is the user's own word, and so is the one that ends it.
    """
    for by_user, text in messages:
        going = _goes_on(text, playing) if by_user else playing
        yield (playing and going) or (playing == going and ACTION.search(text) is not None)
        playing = going


def playing_after(user_messages: Iterable[str]) -> bool:
    """Whether a play goes on after these messages of the user."""
    playing = False
    for text in user_messages:
        playing = _goes_on(text, playing)
    return playing


def _goes_on(text: str, playing: bool) -> bool:
    asked = plain(text[:REQUEST_CHARS])
    if playing:
        return not phrases("play_ends").are_in(asked)
    return asked.startswith("act as ") or phrases("play_begins").are_in(asked)
