"""Describes what de-identification removed from a slide."""

from __future__ import annotations

from wsi.records.slides import Removed


def describe_removed(removed: Removed) -> str:
    """Return a text such as "removed 2 pictures and 16 values"."""
    counts = ((removed.images, "picture"), (removed.tags, "value"), (removed.files, "other file"))
    said = [f"{count:,} {what}{'s' if count != 1 else ''}" for count, what in counts if count]
    if not said:
        return "there was nothing to remove"
    *first, last = said
    return f"removed {', '.join(first)} and {last}" if first else f"removed {last}"
