"""JSON objects of a package's files."""

from __future__ import annotations

import json
from typing import Any

from wsi.errors import ModelError
from wsi.plain_faults import describe_json_error


def parse_object(data: bytes, name: str) -> dict[str, Any]:
    """Return the one JSON object of a file. Raises ModelError, also for a key that an object holds twice: the second
    value would win unseen."""

    def make_object(found: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(found)
        if len(value) < len(found):
            keys = [key for key, _ in found]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ModelError(f"{name} holds the key {twice} twice: leave one.")
        return value

    try:
        value = json.loads(data, object_pairs_hook=make_object)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{name} is not JSON: {describe_json_error(error)}.") from error
    if not isinstance(value, dict):
        raise ModelError(f"{name} must hold one JSON object.")
    return value
