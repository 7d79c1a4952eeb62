"""Checks a tool call's arguments against the small part of JSON schema that our tools use."""

from typing import Any

KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


class InvalidArguments(Exception):
    """The arguments don't fit; the message tells the model what to change."""


def arguments(schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments a tool may be run with: what it does not know is left out, as is an optional null."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if missing := [name for name in required if given.get(name) is None]:
        raise InvalidArguments(f"Missing: {', '.join(missing)}.")
    return {
        name: _value(name, properties[name], value)
        for name, value in given.items()
        if name in properties and value is not None
    }


def _value(name: str, schema: dict[str, Any], value: Any) -> Any:
    value = _typed(name, schema, value)
    if "enum" in schema and value not in schema["enum"]:
        raise InvalidArguments(f"{name} must be one of: {', '.join(map(str, schema['enum']))}.")
    if isinstance(value, str):
        _within(name, len(value), schema, "minLength", "maxLength", " characters long")
    elif isinstance(value, list):
        _within(name, len(value), schema, "minItems", "maxItems", " items long")
        value = [_value(f"{name}[{at}]", schema.get("items", {}), item) for at, item in enumerate(value)]
    elif isinstance(value, dict) and "properties" in schema:
        value = arguments(schema, value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _within(name, value, schema, "minimum", "maximum", "")
    return value


def _typed(name: str, schema: dict[str, Any], value: Any) -> Any:
    kinds = schema.get("type", [])
    kinds = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind in KINDS]
    if not kinds or any(_is(kind, value) for kind in kinds):
        return value
    for kind in kinds:
        if (meant := _meant(kind, value)) is not None:
            return meant
    raise InvalidArguments(f"{name} must be of type {' or '.join(kinds)}.")


def _is(kind: str, value: Any) -> bool:
    # True is an int in Python, and no number in JSON.
    return isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _meant(kind: str, value: Any) -> Any:
    """Small models write "3" or 3.0 for 3, and "true" for true."""
    if kind == "boolean" and isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    if kind in ("integer", "number") and isinstance(value, (str, float)):
        try:
            number = float(value)
        except ValueError:
            return None
        if number != number or number in (float("inf"), float("-inf")):
            return None
        return int(number) if number.is_integer() else None if kind == "integer" else number
    return None


def _within(name: str, size: float, schema: dict[str, Any], least: str, most: str, unit: str) -> None:
    if least in schema and size < schema[least]:
        raise InvalidArguments(f"{name} must be at least {schema[least]}{unit}.")
    if most in schema and size > schema[most]:
        raise InvalidArguments(f"{name} must be at most {schema[most]}{unit}.")
