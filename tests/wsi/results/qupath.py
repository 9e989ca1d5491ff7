"""What QuPath's GeoJSON import asks (QuPathTypeAdapters, GsonTools, ROITypeAdapters; peers-and-pitfalls 3.4)."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID

OBJECT_TYPES = {"tile", "cell", "detection", "annotation", "tmaCore", "root"}


def features(value: Any) -> list[dict[str, Any]]:
    """The features of a collection, each checked by what would make QuPath refuse or quietly change it."""
    assert value["type"] == "FeatureCollection"
    ids = [_checked(feature) for feature in value["features"]]
    assert len(set(ids)) == len(ids)
    return value["features"]


def _checked(feature: dict[str, Any]) -> UUID:
    assert set(feature) == {"type", "id", "geometry", "properties"}
    assert feature["type"] == "Feature"
    assert feature["geometry"]["type"] == "Polygon"
    for ring in feature["geometry"]["coordinates"]:
        assert len(ring) >= 4
        assert ring[0] == ring[-1]
        assert all(type(value) is int for point in ring for value in point)
    properties = feature["properties"]
    assert properties["objectType"] in OBJECT_TYPES
    assert properties["isLocked"] is True
    assert properties["measurements"]
    assert all(math.isfinite(value) for value in properties["measurements"].values())
    classification = properties.get("classification")
    assert classification is None or (
        "color" in classification and ("name" in classification or "names" in classification)
    )
    return UUID(feature["id"])
