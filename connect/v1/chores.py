"""Calls that programs make for themselves, such as for a title: known by their prompts, and never a chat."""

import re
from collections.abc import Sequence

from chat.adapters import ChatTurn

# How far a prompt is read for what it is.
OPENING = 600
# Open WebUI's templates begin alike. Owners may change them; what they fill in is still marked as here.
TEMPLATE = re.compile(r"###\s*task:")
FILLED_IN = re.compile(r"<chat_history>|###\s*chat history:")
OPENINGS = re.compile(
    r"""
    # Open WebUI: title, tags, follow-ups, searches, completion of typed words, pictures, merged replies
    \#\#\#\s*task:\s*(
        generate\ a\ concise\b.*\btitle
        | generate\ 1-3\ broad\ tags
        | suggest\ 3-5\ relevant\ follow-up
        | analy[sz]e\ the\ chat\ history\ to\ determine\ the\ necessity
        | you\ are\ an\ autocompletion\ system
        | generate\ a\ detailed\ prompt\ for\ an?m?\ image\ generation
    )
    | your\ task\ is\ to\ reflect\ the\ speaker's\ likely\ facial\ expression
    | you\ have\ been\ provided\ with\ a\ set\ of\ responses\ from\ various\ models
    # LibreChat
    | (please\ generate|provide)\ a\ concise,\ 5-word-or-less\ title\ for\ the\ conversation
    # NextChat
    | please\ generate\ a\ four\ to\ five\ word\ title\ summarizing\ our\ conversation
    | summarize\ the\ discussion\ briefly\ in\ 200\ words\ or\ less\ to\ use\ as\ a\ prompt
    # Chatbox
    | based\ on\ the\ chat\ history,\ give\ this\ conversation\ a\ name
    """,
    re.VERBOSE,
)


def is_chore(system: Sequence[str], turns: Sequence[ChatTurn]) -> bool:
    """Whether a request is a program's own. Its user said nothing in it that was not said in a chat."""
    asked = turns[-1].text if turns and turns[-1].role == "user" else ""
    told = system[-1] if system else ""
    if any(OPENINGS.match(_opening(text)) for text in (asked, told)):
        return True
    if _opening(told).startswith("available tools:") and _opening(asked).startswith("query: history:"):
        # Open WebUI asks which of its tools to call.
        return True
    return bool(TEMPLATE.match(_opening(asked)) and FILLED_IN.search(asked.casefold()))


def _opening(text: str) -> str:
    return " ".join(text[:OPENING].split()).casefold()
