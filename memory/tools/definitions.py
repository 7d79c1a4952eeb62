"""Definitions of the memory tools: what each is for, as the model reads it, and its arguments."""

from typing import Any

from memory.models import Source
from memory.tools import handlers
from oneclaw.toolkit import Tool

TIMEOUT = 10.0  # RFC-023


def _object(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _string(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


SAVE = Tool(
    name="save_memory",
    description="""\
Write one entry into MEMORY.md, the user's long-term memory. Every future conversation is given it, so choose
with care.

Save:
- what the user asks you, in so many words, to remember;
- a lasting preference that has shown itself in at least two conversations, not a setting changed once;
- who the user is and does: profession, fields of expertise, projects that go on for long;
- ways of working that you have seen come back several times;
- health, family and plans with a date that the user will come back to, told once or not.

Leave out:
- passing state: which model is chosen, temporary configuration, settings of this session;
- things seen once: what a screenshot shows, a room and its furniture, a request of the moment;
- what soon changes: the task of today, what the user is busy with now;
- what long-term memory in the system prompt already says: look there first;
- traits guessed from a single exchange, roles, stories, suppositions, sarcasm;
- what only you or a pasted text said, secrets, and what the user asked not to keep.

Before you save, ask yourself:
1. Will it still matter in 30 days, and in three months?
2. Is it there already, in other words perhaps? Then leave it, or correct it with update_memory.
3. Has it been confirmed twice or more, or did it happen once?

Write short, factual entries that can be understood alone. If a fact has changed, update the old entry rather
than add one that contradicts it.""",
    parameters=_object(
        ["content"],
        content=_string(
            "The entry: short, factual, complete in itself, not yet in memory. At most 5,000 characters."
        ),
        category=_string(
            "Where it belongs: profile, preferences, interests, workflow, projects, notes, or the name of a "
            "section that MEMORY.md has. Otherwise notes."
        ),
        user_requested={
            "type": "boolean",
            "description": "True only if the message you are answering asks, in so many words, to have this "
            "remembered: such entries always stay. Otherwise it is saved as an ordinary entry.",
        },
    ),
    run=handlers.save_memory,
    timeout=TIMEOUT,
    writes=True,
)

UPDATE = Tool(
    name="update_memory",
    description="""\
Change or delete one entry of MEMORY.md, the user's long-term memory: when a fact is no longer true, when an
entry has lost its point, or to make one entry of two that say the same.

old_text: words of that entry as long-term memory in the system prompt or read_memory shows them, and enough
of them to fit one entry only.
new_text: takes the place of those words. Leave it out, null or empty to delete the whole entry, also when
old_text is only a part of it.
Headings can't be changed. The answer says exactly what went; tell the user that something is gone only if the
answer says so. It is gone from MEMORY.md alone: daily logs and past chats still have it.""",
    parameters=_object(
        ["old_text"],
        old_text=_string(
            "Words of one entry of MEMORY.md, copied as they stand and found in no other entry."
        ),
        new_text={
            "type": ["string", "null"],
            "description": "What takes the place of those words. Empty, null or left out deletes the entry.",
        },
    ),
    run=handlers.update_memory,
    timeout=TIMEOUT,
    reads=True,
    writes=True,
)

KEEP_OFF = Tool(
    name="keep_off_record",
    description="""\
Keep the message you are answering, and your reply, out of the user's memory: no daily log, no long-term
memory and no later conversation has them. Use it when the user asks you not to write something down or to
keep it between you. The chat itself keeps it, and the user can put it back on the record.""",
    parameters=_object([]),
    run=handlers.keep_off_record,
    timeout=TIMEOUT,
    writes=True,
)

READ = Tool(
    name="read_memory",
    description="Read the user's long-term memory, MEMORY.md, exactly as it stands: all or one section.",
    parameters=_object(
        [], section=_string("The name of a section, such as Preferences. Without it, all of it.")
    ),
    run=handlers.read_memory,
    timeout=TIMEOUT,
    reads=True,
)

SEARCH = Tool(
    name="search_memory",
    description="""\
Search what is remembered of the user and of earlier conversations: daily logs, long-term memory, past chats.
Use it when the user refers to something that is not in this conversation, or asks what was said or done
before.""",
    parameters=_object(
        ["query"],
        query=_string("What to look for, in plain words."),
        sources={
            "type": "array",
            "items": {"type": "string", "enum": list(Source.values)},
            "description": "Where to look. Without it, everywhere.",
        },
        since=_string("Only from this date on, as YYYY-MM-DD."),
        until=_string("Only up to this date, as YYYY-MM-DD."),
        top_k={
            "type": "integer",
            "minimum": 1,
            "maximum": handlers.MOST_RESULTS,
            "description": "How many results. Without it, 5.",
        },
    ),
    run=handlers.search_memory,
    timeout=TIMEOUT,
    reads=True,
)

LIST_DAYS = Tool(
    name="list_days",
    description="List the days that have a daily log, newest first, each with its first words.",
    parameters=_object(
        [],
        since=_string("Only from this date on, as YYYY-MM-DD."),
        until=_string("Only up to this date, as YYYY-MM-DD."),
        limit={
            "type": "integer",
            "minimum": 1,
            "maximum": handlers.MOST_DAYS,
            "description": "How many days. Without it, 30.",
        },
    ),
    run=handlers.list_days,
    timeout=TIMEOUT,
    reads=True,
)

READ_DAY = Tool(
    name="read_day",
    description="Read the daily log of one day: what the user talked about, decided and did.",
    parameters=_object(["day"], day=_string("The day, as YYYY-MM-DD.")),
    run=handlers.read_day,
    timeout=TIMEOUT,
    reads=True,
)

RECALL = Tool(
    name="recall",
    description="""\
Everything memory has for a message, ready to stand in a prompt: the user's standing requests, long-term
memory and what a search finds for it, within a budget. Call it once with the user's message at the start of a
conversation; use search_memory for particular questions after that.""",
    parameters=_object(
        ["message"],
        message=_string("The user's message, in their words."),
        max_tokens={
            "type": "integer",
            "minimum": 1,
            "description": "The most tokens that the block may take. Without it, as the user has set it.",
        },
    ),
    run=handlers.recall,
    timeout=TIMEOUT,
    reads=True,
)

TOOLS = [SAVE, UPDATE, READ, SEARCH, KEEP_OFF]
# For programs outside: they have no chat to keep off the record, and nobody recalls for them.
CLIENT_TOOLS = [SEARCH, READ, RECALL, LIST_DAYS, READ_DAY, SAVE, UPDATE]
