"""The checker of QuPath's rules finds each fault that it is for."""

from __future__ import annotations

from copy import deepcopy
from typing import Any
from uuid import UUID

import pytest

from tests.wsi.results.qupath import find_faults

SQUARE = [[0, 0], [0, 10.25], [10, 10], [0, 0]]
GOOD = {
    "type": "Feature",
    "id": str(UUID(int=7)),
    "geometry": {"type": "Polygon", "coordinates": [SQUARE]},
    "properties": {
        "objectType": "detection",
        "classification": {"name": "Tumor", "color": [1, 2, 3]},
        "measurements": {"Area": 1.5},
    },
}


def with_change(*path: str | int, to: Any) -> dict[str, Any]:
    value: Any = {"type": "FeatureCollection", "features": [deepcopy(GOOD)]}
    place = value["features"][0]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return value


def test_a_good_object_has_no_fault() -> None:
    assert list(find_faults({"type": "FeatureCollection", "features": [GOOD]})) == []


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"type": "GeometryCollection", "geometries": []}, id="no features"),
        pytest.param({"type": "FeatureCollection", "features": [GOOD, GOOD]}, id="an id twice"),
        pytest.param(with_change("id", to="patch_3"), id="no UUID"),
        pytest.param(with_change("id", to=3), id="a number as id"),
        pytest.param(with_change("objectType", to="detection"), id="outside of properties"),
        pytest.param(with_change("properties", "objectType", to="nucleus"), id="unknown type"),
        pytest.param(with_change("properties", "classification", to={"name": "Tumor"}), id="class without colour"),
        pytest.param(with_change("properties", "classification", to={"color": [1, 2, 3]}), id="class without name"),
        pytest.param(with_change("properties", "classification", "color", to=[1, 2]), id="half a colour"),
        pytest.param(with_change("properties", "classification", to=" "), id="blank class"),
        pytest.param(with_change("properties", "color", to=[1, 2, 3, 4]), id="four parts outside of the class"),
        pytest.param(with_change("properties", "measurements", "Area", to="1.5"), id="text as a measurement"),
        pytest.param(with_change("properties", "measurements", "Area", to=float("nan")), id="not a number"),
        pytest.param(with_change("properties", "measurements", "Area", to=None), id="no measurement"),
        pytest.param(with_change("geometry", "coordinates", 0, to=[*SQUARE[:3], [1, 0]]), id="not closed"),
        pytest.param(with_change("geometry", "coordinates", 0, to=[[0, 0], [1, 1], [0, 0]]), id="three points"),
        pytest.param(with_change("geometry", "coordinates", 0, 1, to=[0, 10.257]), id="too fine"),
        pytest.param(with_change("geometry", to={"type": "MultiPolygon", "coordinates": [[SQUARE]]}), id="all in one"),
        pytest.param(with_change("geometry", to={"type": "GeometryCollection", "geometries": []}), id="a collection"),
    ],
)
def test_each_fault_is_found(value: dict[str, Any]) -> None:
    assert list(find_faults(value))
