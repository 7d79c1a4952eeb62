"""Titles of chats: the first words at once, a few better ones from the model after the first reply."""

LONGEST = 50


def first_words(text: str) -> str:
    """The message's first ~50 characters, cut at the end of a word."""
    line = " ".join(text[:400].split())
    if len(line) <= LONGEST:
        return line
    cut = line[: LONGEST + 1].rsplit(" ", 1)[0] if " " in line[: LONGEST + 1] else line[:LONGEST]
    return cut.rstrip(" ,.;:-–—") + "…"
