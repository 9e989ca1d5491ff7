"""What other readers say the pixels of a slide are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import tifffile
from numpy.typing import NDArray
from openslide import OpenSlide, OpenSlideError
from PIL import Image
from pydicom import Dataset, dcmread
from pydicom.pixels import pixel_array

from wsi.records.slides import Choice, LevelInfo
from wsi.slide.slide import RGB

#: (level, its shape, x, y, side) -> [side, side, 3]; None where the oracle cannot tell that box exactly
Region = Callable[[int, LevelInfo, int, int, int], RGB | None]
LARGEST: Final = 16_000_000  #: px of a level that is read whole
WHITE: Final = 255


@contextmanager
def openslide_regions(path: Path, choice: Choice | None) -> Iterator[Region]:
    """Raises OpenSlideError for a box over a damaged tile, and goes on with the next."""
    assert choice in (None, Choice(picture=1)), "OpenSlide shows the first image"
    with ExitStack() as opened:
        slide = opened.enter_context(OpenSlide(path))
        whole: dict[int, RGB] = {}

        def region(level: int, info: LevelInfo, x: int, y: int, side: int) -> RGB | None:
            nonlocal slide
            own = slide.level_dimensions.index((info.width, info.height))  # of the same level, if we pass one over
            corner = (x * info.downsample, y * info.downsample)
            if all(place == int(place) for place in corner):
                try:
                    return _on_white(np.asarray(slide.read_region((int(corner[0]), int(corner[1])), own, (side, side))))
                except OpenSlideError:  # that handle reads nothing more
                    slide = opened.enter_context(OpenSlide(path))
                    raise
            # OpenSlide resamples at corners that are not whole pixels of level 0; the level's own corner always is.
            if info.width * info.height > LARGEST:
                return None
            if level not in whole:
                size = (info.width, info.height)
                whole[level] = _on_white(np.asarray(slide.read_region((0, 0), own, size)))
            return _crop(whole[level], x, y, side)

        yield region


@contextmanager
def pydicom_regions(path: Path, choice: Choice | None) -> Iterator[Region]:
    """All files of the folder are one slide; pydicom decodes frames, which lie where they say, or in order."""
    files = [dcmread(file) for file in sorted(path.parent.glob("*.dcm"))]
    whole: dict[tuple[int, int], RGB] = {}
    for file in files:
        if file.ImageType[2] != "VOLUME":
            continue
        size = (file.TotalPixelMatrixColumns, file.TotalPixelMatrixRows)
        level = whole.setdefault(size, np.full((size[1], size[0], 3), WHITE, np.uint8))
        for number, (x, y, optical_path, plane) in enumerate(_frames(file)):
            wanted = choice or Choice()
            if (optical_path, plane) == (wanted.optical_path or optical_path, wanted.focal_plane or plane):
                frame = pixel_array(file, index=number)
                kept = frame[: size[1] - y, : size[0] - x]
                level[y : y + len(kept), x : x + kept.shape[1]] = kept.reshape(*kept.shape[:2], -1)

    def region(level: int, info: LevelInfo, x: int, y: int, side: int) -> RGB | None:
        return _crop(whole[info.width, info.height], x, y, side)

    yield region


def _frames(file: Dataset) -> Iterator[tuple[int, int, str, int]]:
    """x, y (px from 0), optical path and plane (from 1) of each frame. Source: PS3.3, C.7.6.17.3."""
    paths = [str(path.OpticalPathIdentifier) for path in file.OpticalPathSequence]
    if file.DimensionOrganizationType == "TILED_FULL":
        across, down = -(-file.TotalPixelMatrixColumns // file.Columns), -(-file.TotalPixelMatrixRows // file.Rows)
        before = file.get("ConcatenationFrameOffsetNumber", 0)
        for number in range(before, before + int(file.NumberOfFrames)):
            stack, tile = divmod(number, across * down)
            path, plane = divmod(stack, file.TotalPixelMatrixFocalPlanes)
            yield tile % across * file.Columns, tile // across * file.Rows, paths[path], plane + 1
        return
    groups = file.PerFrameFunctionalGroupsSequence
    positions = [group.PlanePositionSlideSequence[0] for group in groups]
    heights = sorted({float(position.ZOffsetInSlideCoordinateSystem) for position in positions})
    for group, position in zip(groups, positions, strict=True):
        yield (
            position.ColumnPositionInTotalImagePixelMatrix - 1,
            position.RowPositionInTotalImagePixelMatrix - 1,
            str(group.OpticalPathIdentificationSequence[0].OpticalPathIdentifier),
            1 + heights.index(float(position.ZOffsetInSlideCoordinateSystem)),
        )


@contextmanager
def tifffile_regions(path: Path, choice: Choice | None) -> Iterator[Region]:
    assert choice in (None, Choice(picture=1)), "only the first image is compared"
    with tifffile.TiffFile(path) as file:
        levels = file.series[0].levels
        whole: dict[int, RGB] = {}

        def region(level: int, info: LevelInfo, x: int, y: int, side: int) -> RGB | None:
            if level not in whole:
                whole[level] = _three(levels[level].asarray(), levels[level].axes)
            assert whole[level].shape[:2] == (info.height, info.width), "levels differ"
            return _crop(whole[level], x, y, side)

        yield region


@contextmanager
def pillow_regions(path: Path, choice: Choice | None) -> Iterator[Region]:
    """libtiff's pixels, of a slide of one level."""
    assert choice is None, "Pillow lets nothing be chosen"
    with Image.open(path) as picture:
        whole = np.asarray(picture.convert("RGB"))
    yield lambda level, info, x, y, side: _crop(whole, x, y, side)


ORACLES: Final = {
    "openslide": openslide_regions,
    "pillow": pillow_regions,
    "tifffile": tifffile_regions,
    "pydicom": pydicom_regions,
}


def _three(pixels: NDArray[np.uint8], axes: str) -> RGB:
    """[height, width, 3] of the first picture in `pixels`."""
    while axes not in ("YX", "YXS", "SYX", "CYX"):
        pixels, axes = pixels[0], axes[1:]
    if axes in ("SYX", "CYX"):
        pixels = np.moveaxis(pixels, 0, -1)
    return np.repeat(pixels[..., None], 3, axis=2) if pixels.ndim == 2 else pixels[..., :3]


def _on_white(pixels: NDArray[np.uint8]) -> RGB:
    colour, alpha = pixels[..., :3], pixels[..., 3:].astype(np.float32) / WHITE
    return (colour * alpha + WHITE * (1 - alpha)).round().astype(np.uint8)


def _crop(pixels: RGB, x: int, y: int, side: int) -> RGB:
    """Of a whole level; white past its edges."""
    found = np.full((side, side, 3), WHITE, np.uint8)
    inside = pixels[max(y, 0) : max(y + side, 0), max(x, 0) : max(x + side, 0)]
    top, left = max(-y, 0), max(-x, 0)
    found[top : top + inside.shape[0], left : left + inside.shape[1]] = inside
    return found
