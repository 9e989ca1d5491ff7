"""The classes that features state, in any of the forms that tools write.

A class is `properties.classification`: an object with `name` or `names`, a bare text, or that object as a text
(LazySlide). Sources: QuPath's PathObjectTypeAdapters.
"""

from __future__ import annotations

import json
from typing import Any, cast


def read_class(properties: Any) -> str | None:
    """Return the name of the class that a feature's properties state; None without one."""
    if not isinstance(properties, dict):
        return None
    stated: Any = parse_class(cast("dict[str, Any]", properties).get("classification"))
    if isinstance(stated, dict):
        held = cast("dict[str, Any]", stated)
        names: Any = held.get("names")
        stated = ": ".join(map(str, cast("list[Any]", names))) if isinstance(names, list) else held.get("name")
    return stated.strip() or None if isinstance(stated, str) else None


def parse_class(stated: Any) -> Any:
    """Return the classification, decoded where it is a text of JSON."""
    if isinstance(stated, str) and stated.startswith("{"):
        try:
            return json.loads(stated)
        except ValueError:
            return stated
    return stated
