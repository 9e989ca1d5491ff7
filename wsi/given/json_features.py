"""The features of a text of GeoJSON, decoded one at a time: all at once take twenty times the text's memory."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from typing import Any, Final

from wsi.errors import Invalid

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder(parse_constant=lambda name: None)  # NaN is among QuPath's measurements


class JsonFeatures:
    """The features of a FeatureCollection, of an array of features, or of one feature or geometry."""

    def __init__(self, text: str) -> None:
        self._text = text

    def iterate_raw(self) -> Iterator[Any]:
        """Yield each feature. Raises JSONDecodeError where the text is not JSON, and Invalid where it holds none."""
        start = _skip_space(self._text, 0)
        if self._text.startswith("[", start):
            end = yield from _iterate_items(self._text, start)
        elif self._text.startswith("{", start):
            has_features, end = yield from _iterate_members(self._text, start)
            if not has_features:
                value, end = _DECODER.raw_decode(self._text, start)
                if "type" not in value:
                    raise Invalid("The file is JSON, but no GeoJSON: export the objects as GeoJSON.")
                yield value
        else:
            _, end = _DECODER.raw_decode(self._text, start)
            raise Invalid("The file is JSON, but no GeoJSON: export the objects as GeoJSON.")
        if _skip_space(self._text, end) < len(self._text):
            raise json.JSONDecodeError("Extra data", self._text, end)


def _iterate_members(text: str, start: int) -> Generator[Any, None, tuple[bool, int]]:
    """Yield the items of the member "features". Return whether there is one, and the place after the object."""
    place, has_features = _skip_space(text, start + 1), False
    if text.startswith("}", place):
        return False, place + 1
    while True:
        name, place = _DECODER.raw_decode(text, place)
        place = _skip_space(text, _skip_mark(text, place, ":"))
        if name == "features" and text.startswith("[", place):
            has_features = True
            place = yield from _iterate_items(text, place)
        else:
            _, place = _DECODER.raw_decode(text, place)
        place = _skip_space(text, place)
        if text.startswith("}", place):
            return has_features, place + 1
        place = _skip_space(text, _skip_mark(text, place, ","))


def _iterate_items(text: str, start: int) -> Generator[Any, None, int]:
    """Yield the items of the array at `start`. Return the place after it."""
    place = _skip_space(text, start + 1)
    if text.startswith("]", place):
        return place + 1
    while True:
        value, place = _DECODER.raw_decode(text, place)
        yield value
        place = _skip_space(text, place)
        if text.startswith("]", place):
            return place + 1
        place = _skip_space(text, _skip_mark(text, place, ","))


def _skip_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found is not None else place


def _skip_mark(text: str, place: int, mark: str) -> int:
    place = _skip_space(text, place)
    if not text.startswith(mark, place):
        raise json.JSONDecodeError(f"Expecting '{mark}'", text, place)
    return place + 1
