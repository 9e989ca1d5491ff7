"""JSON schemas in a few words, for the cells of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.reference.markdown import make_anchor

Schema = Mapping[str, Any]


def describe_type(schema: Schema, link: bool = True) -> str:
    """Return the type of a field: `text`, `number`, a list, or a link to the section of a named schema."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return f"[{name}](#{make_anchor(name)})" if link else name
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(describe_type(one, link) for one in schema[several]))
    match schema.get("type"):
        case "array":
            return (
                f"list of {describe_type(schema['items'], link)}"
                if "items" in schema
                else _describe_fixed_array(schema, link)
            )
        case "object":
            values = schema.get("additionalProperties")
            return f"map to {describe_type(values, link)}" if isinstance(values, Mapping) and values else "object"
        case "string":
            return {"date-time": "time", "uuid": "UUID", "uri": "URI"}.get(schema.get("format", ""), "text")
        case None:
            return "any"
        case name:
            return {"integer": "whole number", "boolean": "true or false"}.get(name, str(name))


def describe_limits(schema: Schema) -> str:
    """Return the range or length that a field allows, or an empty text."""
    for one in (schema, *schema.get("anyOf", ())):
        if one.get("type") in ("integer", "number"):
            return _between(one.get("minimum"), one.get("maximum"), one.get("exclusiveMinimum"))
        if one.get("type") == "string" and "maxLength" in one:
            return f"At most {one['maxLength']:,} characters."
        if one.get("type") == "array" and one.get("minItems") != one.get("maxItems") and "maxItems" in one:
            return f"At most {one['maxItems']:,}."
    return ""


def describe_field(schema: Schema) -> str:
    """Return the description of a field, followed by its limits."""
    text = str(schema.get("description", "")).strip()
    if text and not text.endswith((".", "!", "?")):
        text += "."
    return f"{text} {describe_limits(schema)}".strip()


def describe_default(schema: Schema) -> str:
    """Return a field's default as code, or an empty text where it has none or null."""
    value = schema.get("default")
    if value is None or isinstance(value, Mapping):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _describe_fixed_array(schema: Schema, link: bool) -> str:
    """Describe an array of a fixed length, such as three colours."""
    kinds = dict.fromkeys(describe_type(one, link) for one in schema.get("prefixItems", ()))
    return f"list of {len(schema.get('prefixItems', ()))}: {', '.join(kinds)}"


def _between(least: float | None, most: float | None, above: float | None) -> str:
    words = [
        f"{word} {limit:,.10g}"
        for word, limit in (("at least", least), ("more than", above), ("at most", most))
        if limit is not None
    ]
    text = ", ".join(words)
    return f"{text[:1].upper()}{text[1:]}." if text else ""
