"""Conversations that branch, laid out as OneClaw stores them: versions, what is set aside, whole replies.

Programs keep a tree: each message names the one before it, and one leaf is the line that was shown last.
Here rows stand in an order in which each comes after the one it follows; of several that follow the same,
one is on the page and each other is set aside together with what comes after it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from chat.models import Message
from connect.archives.values import ForeignFile, Said

USER, REPLY = Message.Type.USER.value, Message.Type.AI_RESPONSE.value
CALL, RESULT = Message.Type.TOOL_CALL.value, Message.Type.TOOL_RESULT.value
MOST_NODES = 50_000


@dataclass(frozen=True, slots=True)
class Node:
    """One message of the tree with the rows it comes to; one without rows only holds others together."""

    key: str
    parent: str
    rows: tuple[Said, ...]

    @property
    def is_users(self) -> bool:
        return bool(self.rows) and self.rows[0].type == USER


def laid_out(nodes: Sequence[Node], current: str = "") -> tuple[Said, ...]:
    """All rows of a tree in the order in which they are stored, each with its place."""
    tree = Tree(nodes, current)
    rows = list[Said]()
    # Where a message is put: what it is set aside with, the reply it goes on, the message it answers.
    waiting = [(key, "", "", "") for key in reversed(tree.roots)]
    groups = dict[str, str]()
    while waiting:
        key, shelf, prompt, above = waiting.pop()
        chain = tree.reply_from(key)
        found = reply_rows([tree.nodes[each] for each in chain])
        first = found[0].key
        siblings = tree.roots if above == "" else tree.children[above]
        version = ""
        if len(siblings) > 1:
            version = groups.setdefault(above, first)
            if tree.preferred(siblings) != key:
                shelf = first
        is_users = tree.nodes[key].is_users
        for number, row in enumerate(found):
            rows.append(
                replace(
                    row,
                    shelf=shelf,
                    version_of=version if number == 0 and version != first else "",
                    reply="" if is_users else first,
                    prompt="" if is_users else prompt,
                )
            )
        last = chain[-1]
        under = first if is_users else prompt
        waiting += [(child, shelf, under, last) for child in reversed(tree.children[last])]
    return dated(rows)


class Tree:
    """The messages that say something, whose parents are such messages too, without cycles."""

    def __init__(self, nodes: Iterable[Node], current: str) -> None:
        every = dict[str, Node]()
        for node in nodes:
            every.setdefault(node.key, node)
        self.nodes = {key: node for key, node in every.items() if node.rows}
        known = dict[str, str]()
        self.parents = {key: _kept(every, node.parent, known) for key, node in self.nodes.items()}
        self.children: dict[str, list[str]] = {key: [] for key in self.nodes}
        self.roots = list[str]()
        for key, parent in self.parents.items():
            (self.children[parent] if parent else self.roots).append(key)
        self._cut_cycles()
        self.path = self._path(_kept(every, current, known))

    def _cut_cycles(self) -> None:
        """Messages that no root leads to follow each other in a circle: the first of them becomes a root."""
        seen = set[str]()
        self._walk(self.roots, seen)
        for key in self.nodes:
            if key not in seen:
                self.children[self.parents[key]].remove(key)
                self.parents[key] = ""
                self.roots.append(key)
                self._walk([key], seen)

    def _walk(self, keys: Iterable[str], seen: set[str]) -> None:
        waiting = list(keys)
        while waiting:
            key = waiting.pop()
            if key not in seen:
                seen.add(key)
                waiting += self.children[key]

    def _path(self, leaf: str) -> set[str]:
        """The line that was shown: from the leaf up, or the newest one where none is named."""
        path, key = set[str](), leaf
        while key and key not in path:
            path.add(key)
            key = self.parents[key]
        return path

    def preferred(self, siblings: Sequence[str]) -> str:
        """Which of several is on the page."""
        return next((key for key in siblings if key in self.path), siblings[-1])

    def reply_from(self, key: str) -> list[str]:
        """A message with those that go on the same reply."""
        chain = [key]
        if self.nodes[key].is_users:
            return chain
        while len(following := self.children[chain[-1]]) == 1 and not self.nodes[following[0]].is_users:
            chain.append(following[0])
        return chain


def _kept(every: dict[str, Node], key: str, known: dict[str, str]) -> str:
    """The nearest message that says something, from here upwards; each way is gone only once."""
    passed = list[str]()
    while key in every and key not in known and not every[key].rows:
        passed.append(key)
        # A circle of messages that say nothing leads nowhere.
        known[key] = ""
        key = every[key].parent
    found = known.get(key, key if key in every else "")
    known.update(dict.fromkeys(passed, found))
    return found


def reply_rows(nodes: Sequence[Node]) -> list[Said]:
    """The rows of a reply: it begins with words or thoughts, and every result has its call."""
    rows = [row for node in nodes for row in node.rows]
    if rows[0].type == USER:
        return rows
    found, thinking = list[Said](), ""
    calls = OpenCalls()
    for number, row in enumerate(rows):
        if row.type == REPLY:
            if row.thinking:
                thinking = f"{thinking}\n\n{row.thinking}".strip()
            last = number == len(rows) - 1
            if row.content or row.files or last or rows[number + 1].type != REPLY:
                if row.content or row.files or thinking or not found:
                    found.append(replace(row, thinking=thinking))
                thinking = ""
            continue
        if not found:
            found.append(Said(f"{row.key}#0", REPLY, at=row.at, thinking=thinking, model=row.model))
            thinking = ""
        if row.type == CALL:
            call = replace(row, tool_call_id=row.tool_call_id or row.key)
            calls.add(call, beside=found[-1].type == CALL)
            found.append(call)
        elif row.type == RESULT:
            answered = calls.answered_by(row)
            if answered is None:
                # An answer to nothing: the page shows results under their calls.
                answered = Said(
                    f"{row.key}#call",
                    CALL,
                    at=row.at,
                    tool_name=row.tool_name or "tool",
                    tool_call_id=row.key,
                    tool_data={},
                )
                found.append(answered)
            found.append(
                replace(
                    row, tool_call_id=answered.tool_call_id, tool_name=row.tool_name or answered.tool_name
                )
            )
        else:
            found.append(row)
    return found


class OpenCalls:
    """Calls of tools that have no result yet, and which of them a result belongs to."""

    def __init__(self) -> None:
        self.open = dict[str, Said]()
        self.order = list[str]()
        # By the tool's name: calls made side by side are answered in their order, later ones before earlier.
        self.named = dict[str, list[deque[str]]]()

    def add(self, call: Said, *, beside: bool) -> None:
        self.open[call.tool_call_id] = call
        self.order.append(call.tool_call_id)
        groups = self.named.setdefault(_tool(call), [])
        if not (beside and groups):
            groups.append(deque())
        groups[-1].append(call.tool_call_id)

    def answered_by(self, result: Said) -> Said | None:
        """The call of the result's id, else the newest of its tool, else the nearest."""
        if answered := self.open.pop(result.tool_call_id, None):
            return answered
        groups = self.named.get(_tool(result), [])
        while groups:
            while groups[-1]:
                if answered := self.open.pop(groups[-1].popleft(), None):
                    return answered
            groups.pop()
        while self.order:
            if answered := self.open.pop(self.order.pop(), None):
                return answered
        return None


