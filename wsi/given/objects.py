"""The objects of a file, as planning and the writers of results read them."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from wsi.given.geometries import iterate_parts
from wsi.records.jobs import ObjectsFile
from wsi.records.outline import Frame

MAX_OBJECTS: Final = 2_000_000  #: of a file: 8 GB of GeoJSON with 60 points each, which no program shows any more
#: Of all ids that are given to objects without one; the file's digest and the object's place make the rest.
_IDS: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "given.tessera.invalid")
CHILDREN: Final = "childObjects"  #: QuPath's name of the objects within one, in its properties

Feature = dict[str, Any]  #: of GeoJSON


class FeatureSource(Protocol):
    """The features of a file, which can be read more than once."""

    def iterate_raw(self) -> Iterator[Any]:
        """Yield the features in the file's order, as they come."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GivenObjects:
    """The objects of one file in its order. An object is one polygon or one point: a feature of several is as many
    objects."""

    digest: str  #: hex sha256 of the unpacked file
    frame: Frame  #: what the file's coordinates count from
    centres: NDArray[np.float64]  #: [n, 2] in px as the file counts them
    ids: Sequence[str]  #: [n] no two are equal
    kept: NDArray[np.bool_]  #: [parts] which parts of the features are objects
    source: FeatureSource
    notes: Sequence[str] = ()  #: one sentence each: what was left out or split

    def __len__(self) -> int:
        return len(self.ids)

    def as_option(self) -> ObjectsFile:
        """Return what names the file among a job's options."""
        return ObjectsFile(digest=self.digest, frame=self.frame)

    def find_corner(self, bounds: tuple[int, int, int, int] | None) -> tuple[int, int]:
        """Return the level-0 px that the file counts from. `bounds` are those of the inspection."""
        return (0, 0) if self.frame is Frame.FULL or bounds is None else bounds[:2]

    def iterate_features(self) -> Iterator[Feature]:
        """Yield each object as a feature of its own, in px as the file counts them."""
        number, left_out = 0, Counter[str]()  # counted when the file was read first
        for raw in self.source.iterate_raw():
            feature = as_feature(raw)
            whole = feature.get("geometry")
            for part in iterate_parts(whole, "", left_out):
                if self.kept[number]:
                    yield {**feature, "geometry": part} if part is whole else _make_detection(feature, part)
                number += 1


def as_feature(value: Any) -> Mapping[str, Any]:
    """Return the feature, or a bare geometry as a feature without properties."""
    held: Mapping[str, Any] = value
    return held if held.get("type") == "Feature" else {"type": "Feature", "geometry": held}


def _make_detection(feature: Mapping[str, Any], part: dict[str, Any]) -> Feature:
    """Return the part of a feature as a detection of its own: CellViT has an annotation of all cells of a class, and
    QuPath shows 100,000 annotations at a crawl."""
    stated: Mapping[str, Any] = feature.get("properties") or {}
    return {**feature, "geometry": part, "properties": {**stated, "objectType": "detection"}}


def make_id(digest: str, number: int) -> str:
    """Return the id of an object that has none of its own: the same in every run over the same file."""
    return str(uuid.uuid5(_IDS, f"{digest} {number}"))
