"""Wiring: what the project and its accounts need from chat and memory without importing them.

Each function imports what it calls when it is called: this module is read before Django is set up.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw.server.presence import Roll
    from oneclaw.serving.limits import App


def with_programs(pages: "App") -> "App":
    """Django's pages, and beside them the address at which other programs speak MCP."""
    from connect.mcp.endpoint import McpEndpoint

    return McpEndpoint(pages)


def told_too_large(path: str, most: int) -> bytes | None:
    """What a program is told whose request is too large; None at the paths of pages."""
    if not path.startswith("/v1/"):
        return None
    import json

    from connect.v1 import faults

    return json.dumps(faults.too_large(most).body).encode()


def join_others() -> None:
    """On PostgreSQL: take a lease, and look after those who lose theirs."""
    from oneclaw.server.watch import watch

    watch.begin()


def leave_others() -> None:
    from oneclaw.server.watch import watch

    watch.end()


def heard(word: str) -> None:
    """Another process told something about a reply."""
    from chat.replies import elsewhere

    elsewhere.heard(word)


def tend_replies(roll: "Roll") -> None:
    """Replies of processes that died are marked so, and those that wait for nobody are taken up."""
    from chat.replies import sending

    sending.tend(roll)


def tend_tasks(roll: "Roll") -> None:
    """What a worker had in hand when it died is due again."""
    from oneclaw.server import heartbeat

    if heartbeat.release_tasks(roll):
        from memory.jobs import ledger

        ledger.close_interrupted()


def interrupt_open_runs() -> None:
    """Replies that were cut off when the last web process ended are marked so."""
    from chat.replies import sending

    sending.interrupt_open_runs()


def close_temporary_chats() -> None:
    """No page of a temporary chat outlives the last process that served some."""
    from chat.replies import temporary
    from oneclaw.models import Process
    from oneclaw.server import presence

    if presence.is_alone(Process.Kind.WEB):
        temporary.close_all()


def leave_temporary_chats(user_id: int) -> None:
    """Who logs out has left them."""
    from chat.replies import temporary

    temporary.close_of(user_id)


def take_out_of_backup(copy: Any) -> set[str]:
    """Take out of a copy of the database what is not to be kept; returns the files that go with it."""
    from chat.replies import temporary

    return temporary.take_out(copy)


def fill_search_tables(progress: "Callable[[str, int, int], None]") -> None:
    """Make the tables of words and vectors from the rows of a database that was just filled."""
    from chat.sessions import search
    from memory.index import index

    search.make_again(lambda done, total: progress("search over chats", done, total))
    index.make_tables_again(lambda done, total: progress("search over memory", done, total))


def warm_up_embedding() -> None:
    from memory import embedding

    embedding.warm_up()


def leave_large_work_to_worker() -> None:
    """A search in a process that serves pages indexes a little of what is new itself."""
    from memory.index import portions

    portions.leave_to_worker()


def load_indexes() -> None:
    """Searches are answered from memory from the start, for those who were here last."""
    from memory.index.resident import shelf

    shelf.load_early()


def note_local_model() -> None:
    """Tell `up` which model file is to be served on this machine, if any."""
    from chat.providers.local import wishes

    wishes.note()


def keep_noting_local_model() -> None:
    """Providers come and go on this process's pages. With `--only`, no model is served here."""
    from django.conf import settings

    from chat.providers.local import wishes

    if not settings.ONLY:
        wishes.keep_noting()


def stop_noting_local_model() -> None:
    from chat.providers.local import wishes

    wishes.stop_noting()


def close_replies() -> None:
    from chat.replies.engine import engine

    engine.close()


def close_interrupted_work() -> None:
    """Flushes and compactions that were cut off when the last worker ended are marked so."""
    from memory.jobs import ledger, progress
    from oneclaw.models import Process
    from oneclaw.server import presence

    if presence.is_alone(Process.Kind.WORKER):
        progress.clear()
    ledger.close_interrupted()


def resume_imports() -> None:
    """Archives on their way in or out when the last worker ended go on."""
    from connect import tasks
    from oneclaw.models import Process
    from oneclaw.server import presence

    if presence.is_alone(Process.Kind.WORKER):
        tasks.resume()


def let_embedding_rest() -> None:
    """The worker's processes would each keep a model for the few seconds an hour that they need it."""
    from memory import embedding

    embedding.let_go_when_idle()


# Called by the web process before it serves, and when it ends.
ON_START = (
    join_others,
    close_temporary_chats,
    interrupt_open_runs,
    leave_large_work_to_worker,
    warm_up_embedding,
    load_indexes,
    keep_noting_local_model,
)
ON_STOP = (stop_noting_local_model, close_replies, leave_others)
# Called by a web process every few seconds, where others share its database.
TENDING = (tend_replies, tend_tasks)
# Called by the worker before its first task.
ON_WORKER_START = (close_interrupted_work, resume_imports, let_embedding_rest)


def has_provider() -> bool:
    """Whether somebody chose a provider, or the environment named one."""
    from chat.providers import manage

    return manage.has_own()


def memory_is_failing() -> bool:
    """Whether somebody's memory could not be written three times in a row."""
    from memory.jobs import ledger

    return ledger.anybody_failing()


def embedding_disagrees() -> str:
    """What is wrong with this machine's vectors; nothing while they are those of every other machine."""
    from memory import embedding

    engine = embedding.engine()
    if not engine.is_available():
        return "It can't be loaded, so memory is searched by keywords only."
    return "" if engine.agrees else "This machine's vectors differ from other machines': see Memory, Stats."
