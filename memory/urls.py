"""Addresses of memory, under /memory/ in the namespace `memory`."""

from datetime import date

from django.urls import URLPattern, URLResolver, path, register_converter

from memory.storage import DAY
from memory.views import editor, history, logs, search, triggers


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
    path("save/", editor.save, name="save"),
    path("entry/", editor.entry, name="entry"),
    path("logs/", logs.logs, name="logs"),
    path("logs/<day:day>/", logs.day, name="day"),
    path("logs/<day:day>/summarise/", logs.summarise, name="summarise"),
    path("search/", search.search, name="search"),
    path("history/", history.history, name="history"),
    path("history/<int:revision_id>/", history.revision, name="revision"),
    path("history/<int:revision_id>/undo/", history.undo, name="undo"),
    path("backups/<str:name>/", history.backup, name="backup"),
    path("backups/<str:name>/restore/", history.restore, name="restore"),
    path("hidden/", triggers.hidden, name="hidden"),
    path("returned/", triggers.returned, name="returned"),
    path("end/", triggers.end, name="end"),
    path("forget/", triggers.forget, name="forget"),
    path("remember/<int:removed_id>/", triggers.remember, name="remember"),
]
