"""Files of objects as tools write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

UUIDS = ("0d3a6a4e-6f6f-4f4e-9b57-6a6c8f0d9a01", "0d3a6a4e-6f6f-4f4e-9b57-6a6c8f0d9a02")


def square(x: float, y: float, half: float = 5) -> list[list[list[float]]]:
    """Coordinates of a polygon around a point."""
    left, top, right, bottom = x - half, y - half, x + half, y + half
    return [[[left, top], [right, top], [right, bottom], [left, bottom], [left, top]]]


def feature(kind: str, coordinates: Any, **members: Any) -> dict[str, Any]:
    properties = members.pop("properties", {})
    return {
        "type": "Feature",
        **members,
        "geometry": {"type": kind, "coordinates": coordinates},
        "properties": properties,
    }


def write_qupath(centres: Sequence[tuple[float, float]], *, nan: bool = False) -> bytes:
    """QuPath 0.5's cells, with a nucleus in each."""
    cells = [
        feature(
            "Polygon",
            square(x, y),
            id=f"0d3a6a4e-6f6f-4f4e-9b57-{number:012x}",
            nucleusGeometry={"type": "Polygon", "coordinates": square(x, y, 2)},
            properties={
                "objectType": "cell",
                "name": f"Cell {number}",
                "classification": {"name": "Tumor", "color": [200, 0, 0]},
                "isLocked": True,
                "measurements": {"Nucleus: Area µm^2": 12.5, "Lost": float("nan") if nan else 1.0},
                "metadata": {"Reviewer": "Dr B"},
            },
        )
        for number, (x, y) in enumerate(centres)
    ]
    return json.dumps({"type": "FeatureCollection", "features": cells}).encode()


def write_cellvit(classes: dict[str, Sequence[tuple[float, float]]]) -> bytes:
    """CellViT's: one annotation of a MultiPolygon for all cells of a class, in a bare array."""
    return json.dumps(
        [
            feature(
                "MultiPolygon",
                [square(x, y) for x, y in centres],
                id=UUIDS[number],
                properties={"objectType": "annotation", "classification": {"name": name, "color": [0, 0, 255]}},
            )
            for number, (name, centres) in enumerate(classes.items())
        ]
    ).encode()


def write_points(centres: Sequence[tuple[float, float]], *, together: bool) -> bytes:
    """Points one by one, or all in a MultiPoint."""
    if together:
        return json.dumps(feature("MultiPoint", [list(centre) for centre in centres])).encode()
    return json.dumps([feature("Point", list(centre)) for centre in centres]).encode()
