"""Recall on conversations with questions whose evidence is known (LoCoMo's form).

Each conversation becomes a user: a session's observations are bullets of its date's log, its turns a chat.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from chat.models import Message, Session
from memory.manager import MemoryManager
from memory.search.results import MemorySearchResult
from oneclaw.tokens import estimate
from people.models import User

WHEN = "%I:%M %p on %d %B, %Y"
BUDGET = 2000
# LoCoMo's numbers for what a question needs.
KINDS = {1: "several facts", 2: "dates", 3: "inference", 4: "one fact"}


@dataclass(slots=True)
class Conversation:
    """A user's memory and what each piece of it is evidence for."""

    memory: MemoryManager
    observations: dict[str, set[str]] = field(default_factory=dict)
    turns: dict[str, str] = field(default_factory=dict)
    messages: dict[int, str] = field(default_factory=dict)

    def covers(self, hits: Iterable[MemorySearchResult]) -> set[str]:
        """The turns that these hits are evidence of."""
        found: set[str] = set()
        for hit in hits:
            if hit.source_type == "transcript":
                found.add(self.messages[hit.anchor or 0])
            else:
                found |= self.observations.get(hit.chunk_text, set())
        return found

    def in_block(self, block: str) -> set[str]:
        text = " ".join(block.split())
        found = {turn for turn, said in self.turns.items() if " ".join(said.split()) in text}
        for observation, evidence in self.observations.items():
            if " ".join(observation.split()) in text:
                found |= evidence
        return found


@dataclass(slots=True)
class Recall:
    """What was found, by source and then by the kind of question; and the memories, for further measures."""

    recall: dict[str, dict[str, float]]
    kinds: dict[str, dict[str, float]]
    conversations: list[tuple[Conversation, dict[str, Any]]]


def measure(file: Path) -> Recall:
    """Recall from logs alone, then with the chats too."""
    rows: dict[str, list[dict[str, float]]] = {"logs": [], "logs and chats": []}
    kinds: dict[str, list[dict[str, float]]] = {}
    conversations = []
    for number, told in enumerate(json.loads(file.read_text())):
        user = User.objects.create(username=f"recall-{number}")
        conversation = Conversation(MemoryManager(user))
        for source, write in (("logs", write_logs), ("logs and chats", write_chats)):
            write(conversation, told)
            conversation.memory.rebuild_index()
            for question in told["questions"]:
                rows[source].append(ask(conversation, question))
                kind = KINDS.get(question.get("category"), "other")
                kinds.setdefault(f"{source}: {kind}", []).append(rows[source][-1])
        conversations.append((conversation, told))
    return Recall(
        {name: mean(found) for name, found in rows.items()},
        {name: mean(found) for name, found in sorted(kinds.items())},
        conversations,
    )


def moment(session: dict[str, Any]) -> datetime:
    return datetime.strptime(session["date_time"], WHEN).replace(tzinfo=UTC)


def write_logs(conversation: Conversation, told: dict[str, Any]) -> None:
    for session in told["sessions"]:
        bullets = [observation["text"] for observation in session["observations"]]
        conversation.memory.files.append_to_daily_log(
            moment(session).date(), "\n".join(f"- {text}" for text in bullets)
        )
        for observation in session["observations"]:
            known = conversation.observations.setdefault(observation["text"], set())
            known |= set(observation["evidence"])


def write_chats(conversation: Conversation, told: dict[str, Any]) -> None:
    for session in told["sessions"]:
        start = moment(session)
        chat = Session.objects.create(owner=conversation.memory.user, title="A chat", created_at=start)
        for number, turn in enumerate(session["turns"]):
            first = turn["speaker"] == told["speakers"][0]
            message = Message.objects.create(
                session=chat,
                type=Message.Type.USER if first else Message.Type.AI_RESPONSE,
                content=f"{turn['speaker']}: {turn['text']}",
                created_at=start + timedelta(seconds=number),
            )
            conversation.turns[turn["id"]] = turn["text"]
            conversation.messages[message.id] = turn["id"]


def ask(conversation: Conversation, question: dict[str, Any]) -> dict[str, float]:
    gold = set(question["evidence"])
    # Ranks are measured without the judgement whether to answer at all; the block is what a chat would get.
    hits = conversation.memory.search_memory(question["question"], top_k=10, judged=False)
    block = conversation.memory.get_injection_content(question["question"], BUDGET)
    ranks = [rank for rank, hit in enumerate(hits, 1) if conversation.covers([hit]) & gold]
    return {
        "R@5": share(conversation.covers(hits[:5]), gold),
        # More text in five results finds more, so the two are read together.
        "characters": sum(len(hit.chunk_text) for hit in hits[:5]),
        "R@10": share(conversation.covers(hits), gold),
        "session R@5": share(sessions(conversation.covers(hits[:5])), sessions(gold)),
        "MRR": 1 / ranks[0] if ranks else 0.0,
        "block": share(conversation.in_block(block), gold),
        "tokens": estimate(block),
    }


def sessions(turns: Iterable[str]) -> set[str]:
    return {turn.partition(":")[0] for turn in turns}


def share(found: set[str], gold: set[str]) -> float:
    return len(found & gold) / len(gold)


def mean(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(sum(row[name] for row in rows) / len(rows), 4) for name in rows[0]} if rows else {}
