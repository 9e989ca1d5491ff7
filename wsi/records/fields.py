"""Reading of values that another version wrote: fields are only ever added, and unknown ones are left out. A change
that a reader must not overlook raises the schema's number instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any


def select_known_fields(kind: type[Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of `value` that the dataclass `kind` has fields for."""
    names = {field.name for field in fields(kind)}
    return {name: item for name, item in value.items() if name in names}
