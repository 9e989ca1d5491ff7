"""The boxes of objects that a user gives: the model's box around the centre of each, in place of a grid."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import FailReason, JobFailed
from wsi.given.objects import GivenObjects
from wsi.inspection.mask import SlideMask
from wsi.planning.packed_numbers import pack_numbers, unpack_numbers
from wsi.records.slides import Inspection

#: Share of the objects that lie on tissue, below which they probably count from elsewhere.
_FEW: Final = 0.5


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PlannedObjects:
    """The object that each tile of a plan is around. Ids and names stay in the file: they may say who the patient
    is."""

    digest: str  #: hex sha256 of the file
    count: int  #: objects of the file
    numbers: NDArray[np.int32]  #: [tiles] place of each tile's object in the file, from 0

    def as_json(self) -> dict[str, Any]:
        return {"digest": self.digest, "count": self.count, "numbers": pack_numbers(self.numbers)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> PlannedObjects:
        return PlannedObjects(digest=value["digest"], count=value["count"], numbers=unpack_numbers(value["numbers"]))

    def describe_identity(self) -> str:
        """Return what the plan's digest has of it."""
        numbers = hashlib.sha256(self.numbers.astype("<i4").tobytes()).hexdigest()
        return f"{self.digest} {self.count} {numbers}"


def place_boxes(
    objects: GivenObjects,
    box: tuple[int, int],
    inspection: Inspection,
    region: tuple[int, int, int, int] | None = None,
) -> tuple[NDArray[np.int32], PlannedObjects]:
    """Return the corners, [n, 2], of boxes of `box` level-0 px around the objects, ordered by x, then y, then place in
    the file, and which object each is of. A box may pass the slide's edge.

    Objects whose centre is outside of the slide, or of `region`, get none. Raises JobFailed if all are.
    """
    centres = objects.centres + objects.find_corner(inspection.bounds)
    numbers = np.flatnonzero(_lies_within(centres, _intersect(inspection, region)))
    if not len(numbers):
        raise JobFailed(
            FailReason.PLANNING_FAILED,
            f"All objects lie outside of {_name_place(inspection, region)}: state them in pixels of the full "
            "resolution, and say with their frame what they count from.",
        )
    corners = np.floor(centres[numbers] - np.array(box) / 2 + 0.5).astype(np.int32)
    order = np.lexsort((corners[:, 1], corners[:, 0]))  # stable: objects of one box keep the file's order
    planned = PlannedObjects(digest=objects.digest, count=len(objects), numbers=numbers[order].astype(np.int32))
    return corners[order], planned


def iterate_object_warnings(
    objects: GivenObjects,
    planned: PlannedObjects,
    inspection: Inspection,
    mask: SlideMask,
    region: tuple[int, int, int, int] | None = None,
) -> Iterator[str]:
    """Yield a sentence on each thing about the objects that a user must know. `mask`: of the tissue that was found."""
    yield from objects.notes
    if outside := planned.count - len(planned.numbers):
        yield (
            f"{outside:,} of {planned.count:,} objects have their centre outside of {_name_place(inspection, region)}: "
            "they have no values."
        )
    centres = (objects.centres + objects.find_corner(inspection.bounds))[planned.numbers]
    height, width = mask.pixels.shape
    x, y = (centres * (width / inspection.width, height / inspection.height)).astype(np.int64).T
    found = int(mask.pixels[y.clip(0, height - 1), x.clip(0, width - 1)].sum())
    if found < _FEW * len(centres):
        yield (
            f"Only {found:,} of {len(centres):,} objects lie where tissue was found: check that the file is of this "
            "slide, and what it counts from (its frame)."
        )


def _lies_within(points: NDArray[np.float64], place: tuple[int, int, int, int]) -> NDArray[np.bool_]:
    left, top, right, bottom = place
    x, y = points.T
    return (x >= left) & (x < right) & (y >= top) & (y < bottom)


def _intersect(inspection: Inspection, region: tuple[int, int, int, int] | None) -> tuple[int, int, int, int]:
    """Return left, top, right, bottom of the region's part of the slide."""
    x, y, width, height = region or (0, 0, inspection.width, inspection.height)
    return max(x, 0), max(y, 0), min(x + width, inspection.width), min(y + height, inspection.height)


def _name_place(inspection: Inspection, region: tuple[int, int, int, int] | None) -> str:
    return f"{'the region on ' if region else ''}the slide of {inspection.width} x {inspection.height} px"
