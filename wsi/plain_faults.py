"""Faults of submitted data, in plain words instead of a parser's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

#: By pydantic's type of error, with its context (docs.pydantic.dev/latest/errors/validation_errors).
_WORDS: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_type": "must be text",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "does not have the expected form",
    "string_unicode": "must be text in UTF-8",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dataclass_type": "must be an object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "too_short": "must hold at least {min_length} items",
    "too_long": "must hold at most {max_length} items",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be {le} or less",
    "uuid_type": "must be a UUID",
    "uuid_parsing": "must be a UUID",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "datetime_type": "must be a date and time",
    "datetime_parsing": "must be a date and time",
    "datetime_from_date_parsing": "must be a date and time",
    "json_invalid": "is not JSON",
    "json_type": "must be JSON",
    "bytes_type": "must be bytes",
}
_OURS: Final = "Value error, "  #: pydantic writes it before the text of a ValueError, which only our validators raise


def describe_fault(fault: Mapping[str, Any]) -> str:
    """Return the fault that pydantic found in a field, to follow the field's name: "must be a whole number". A
    validator's own text is returned unchanged."""
    kind, said = str(fault["type"]), str(fault["msg"])
    if kind == "value_error":
        return said.removeprefix(_OURS)
    if kind.startswith("our_"):
        return said
    words = _WORDS.get(kind)
    return words.format_map(fault.get("ctx", {})) if words is not None else "is not valid"


def describe_json_error(error: ValueError | RecursionError) -> str:
    """Return why `json.loads` failed, to follow "is not JSON: "."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not text in UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"it ends early, or is written wrongly, at line {error.lineno}, column {error.colno}"
    return "it holds a number too long or lists too deep"