def _tool(row: Said) -> str:
    """The tool of a call or a result: `web.run` answers for `web`."""
    return row.tool_name.partition(".")[0]


def dated(rows: Sequence[Said], start: datetime | None = None) -> tuple[Said, ...]:
    """Every row with a time: its own, else that of the row before it, else of the first that has one."""
    known = start or next((row.at for row in rows if row.at), None)
    found = list[Said]()
    for row in rows:
        known = row.at or known
        found.append(row if row.at else replace(row, at=known))
    return tuple(found)


def chained(rows: Iterable[tuple[str, tuple[Said, ...]]]) -> list[Node]:
    """Messages one after the other, where a program keeps no tree."""
    nodes, before = list[Node](), ""
    for key, said in rows:
        nodes.append(Node(key, before, said))
        before = key
    return nodes


def with_files(rows: Sequence[Said], key: str, files: tuple[ForeignFile, ...]) -> list[Said]:
    """A reply's rows with its files: they stand with its last words."""
    found = list(rows)
    if files:
        last = max((at for at, row in enumerate(found) if row.type == REPLY and row.content), default=None)
        if last is None:
            found.append(Said(f"{key}#files" if found else key, REPLY, files=files))
        else:
            found[last] = replace(found[last], files=found[last].files + files)
    return found
