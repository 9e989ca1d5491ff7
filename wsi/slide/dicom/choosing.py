"""The choice of one image where several lie at each place (optical paths, planes of focus). Source: PS3.3, C.7.6.17.3
(the order of frames in TILED_FULL) and C.8.12.5 (optical paths)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide.dicom.header import OpticalPath
from wsi.slide.dicom.pixels import make_fluorescence_error

_MOST_LISTED: Final = 10
_LONGEST: Final = 16  #: characters of an identifier, by the standard (SH)


@dataclass(frozen=True, slots=True)
class FrameStack:
    """The tile, optical path and focal plane of each frame of a level."""

    places: NDArray[np.int64]  #: [frames] tile, row-major
    path: NDArray[np.int64]  #: [frames] into `paths`
    plane: NDArray[np.int64]  #: [frames] from 0, upwards
    paths: tuple[OpticalPath, ...]
    planes: int


def stack_full(frames: int, tiles: int, paths: Sequence[OpticalPath]) -> FrameStack:
    """Stack the frames of TILED_FULL: row by row, then plane by plane from the lowest, then path by path."""
    count = len(paths) or 1
    planes = frames // (tiles * count)
    number = np.arange(frames, dtype=np.int64)
    return FrameStack(number % tiles, number // (tiles * planes), number // tiles % planes, tuple(paths), planes)


def stack_sparse(
    places: NDArray[np.int64], path: NDArray[np.int64], heights: NDArray[np.float64], paths: Sequence[OpticalPath]
) -> FrameStack:
    """Stack frames that state their places. Where no two of a path share a place there is one plane, however high each
    of its tiles was focused."""
    flat = len(np.unique(places * len(paths) + path)) == len(places)
    known, plane = np.unique(np.zeros(len(places)) if flat else heights, return_inverse=True)
    return FrameStack(places, path, plane.astype(np.int64), tuple(paths), len(known))


def choose_frames(stack: FrameStack, choice: Choice | None) -> tuple[NDArray[np.int64], int]:
    """Return the frames of the chosen image, and the number of places that have frames of the chosen path in other
    planes only. A level that holds one plane has it for every choice. Raises SlideRejected: OPTICAL_PATHS, Z_STACK,
    NO_SUCH_CHOICE, FLUORESCENCE."""
    path, plane = (choice.optical_path, choice.focal_plane) if choice is not None else (None, None)
    if stack.paths and all(one.fluorescence for one in stack.paths):
        raise make_fluorescence_error(len(stack.paths))
    if (len(stack.paths) > 1 and path is None) or (stack.planes > 1 and plane is None):
        raise make_ambiguous_error(stack.paths, stack.planes)
    identifiers = [one.identifier for one in stack.paths]
    if path is not None and path not in identifiers:
        raise make_unknown_path_error(stack.paths)
    if plane is not None and stack.planes > 1 and not 1 <= plane <= stack.planes:
        raise SlideRejected(
            RejectReason.NO_SUCH_CHOICE,
            f"The slide holds planes of focus 1 to {stack.planes:,}: choose one of them.",
        )
    of_path = np.ones(len(stack.places), bool)
    if path is not None:
        number = identifiers.index(path)
        if stack.paths[number].fluorescence:
            raise make_fluorescence_error(1)
        of_path = stack.path == number
    kept = of_path if stack.planes == 1 or plane is None else of_path & (stack.plane == plane - 1)
    unseen = _distinct(stack.places[of_path]) - _distinct(stack.places[kept]) if stack.planes > 1 else 0
    return np.flatnonzero(kept), unseen


def _distinct(places: NDArray[np.int64]) -> int:
    return int(np.count_nonzero(np.bincount(places)))


def make_unknown_path_error(paths: Sequence[OpticalPath]) -> SlideRejected:
    return SlideRejected(
        RejectReason.NO_SUCH_CHOICE,
        f"The slide holds no optical path of that name: choose one of {_describe_paths(paths)}.",
    )


def make_ambiguous_error(paths: Sequence[OpticalPath], planes: int) -> SlideRejected:
    """Return the refusal of a slide from which an optical path or a plane must be chosen."""
    held, choices = list[str](), list[str]()
    if len(paths) > 1:
        held.append(f"{len(paths):,} optical paths")
        choices.append(f"one of {_describe_paths(paths)} (`optical_path`)")
    if planes > 1:
        held.append(f"{planes:,} planes of focus")
        choices.append(f"one of planes 1 to {planes:,}, from the glass upwards (`focal_plane`)")
    reason = RejectReason.OPTICAL_PATHS if len(paths) > 1 else RejectReason.Z_STACK
    return SlideRejected(
        reason,
        f"The slide holds {' and '.join(held)}, and models expect one picture: with the slide, choose "
        f"{' and '.join(choices)}.",
    )


def _describe_paths(paths: Sequence[OpticalPath]) -> str:
    """Return the identifiers of the brightfield paths as text. Long ones, and a long list, are cut off."""
    names = [path.identifier for path in paths if not path.fluorescence]
    shown = ["".join(filter(str.isprintable, name))[:_LONGEST] or "''" for name in names[:_MOST_LISTED]]
    more = len(names) - len(shown)
    return "optical paths " + ", ".join(shown) + f" and {more:,} more" * (more > 0)
