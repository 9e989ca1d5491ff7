"""Places outlines of the truth on the slide, and says which objects are counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from tessera.evaluation.class_names import normalise_class
from tessera.evaluation.options import EvaluationOptions
from tessera.evaluation.result_folders import ResultFolder, SlideLeftOut
from tessera.evaluation.truth.files import SlideTruth
from tessera.evaluation.truth.outlines import TruthOutlines, read_outlines
from tessera.local_run.inputs import UsageError
from wsi.records.outline import Frame


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PlacedTruth:
    outlines: TruthOutlines  #: in level-0 px, without those of the area
    area: shapely.Geometry | None  #: in which the truth is complete; None: everywhere
    outside: int  #: outlines off the slide, which are not counted


def place_outlines(result: ResultFolder, truth: SlideTruth, options: EvaluationOptions) -> PlacedTruth:
    """Read the outlines of a slide. Raises SlideLeftOut if they cannot be those of the slide."""
    assert truth.outlines is not None
    try:
        read = read_outlines(truth.outlines, split_parts=options.split_parts)
    except UsageError as error:
        raise SlideLeftOut(str(error)) from error
    if not len(read):
        raise SlideLeftOut(f"{truth.outlines.name} holds no outline: draw regions or objects as areas")
    read = read.move(*_find_corner(result, options.frame))
    outside = find_outside(read, result.size)
    if 2 * outside.sum() > len(read):
        width, height = result.size
        raise SlideLeftOut(
            f"{int(outside.sum()):,} of {len(read):,} outlines are off the slide of {width:,} x {height:,} px. They "
            "must count in px of the full resolution of this slide: is it the right file, and the right --truth-frame?"
        )
    kept = read.select(~outside)
    if options.within is None:
        return PlacedTruth(outlines=kept, area=None, outside=int(outside.sum()))
    is_area = np.array([normalise_class(name) == normalise_class(options.within) for name in kept.classes], bool)
    if not is_area.any():
        raise SlideLeftOut(
            f"{truth.outlines.name} has no region of the class {options.within}, in which --within counts; it has "
            f"{describe_classes(kept.classes)}"
        )
    area = shapely.union_all(kept.shapes[is_area])
    return PlacedTruth(outlines=kept.select(~is_area), area=area, outside=int(outside.sum()))


def find_outside(outlines: TruthOutlines, size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which outlines do not touch the slide."""
    left, top, right, bottom = shapely.bounds(outlines.shapes).T
    return np.asarray((right < 0) | (bottom < 0) | (left > size[0]) | (top > size[1]))


def describe_classes(names: Iterable[str]) -> str:
    """Return the different names, for a message."""
    return ", ".join(sorted(set(names))) or "none"


def _find_corner(result: ResultFolder, frame: Frame | None) -> tuple[int, int]:
    if result.corner is None:
        return 0, 0
    if frame is None:
        raise SlideLeftOut(
            "QuPath shows this slide cropped. Say what the outlines count from: --truth-frame qupath for an export of "
            "QuPath, --truth-frame full for level 0"
        )
    return result.corner if frame is Frame.QUPATH else (0, 0)
