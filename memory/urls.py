"""Addresses of memory, under /memory/ in the namespace `memory`."""

from datetime import date

from django.urls import URLPattern, URLResolver, path, register_converter

from memory.storage.files import DAY
from memory.views import (
    compaction,
    editor,
    forgetting,
    frame,
    history,
    lines,
    logs,
    search,
    sharing,
    stats,
    triggers,
)


class DayConverter:
    """A real date, written YYYY-MM-DD."""

    regex = DAY.pattern

    def to_python(self, value: str) -> date:
        return date.fromisoformat(value)

    def to_url(self, value: date | str) -> str:
        return value if isinstance(value, str) else value.isoformat()


register_converter(DayConverter, "day")

app_name = "memory"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", editor.home, name="home"),
    path("file/", editor.file, name="file"),
    path("save/", editor.save, name="save"),
    path("entry/", editor.entry, name="entry"),
    path("new/", sharing.remember, name="new_entry"),
    path("line/", lines.line, name="line"),
    path("logs/", logs.logs, name="logs"),
    path("logs/<day:day>/", logs.day, name="day"),
    path("logs/<day:day>/summarise/", logs.summarise, name="summarise"),
    path("logs/<day:day>/remove/", logs.remove, name="remove"),
    path("logs/<day:day>/redo/", logs.redo, name="redo"),
    path("search/", search.search, name="search"),
    path("history/", history.history, name="history"),
    path("history/purge/", forgetting.purge_history, name="purge_history"),
    path("forgetting/", forgetting.forgetting, name="forgetting"),
    path("forgetting/<int:forgotten_id>/<slug:action>/", forgetting.act, name="forgotten"),
    path("history/<int:revision_id>/", history.revision, name="revision"),
    path("history/<int:revision_id>/undo/", history.undo, name="undo"),
    path("backups/<str:name>/", history.backup, name="backup"),
    path("backups/<str:name>/restore/", history.restore, name="restore"),
    path("compaction/", compaction.compaction, name="compaction"),
    path("compaction/propose/", compaction.propose, name="propose"),
    path("compaction/<int:proposal_id>/apply/", compaction.apply, name="apply"),
    path("compaction/<int:proposal_id>/discard/", compaction.discard, name="discard"),
    path("stats/", stats.stats, name="stats"),
    path("stats/self-test/", stats.self_test, name="self_test"),
    path("stats/rebuild/", stats.start_rebuild, name="rebuild"),
    path("stats/rebuild/progress/", stats.rebuild_progress, name="rebuild_progress"),
    path("ledger/<int:entry_id>/retry/", stats.retry, name="retry"),
    path("work/", frame.work, name="work"),
    path("hidden/", triggers.hidden, name="hidden"),
    path("returned/", triggers.returned, name="returned"),
    path("forget/", triggers.forget, name="forget"),
    path("remember/<int:removed_id>/", triggers.remember, name="remember"),
]
