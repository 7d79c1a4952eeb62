"""A tool's JSON schema in the shape each protocol wants."""

from typing import Any

from oneclaw.toolkit import Tool

# The part of JSON schema that Gemini's function declarations know.
GEMINI = {
    "type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems",
    "properties", "required", "minimum", "maximum", "minLength", "maxLength", "pattern", "anyOf",
}  # fmt: skip


def openai(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": _object(tool.parameters),
        },
    }


def anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": _object(tool.parameters)}


def gemini(tool: Tool) -> dict[str, Any]:
    declaration: dict[str, Any] = {"name": tool.name, "description": tool.description}
    # A declaration of no parameters must have none: an empty object is refused.
    if tool.parameters.get("properties"):
        declaration["parameters"] = subset(tool.parameters)
    return declaration


def _object(parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {}, **parameters}


def subset(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without what Gemini refuses; `["string", "null"]` becomes nullable."""
    kept: dict[str, Any] = {name: value for name, value in schema.items() if name in GEMINI}
    if isinstance(schema.get("type"), list):
        kinds = [kind for kind in schema["type"] if kind != "null"]
        kept["type"] = kinds[0] if kinds else "string"
        kept["nullable"] = "null" in schema["type"]
    if "const" in schema:
        kept["enum"] = [schema["const"]]
    if "enum" in kept:
        kept["enum"] = [str(value) for value in kept["enum"]]
        kept["type"] = "string"
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {name: subset(value) for name, value in kept["properties"].items()}
    if isinstance(kept.get("items"), dict):
        kept["items"] = subset(kept["items"])
    if isinstance(kept.get("anyOf"), list):
        kept["anyOf"] = [subset(value) for value in kept["anyOf"]]
    return kept
