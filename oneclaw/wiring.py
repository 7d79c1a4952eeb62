"""Wiring: what the project and its accounts need from chat and memory without importing them.

Each function imports what it calls when it is called: this module is read before Django is set up.
"""


def interrupt_open_runs() -> None:
    """Replies that were cut off when the last web process ended are marked so."""
    from chat.replies import sending

    sending.interrupt_open_runs()


def warm_up_embedding() -> None:
    from memory import embedding

    embedding.warm_up()


def close_replies() -> None:
    from chat.replies.engine import engine

    engine.close()


def close_interrupted_work() -> None:
    """Flushes and compactions that were cut off when the last worker ended are marked so."""
    from memory.jobs import ledger

    ledger.close_interrupted()


# Called by the web process before it serves, and when it ends.
ON_START = (interrupt_open_runs, warm_up_embedding)
ON_STOP = (close_replies,)
# Called by the worker before its first task.
ON_WORKER_START = (close_interrupted_work,)


def has_provider() -> bool:
    """Whether somebody chose a provider, or the environment named one."""
    from chat.providers import manage

    return manage.has_own()


def memory_is_failing() -> bool:
    """Whether somebody's memory could not be written three times in a row."""
    from memory.jobs import ledger

    return ledger.anybody_failing()


def local_model_wanted() -> str:
    """Which model file is to be served on this machine; nothing when none is."""
    from chat.providers.local import manage

    return manage.wanted()
