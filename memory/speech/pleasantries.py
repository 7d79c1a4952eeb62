"""Greetings, thanks and yes or no: said to the machine rather than about oneself."""

import re

from memory.speech.phrases import phrases, plain

# Nobody is polite for longer.
LONGEST = 160
WORD = re.compile(r"\w")


def is_small_talk(text: str) -> bool:
    """Nothing but greetings, thanks and yes or no."""
    if len(text) > LONGEST:
        return False
    return not WORD.search(phrases("small_talk").pattern.sub(" ", plain(text)))
