"""Collects the objects of a file's features: their centres and ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from wsi.errors import Invalid
from wsi.given.geometries import Points, find_centres, iterate_parts, read_outline
from wsi.given.objects import CHILDREN, MAX_OBJECTS, FeatureSource, GivenObjects, as_feature, make_id
from wsi.records.outline import Frame

_AT_ONCE: Final = 8192  #: outlines in memory
_NO_AREA: Final = "outline without area"
_SEVERAL: Final = {
    _NO_AREA: "outlines without area",
    "line": "lines",
    "object without a geometry": "objects without a geometry",
}


def collect_objects(source: FeatureSource, *, digest: str, frame: Frame) -> GivenObjects:
    """Return the objects of a file's features. `digest`: of the file. Raises Invalid, also for a file without any and
    for one of more than MAX_OBJECTS."""
    parts = _Parts(source)
    centres: list[Points] = []
    kept: list[NDArray[np.bool_]] = []
    outlines = parts.iterate_outlines()
    while some := list(islice(outlines, _AT_ONCE)):
        found, has_area = find_centres(some)
        centres.append(found[has_area])
        kept.append(has_area)
    if not any(map(len, centres)):
        held = f": it holds {parts.describe_left_out(kept)}" if parts.holds_others(kept) else ""
        raise Invalid(f"The file holds no object{held}. Export cells or other outlines, or points.")
    chosen = np.concatenate(kept)
    stated = [each for each, keep in zip(parts.ids, chosen, strict=True) if keep]
    return GivenObjects(
        digest=digest,
        frame=frame,
        centres=np.concatenate(centres),
        ids=tuple(_iterate_ids(stated, digest)),
        kept=chosen,
        source=source,
        notes=tuple(parts.iterate_notes(kept)),
    )


class _Parts:
    """The parts of a file's features: their ids, and the counts of what was left out or split."""

    def __init__(self, source: FeatureSource) -> None:
        self.ids: list[str | None] = []  #: of each part; None: its feature states none
        self._source = source
        self._left_out: Counter[str] = Counter()
        self._split = 0  #: features of several parts
        self._of_split = 0  #: their parts
        self._with_children = 0  #: features

    def iterate_outlines(self) -> Iterator[Points]:
        """Yield the outline of each part of the features."""
        for number, raw in enumerate(self._source.iterate_raw()):
            where = f"feature {number}"
            if not isinstance(raw, dict):
                raise Invalid(f"In {where}, an object with a type is missing: export the objects as GeoJSON.")
            feature, before = as_feature(raw), len(self.ids)
            for part in iterate_parts(feature.get("geometry"), where, self._left_out):
                self.ids.append(_read_id(feature))
                if len(self.ids) > MAX_OBJECTS:
                    raise Invalid(f"The file holds more than {MAX_OBJECTS:,} objects: split it by regions.")
                yield read_outline(part, where)
            self._with_children += _has_children(feature.get("properties"))
            found = len(self.ids) - before
            if found > 1:
                self._split, self._of_split = self._split + 1, self._of_split + found

    def holds_others(self, kept: list[NDArray[np.bool_]]) -> bool:
        """Return whether something was left out."""
        return bool(self._count(kept))

    def describe_left_out(self, kept: list[NDArray[np.bool_]]) -> str:
        """Return the counts of what was left out."""
        counts = self._count(kept)
        return ", ".join(f"{count:,} {name if count == 1 else _SEVERAL[name]}" for name, count in counts.items())

    def iterate_notes(self, kept: list[NDArray[np.bool_]]) -> Iterator[str]:
        """Yield a sentence on each thing that was left out or split."""
        if self.holds_others(kept):
            yield f"The file of objects also holds {self.describe_left_out(kept)}: left out."
        if self._split:
            several = "1 feature has" if self._split == 1 else f"{self._split:,} features have"
            yield f"{several} {self._of_split:,} polygons or points: each of these is an object."
        if self._with_children:
            yield f"{self._with_children:,} of the objects hold others, which are not analysed: export them flat."

    def _count(self, kept: list[NDArray[np.bool_]]) -> Counter[str]:
        without_area = sum(int((~each).sum()) for each in kept)
        return +(self._left_out + Counter({_NO_AREA: without_area}))


def _has_children(properties: Any) -> bool:
    return isinstance(properties, dict) and bool(cast("Mapping[str, Any]", properties).get(CHILDREN))


def _read_id(feature: Mapping[str, Any]) -> str | None:
    stated = feature.get("id")
    return str(stated) if isinstance(stated, str | int) and str(stated).strip() else None


def _iterate_ids(stated: list[str | None], digest: str) -> Iterator[str]:
    """Yield the id of each object: its own where no other has it, else one that is made of its place in the file."""
    counts = Counter(stated)
    for number, each in enumerate(stated):
        yield each if each is not None and counts[each] == 1 else make_id(digest, number)
