"""The world of a life that is killed: a model that repeats what it heard, and words by which to tell.

Every message and every fact holds a word of its own ("m12", "f7"): what is lost or doubled has a name.
"""

import re
from collections import Counter

from tests.modelserver import Recorded, Script

FRAMED = re.compile(r"<<<data (\w+)>>>\n(.*?)\n<<<end of data \1>>>", re.DOTALL)
WORD = re.compile(r"\b[mf]\d+\b")
# One fact in two wordings: a compaction merges them, and may not lose the fact.
FACT, AGAIN = "{} is a fact that was worth keeping", "{} is a fact that was worth keeping, said again"
CHANGED = "{} is a fact that has changed meanwhile"
LEARNT = "{} was learnt in a chat"


def answer(request: Recorded) -> Script:
    """A summary, a tidier MEMORY.md, or a reply, whichever was asked for."""
    found = FRAMED.search(request.last_user)
    if not found:
        return Script(reply(request.last_user), delay=0.002)
    told = [line for line in found[2].splitlines() if line.startswith("> ")]
    return Script(summary("\n".join(told)) if told else compacted(found[2]))


def reply(said: str) -> str:
    """The answer to the last message; a kill may have left others before it without one."""
    word = (WORD.findall(said) or ["nothing"])[-1]
    return f"I heard {word}. " + "That is good to know, and here is a long way of saying so. " * 3 + "Done."


def summary(told: str) -> str:
    """What the user said, word by word, and the first word of it as a fact; replies are not told again."""
    own = [
        word for line in told.splitlines() if not line.startswith("> I heard") for word in WORD.findall(line)
    ]
    heard = "\n".join(f"- Heard {word}" for word in dict.fromkeys(own)) or "- Heard nothing"
    facts = f"- [notes] {LEARNT.format(own[0])}" if own else "None"
    return f"## Daily Summary\n{heard}\n\n## Long-term Facts\n{facts}\n"


def compacted(text: str) -> str:
    """The file without the shorter of two wordings of one fact."""
    said_again = {word for word in words_of(text) if f"- {AGAIN.format(word)}" in text.splitlines()}
    short = {f"- {FACT.format(word)}" for word in said_again}
    return "\n".join(line for line in text.splitlines() if line not in short) + "\n"


def words_of(text: str) -> list[str]:
    return WORD.findall(text)


def lines_of(text: str) -> Counter[str]:
    """The lines that say something: headings and blank lines come and go with what stands under them."""
    return Counter(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
