"""What QuPath's GeoJSON import asks (QuPathTypeAdapters, GsonTools, ROITypeAdapters at e7662d89; peers-and-pitfalls
3.4)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from uuid import UUID

OBJECT_TYPES = {"tile", "cell", "detection", "annotation", "tmaCore", "root"}


def features(value: Any) -> list[dict[str, Any]]:
    """The tiles of a collection, each checked by what would make QuPath refuse or quietly change it."""
    found = objects(value)
    for feature in found:
        assert feature["geometry"]["type"] == "Polygon"
        assert all(
            type(value) is int for ring in feature["geometry"]["coordinates"] for point in ring for value in point
        )
        assert feature["properties"]["isLocked"] is True
        assert feature["properties"]["measurements"]
    return found


def objects(value: Any) -> list[dict[str, Any]]:
    """The features of a collection without faults."""
    assert list(find_faults(value)) == []
    return value["features"]


def find_faults(value: Any) -> Iterator[str]:
    """What would make QuPath refuse the collection or quietly change one of its features."""
    if value.get("type") != "FeatureCollection" or not isinstance(value.get("features"), list):
        yield "not a FeatureCollection"
        return
    ids = set()
    for feature in value["features"]:
        yield from _find_faults_of_head(feature)
        yield from _find_faults_of_geometry(feature["geometry"])
        yield from _find_faults_of_properties(feature["properties"])
        if feature.get("id") in ids:
            yield "an id comes twice"
        ids.add(feature.get("id"))


def _find_faults_of_head(feature: dict[str, Any]) -> Iterator[str]:
    if feature.get("type") != "Feature":
        yield "not a Feature"
    if unknown := set(feature) - {"type", "id", "geometry", "nucleusGeometry", "properties"}:
        yield f"ignored outside of properties: {sorted(unknown)}"
    try:
        UUID(feature["id"])
    except (KeyError, TypeError, ValueError, AttributeError):
        yield "the id is no UUID and is dropped"


def _find_faults_of_geometry(geometry: dict[str, Any]) -> Iterator[str]:
    if "coordinates" not in geometry:
        yield "a geometry without coordinates, such as a GeometryCollection, is refused"
        return
    if geometry["type"] != "Polygon":
        yield "not one polygon: QuPath would show one object"
        return
    for ring in geometry["coordinates"]:
        if len(ring) < 4 or ring[0] != ring[-1]:
            yield "a ring is not closed or has fewer than four points"
        if any(round(number, 2) != number for point in ring for number in point):
            yield "coordinates are reduced to 0.01 px"


def _find_faults_of_properties(properties: dict[str, Any]) -> Iterator[str]:
    if properties.get("objectType") not in OBJECT_TYPES:
        yield "without a known objectType it becomes an annotation"
    if "color" in properties and not (isinstance(properties["color"], int) or len(properties["color"]) == 3):
        yield "a colour outside of classification has three parts, or it is ignored"
    classification = properties.get("classification")
    if isinstance(classification, dict):
        if "color" not in classification or not {"name", "names"} & set(classification):
            yield "a class without a name or a colour is refused"
        elif len(classification["color"]) not in (3, 4):
            yield "a class's colour has three or four parts"
        classification = classification.get("name", "named by names")
    if isinstance(classification, str) and not classification.strip():
        yield "a class's name is blank"
    measurements = properties.get("measurements", {})
    if isinstance(measurements, dict) and not all(
        type(number) in (int, float) and math.isfinite(number) for number in measurements.values()
    ):
        yield "a measurement is no number"
