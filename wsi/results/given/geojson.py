"""objects.geojson.gz: the objects that a user gave, each with the model's values among its measurements. Dragged into
QuPath, they are classified cells.

Geometry, id, name, kind and further measurements are the file's own. A model of several classes sets the class to the
most probable one; the file's own class is then in the metadata, under "Original class". An object without values keeps
its class and gets none. As other files for QuPath, it counts from the corner of what QuPath shows;
objects.full.geojson.gz counts from the corner of level 0.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping
from typing import IO, Any, Final, cast

from wsi.given.classes import parse_class, read_class
from wsi.given.objects import CHILDREN, Feature
from wsi.results.geojson import MEDIA_TYPE, find_shown, find_whole
from wsi.results.given.scored_objects import NONE, get_given, iterate_objects, list_classes
from wsi.results.objects.class_colours import choose_colour
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.text_rows import write_floats

__all__ = ["FULL_NAME", "MEDIA_TYPE", "NAME", "ORIGINAL_CLASS", "write", "write_full"]

NAME: Final = "objects.geojson.gz"
FULL_NAME: Final = "objects.full.geojson.gz"
ORIGINAL_CLASS: Final = "Original class"
LEVEL: Final = 1  #: of gzip
_KINDS: Final = ("objectType", "object_type")  #: the second is the older name
_OUTLINES: Final = ("geometry", "nucleusGeometry")


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write the objects in px of what QuPath shows."""
    _write(tiles, file, find_shown(tiles.plan.inspection)[:2])


def write_full(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write the objects in level-0 px."""
    _write(tiles, file, find_whole(tiles.plan.inspection)[:2])


def _write(tiles: ScoredTiles, file: IO[bytes], corner: tuple[int, int]) -> None:
    _, given = get_given(tiles)
    left, top = given.find_corner(tiles.plan.inspection.bounds)
    writer = _FeatureWriter(tiles, (left - corner[0], top - corner[1]))
    # No name and no time in the gzip header: equal objects are equal bytes.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=file, mtime=0) as packed:
        packed.write(b'{"type":"FeatureCollection","features":[')
        for number, (row, own, feature) in enumerate(iterate_objects(tiles)):
            packed.write(b",\n" if number else b"\n")
            packed.write(writer.write(row, own, feature))
        packed.write(b"\n]}\n")


class _FeatureWriter:
    """Writes features with the values of their rows."""

    def __init__(self, tiles: ScoredTiles, offset: tuple[int, int]) -> None:
        """Take what coordinates are moved by, in px."""
        self._offset = offset
        self._names = [column.name for column in tiles.plan.card.columns]
        self._texts = write_floats(tiles.scores)
        self._classes = list_classes(tiles.plan.card)
        self._best = tiles.scores.argmax(axis=1) if self._classes else None
        self._colours: dict[str, int] = {name: number for number, name in enumerate(self._classes)}

    def write(self, row: int, own: str, feature: Feature) -> bytes:
        """Return the text of a feature with the id `own`; `row` is NONE for one without values."""
        stated = feature.get("properties")
        properties: dict[str, Any] = dict(cast("dict[str, Any]", stated)) if isinstance(stated, dict) else {}
        if not any(name in properties for name in _KINDS):
            properties = {"objectType": "detection", **properties}  # else QuPath makes an annotation of it
        measured = _read_measurements(properties.pop("measurements", None))
        if row != NONE:
            # The shortest text of a float32, as in tiles.csv.
            measured |= {name: float(texts[row]) for name, texts in zip(self._names, self._texts, strict=True)}
        if measured:
            properties["measurements"] = measured
        self._set_class(properties, row)
        value = {**feature, "id": own, "properties": properties}
        if self._offset != (0, 0):
            value = move_feature(value, self._offset)
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

    def _set_class(self, properties: dict[str, Any], row: int) -> None:
        original = read_class(properties)
        if self._best is not None and row != NONE:
            if original is not None:
                kept = properties.get("metadata")
                known: dict[str, Any] = cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}
                properties["metadata"] = {**known, ORIGINAL_CLASS: original}
            name = self._classes[int(self._best[row])]
            properties["classification"] = {"name": name, "color": self._choose_colour(name)}
        elif original is None:
            properties.pop("classification", None)
        else:
            properties["classification"] = self._repair_class(parse_class(properties["classification"]), original)

    def _repair_class(self, stated: Any, name: str) -> dict[str, Any]:
        """Return the class with a colour: QuPath refuses the whole file for one without."""
        held: dict[str, Any] = cast("dict[str, Any]", stated) if isinstance(stated, dict) else {"name": name}
        colour = held.get("color", held.get("colorRGB"))
        if isinstance(colour, list) and len(cast("list[Any]", colour)) in (3, 4):
            return held
        return {**held, "color": self._choose_colour(name)}

    def _choose_colour(self, name: str) -> tuple[int, int, int]:
        return choose_colour(self._colours.setdefault(name, len(self._colours)))


def move_feature(feature: Mapping[str, Any], offset: tuple[int, int]) -> Feature:
    """Return the feature, moved with its nucleus and with the objects within it."""
    moved = dict(feature)
    for name in _OUTLINES:
        outline: Mapping[str, Any] | None = moved.get(name)
        if outline is not None:
            moved[name] = {**outline, "coordinates": move_coordinates(outline.get("coordinates"), offset)}
    properties: Mapping[str, Any] = moved.get("properties") or {}
    if children := properties.get(CHILDREN):
        moved["properties"] = {**properties, CHILDREN: [move_feature(child, offset) for child in children]}
    return moved


def move_coordinates(value: Any, offset: tuple[int, int]) -> Any:
    """Return the coordinates of a geometry of any kind, moved."""
    if not isinstance(value, list):
        return value
    held = cast("list[Any]", value)
    if len(held) > 1 and all(isinstance(number, int | float) for number in held):
        return [held[0] + offset[0], held[1] + offset[1], *held[2:]]
    return [move_coordinates(each, offset) for each in held]


def _read_measurements(stated: Any) -> dict[str, Any]:
    """Return the measurements by name, those that are numbers. QuPath takes what is missing for NaN, which JSON does
    not have. Older files list them."""
    if isinstance(stated, list):
        listed = cast("list[Mapping[str, Any]]", [each for each in cast("list[Any]", stated) if isinstance(each, dict)])
        stated = {str(each.get("name")): each.get("value") for each in listed}
    if not isinstance(stated, dict):
        return {}
    values = cast("dict[str, Any]", stated).items()
    return {name: value for name, value in values if type(value) in (int, float) and math.isfinite(value)}
