"""Values are compared as what they are, however a database writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.models import Message
from oneclaw.moving.values import Column

JSON = next(
    Column(field) for field in Message._meta.concrete_fields if field.get_internal_type() == "JSONField"
)


@pytest.mark.parametrize(
    ("sqlite", "postgres"),
    [
        ('{"n": 1e+30}', '{"n": 1000000000000000000000000000000}'),
        ('{"b": 1.50, "a": 1}', '{"a": 1.0, "b": 1.5}'),
        ("[1e-07, -0.0, 1e22]", "[0.0000001, 0, 10000000000000000000000]"),
        ("12345678901234567890123", "12345678901234567890123"),
    ],
)
def test_a_number_is_the_same_in_both_databases(sqlite: str, postgres: str):
    assert JSON.comparable(sqlite) == JSON.comparable(postgres)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1e+30", "1000000000000000000000000000001"), ("0.1", "0.10000000000000001"), ('"1"', "1"), ("1", "-1")],
)
def test_other_numbers_are_others(one: str, other: str):
    assert repr(JSON.comparable(one)) != repr(JSON.comparable(other))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_compared_as_postgres_spells_it(number: float):
    # PostgreSQL keeps every digit that was written, and writes no exponent.
    from decimal import Decimal

    assert repr(JSON.comparable(repr(number))) == repr(JSON.comparable(f"{Decimal(repr(number)):f}"))
