"""Admin pages that never show what people wrote: only counts, times, sizes and errors."""

import re
from typing import Any, NoReturn

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import Http404, HttpRequest

# Where the words of a person or a model begin in an error's sentence; the apostrophe of "can't" is none.
QUOTATION = re.compile(r"(?<!\w)[\"'“‘«`]")


def unquoted(error: str) -> str:
    """An error's sentence up to the first words that it quotes."""
    found = QUOTATION.search(error)
    return error if found is None else f"{error[: found.start()]}…"


class DiscreetAdmin(admin.ModelAdmin):
    """Filters only by what its list offers, and says of a deletion only how much goes."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only listed filters: `?content__contains=` would reveal text by the number of rows it finds."""
        offered = {str(name) for name in (*self.list_filter, self.date_hierarchy or ())}
        return lookup.split("__")[0] in offered and super().lookup_allowed(lookup, value, request)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, Any, Any]:
        """Django would list every row by its text."""
        _, counts, needed, protected = super().get_deleted_objects(objs, request)
        return (
            [f"{name[:1].upper()}{name[1:]}: {count}" for name, count in counts.items()],
            counts,
            needed,
            protected,
        )


class ReadOnlyAdmin(DiscreetAdmin):
    """A list to look at, of rows that only the program makes and changes; a row has no page of its own."""

    # Columns of text of which the list shows how many characters they hold together.
    measured: tuple[str, ...] = ()
    list_display_links = None

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        rows: QuerySet[Any] = super().get_queryset(request)
        if not self.measured:
            return rows
        lengths = [Length(name) for name in self.measured]
        measured: QuerySet[Any] = rows.annotate(characters=sum(lengths[1:], start=lengths[0]))
        return measured.defer(*self.measured)

    @admin.display(description="characters")
    def size(self, row: Any) -> int:
        return int(row.characters or 0)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not on its own pages; with a deleted account all of its rows go."""
        page = request.resolver_match.url_name if request.resolver_match else ""
        own = f"{self.opts.app_label}_{self.opts.model_name}_"
        return not (page or "").startswith(own) and super().has_delete_permission(request, obj)

    def change_view(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise Http404("This row has no page of its own.")

    def history_view(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise Http404("This row has no page of its own.")
