"""Values on their way between two databases: read alike from both, compared, written as each wants them."""

import hashlib
import ipaddress
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.apps import apps
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

# What the databases keep in forms of their own. All else is text or a number in both.
OWN_FORMS: dict[str, "models.Field[Any, Any]"] = {
    "BinaryField": models.BinaryField(),
    "DateField": models.DateField(),
    "DateTimeField": models.DateTimeField(),
    "TimeField": models.TimeField(),
    "UUIDField": models.UUIDField(),
}
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Column:
    """A column as both databases have it; what a field makes of its value is left alone."""

    field: "models.Field[Any, Any]"

    @cached_property
    def name(self) -> str:
        return str(self.field.column)

    @cached_property
    def plain(self) -> "models.Field[Any, Any]":
        """The field itself, or the one that it refers to."""
        field = self.field
        while isinstance(field, models.ForeignKey):
            field = field.target_field
        return field

    @cached_property
    def kind(self) -> str:
        return self.plain.get_internal_type()

    def reader(self, source: BaseDatabaseWrapper) -> Callable[[Any], Any] | None:
        """How this database's form of a value is read; None where it is taken as it is."""
        if self.kind == "BinaryField":
            return bytes
        if self.kind not in OWN_FORMS and self.kind != "BooleanField":
            return None
        expression = self.plain.get_col(self.field.model._meta.db_table)
        converters = source.ops.get_db_converters(expression)

        def read(value: Any) -> Any:
            for convert in converters:
                value = convert(value, expression, source)
            return value

        return read if converters else None

    def write(self, value: Any, target: BaseDatabaseWrapper) -> Any:
        form = OWN_FORMS.get(self.kind)
        return value if form is None else form.get_db_prep_save(value, target)

    def comparable(self, value: Any) -> Any:
        """The same for the same value, wherever it was read."""
        if isinstance(value, datetime):
            return value.astimezone(UTC).isoformat()
        if value is not None and self.kind == "JSONField":
            return _comparable_json(json.loads(value, parse_float=_exact))
        if value is not None and self.kind == "GenericIPAddressField":
            return str(ipaddress.ip_address(value))
        return value


@dataclass(frozen=True)
class Table:
    """One table of OneClaw's, with the columns that are stored in it."""

    model: type[models.Model]

    @cached_property
    def name(self) -> str:
        return self.model._meta.db_table

    @cached_property
    def columns(self) -> list[Column]:
        return [Column(field) for field in self.model._meta.concrete_fields if not field.generated]

    @cached_property
    def key(self) -> Column:
        return Column(self.model._meta.pk)

    @cached_property
    def key_place(self) -> int:
        return [column.name for column in self.columns].index(self.key.name)

    @cached_property
    def counts_up(self) -> bool:
        return isinstance(self.model._meta.pk, models.AutoField)

    def digest(self, row: Row) -> bytes:
        values = [column.comparable(value) for column, value in zip(self.columns, row, strict=True)]
        return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()


def tables() -> list[Table]:
    """Every table that holds something of an installation, each once."""
    found = {
        model._meta.db_table: model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
    }
    return [Table(model) for _, model in sorted(found.items())]


def _comparable_json(value: Any) -> Any:
    """PostgreSQL sorts keys in its own way and knows one kind of number."""
    if isinstance(value, dict):
        return sorted((key, _comparable_json(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return [_comparable_json(inner) for inner in value]
    return value


def _exact(text: str) -> int | Decimal:
    """A number as it is written: 1e30 is 10^30 in PostgreSQL, and as a float it would be another."""
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else number.normalize()


def without_nul(columns: Sequence[Column], row: Row) -> Row:
    """PostgreSQL keeps no NUL in a text and no half of a character in JSON; SQLite does."""
    return tuple(
        _without_nul(value, column.kind == "JSONField") if isinstance(value, str) else value
        for column, value in zip(columns, row, strict=True)
    )


def _without_nul(text: str, is_json: bool) -> str:
    if is_json and ("\\u0000" in text or "\\ud" in text.lower()):
        return json.dumps(_cleaned(json.loads(text)))
    return text.replace("\0", "")


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    return value
