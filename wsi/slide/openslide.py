"""The reader of last resort: OpenSlide on a local file, for formats without an index of ours.

OpenSlide decodes regions, not file tiles, so a level is cut into a grid of 512-px tiles that are read as regions.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import openslide
from numpy.typing import NDArray
from openslide import OpenSlide, OpenSlideCache, OpenSlideError, OpenSlideUnsupportedFormatError

from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.records.slides import Inspection, LevelInfo
from wsi.slide.codecs.samples import to_rgb
from wsi.slide.coding import Colour, Extra, Reduction
from wsi.slide.encoded import EncodedTiles
from wsi.slide.files.scratch import remove_copy
from wsi.slide.layouts.own_reading import OwnReading, read_own
from wsi.slide.mpp import Mpp, StatedMpp, convert_resolution, override_mpp, parse_number, parse_openslide_mpp, resolve
from wsi.slide.ranges import FileSource
from wsi.slide.reducing import reduce_pixels
from wsi.slide.slide import RGB, WHITE, EncodedTile

TILE = 512  #: px; a region costs OpenSlide about the same per pixel from here up
CACHE = 64 * 1024**2  #: bytes of decoded file tiles, shared by all handles
FORMATS: Final = {
    "aperio": "svs",
    "argos": "avs",
    "dicom": "dicom",
    "generic-tiff": "tiff",
    "hamamatsu": "hamamatsu",
    "leica": "scn",
    "mirax": "mrxs",
    "philips": "philips-tiff",
    "sakura": "svslide",
    "trestle": "trestle-tiff",
    "ventana": "bif",
    "zeiss": "czi",
}


class OpenSlideReader:
    """The reader of a path on this disk; `scratch` is a folder that is removed with the reader. `reason` says why no
    reader of ours read the slide, and is a warning if one of them claimed it and `gave_up`. Raises SlideRejected:
    UNSUPPORTED_FORMAT when OpenSlide does not know the file or shows another image than the slide, DAMAGED when it
    knows the file and cannot open it."""

    def __init__(
        self,
        path: Path,
        *,
        scratch: Path | None = None,
        mpp: float | None = None,
        reason: str | None = None,
        gave_up: bool = False,
    ) -> None:
        self._path = path
        self._scratch = scratch
        self._cache = OpenSlideCache(CACHE)
        self._local = threading.local()  #: one handle a thread: an error in one spoils that handle for good
        self._handles: list[OpenSlide] = []
        self._lock = threading.Lock()
        try:
            handle = self._handle()
        except OpenSlideUnsupportedFormatError as error:
            self.close()
            raise SlideRejected(
                RejectReason.UNSUPPORTED_FORMAT,
                "The file holds no whole-slide image that can be read: send the file that the scanner wrote.",
            ) from error
        except OpenSlideError as error:
            self.close()
            raise SlideRejected(RejectReason.DAMAGED, f"The slide cannot be opened: {self._words(error)}.") from error
        try:
            beside = read_own(FileSource(path), handle.dimensions) if path.is_file() else None
            self._inspection = _inspection(handle, mpp, reason, gave_up, beside)
        except SlideRejected:
            self.close()
            raise

    @property
    def inspection(self) -> Inspection:
        return self._inspection

    def add_warnings(self, warnings: tuple[str, ...]) -> None:
        """Add warnings about the slide's other files, which OpenSlide did not open."""
        self._inspection = replace(self._inspection, warnings=(*self._inspection.warnings, *warnings))

    def sort_tiles(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.sort(tiles)

    def read_runs(self, level: int, tiles: NDArray[np.int64]) -> Iterator[EncodedTiles]:
        yield EncodedTiles.with_no_bytes(level, np.sort(tiles))

    def read_tiles(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        return (EncodedTile(level, tile, ()) for tile in sorted(tiles))

    def find_decoding(self, level: int) -> None:
        return None

    def decode(self, tile: EncodedTile, reduction: Reduction = 1, fill: int = WHITE) -> RGB:
        """Return [512, 512, 3] at reduction 1; `fill` past the level's edge and where nothing was scanned."""
        info = self._inspection.levels[tile.level]
        row, column = divmod(tile.index, -(-info.width // TILE))
        corner = (round(column * TILE * info.downsample), round(row * TILE * info.downsample))
        try:
            region = np.asarray(self._handle().read_region(corner, tile.level, (TILE, TILE)))
        except OpenSlideError as error:
            self._drop_handle()
            raise TileUnreadable(self._words(error)) from error
        return reduce_pixels(to_rgb(region, Colour.RGB, Extra.UNASSOCIATED, fill), reduction)

    def reduces(self, level: int) -> bool:
        return False

    def estimate_level_bytes(self, level: int) -> int:
        info = self._inspection.levels[level]
        return info.width * info.height // 4  # As scanners write them: a quarter of a byte a pixel.

    def map_duplicates(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return tiles

    def serialize_index(self) -> None:
        return None

    def close(self) -> None:
        with self._lock:
            for handle in self._handles:
                handle.close()
            self._handles.clear()
        if self._scratch is not None:
            remove_copy(self._scratch)

    def _handle(self) -> OpenSlide:
        handle: OpenSlide | None = getattr(self._local, "handle", None)
        if handle is None:
            handle = OpenSlide(str(self._path))
            handle.set_cache(self._cache)
            self._local.handle = handle
            with self._lock:
                self._handles.append(handle)
        return handle

    def _drop_handle(self) -> None:
        """Close this thread's handle. One that failed once fails for ever; the next read opens another."""
        handle: OpenSlide = self._local.handle
        self._local.handle = None
        with self._lock:
            self._handles.remove(handle)
        handle.close()

    def _words(self, error: OpenSlideError) -> str:
        """Return OpenSlide's own message without the file's name, which may name a patient."""
        words = re.sub(re.escape(str(self._path.parent)) + r"/[^:]*", "the file", str(error))
        for name in (self._path.name, self._path.stem):
            if len(name) > 3:  # Shorter ones name nobody, and would tear words apart.
                words = words.replace(name, "the file")
        return words.strip().rstrip(".") or "OpenSlide gives no reason"


def _inspection(
    slide: OpenSlide, override: float | None, reason: str | None, gave_up: bool, beside: OwnReading | None
) -> Inspection:
    """Return the inspection. Raises SlideRejected UNSUPPORTED_FORMAT if OpenSlide shows another image than the
    slide."""
    vendor = slide.properties.get(openslide.PROPERTY_NAME_VENDOR, "openslide")
    if gave_up and beside is not None and beside.chosen not in (None, slide.dimensions):
        raise SlideRejected(
            RejectReason.UNSUPPORTED_FORMAT,
            "OpenSlide shows another image of the file than the slide: export the slide as a tiled pyramidal TIFF.",
        )
    mpp = _mpp(vendor, slide.properties, beside)
    levels = tuple(
        LevelInfo(width=width, height=height, downsample=downsample, tile_width=TILE, tile_height=TILE)
        for (width, height), downsample in zip(slide.level_dimensions, slide.level_downsamples, strict=True)
    )
    inspection = Inspection(
        format=FORMATS.get(vendor, vendor),
        reading_path="scratch",
        path_reason=reason,
        bounds=_bounds(slide),
        vendor=vendor,
        width=levels[0].width,
        height=levels[0].height,
        levels=levels,
        mpp_x=mpp.x,
        mpp_y=mpp.y,
        mpp_source=mpp.source,
        mpp_conflict=mpp.conflict,
        mpp_unread=mpp.unread,
        warnings=(*mpp.warnings, *_warn_of_losses(reason if gave_up else None, len(levels), beside)),
    )
    return override_mpp(inspection, override)


def _mpp(vendor: str, properties: Mapping[str, str], beside: OwnReading | None) -> Mpp:
    """Return the scale. OpenSlide reads most vendors' own fields; of a generic TIFF it reads the tags alone, and no
    text."""
    stated = _parse_stated_mpp(properties)
    found = resolve((stated, _tiff_resolution(properties)))
    told = stated.x is not None and stated.y is not None
    if beside is None or (told and vendor != "generic-tiff"):
        return found
    return beside.mpp if beside.mpp.x is not None else replace(found, unread=beside.mpp.unread)


def _warn_of_losses(reason: str | None, levels: int, beside: OwnReading | None) -> Iterator[str]:
    if reason is not None:
        yield f"OpenSlide reads this slide, because Tessera's own reader cannot. {reason}"
    if beside is not None and beside.levels > levels:
        yield (
            f"The file holds {beside.levels:,} levels, of which OpenSlide shows {levels:,}: coarse views are computed "
            "from finer levels, which takes longer."
        )


def _parse_stated_mpp(properties: Mapping[str, str]) -> StatedMpp:
    names = (openslide.PROPERTY_NAME_MPP_X, openslide.PROPERTY_NAME_MPP_Y)
    across, down = (parse_openslide_mpp(properties.get(name)) for name in names)
    return StatedMpp("openslide", across, down)


def _tiff_resolution(properties: Mapping[str, str]) -> StatedMpp:
    """Return the resolution of the TIFF's own tags. OpenSlide gives them as well as most vendors' fields."""
    unit = {"inch": 2, "centimeter": 3}.get(properties.get("tiff.ResolutionUnit", "inch"), 1)
    across, down = (
        convert_resolution(parse_number(properties.get(name)), unit)
        for name in ("tiff.XResolution", "tiff.YResolution")
    )
    return StatedMpp("tiff-resolution", across, down)


def _bounds(slide: OpenSlide) -> tuple[int, int, int, int] | None:
    """Return x, y, width, height in level-0 px of the scanned area; None where the format states none, or an impossible
    one."""
    names = (
        openslide.PROPERTY_NAME_BOUNDS_X,
        openslide.PROPERTY_NAME_BOUNDS_Y,
        openslide.PROPERTY_NAME_BOUNDS_WIDTH,
        openslide.PROPERTY_NAME_BOUNDS_HEIGHT,
    )
    try:
        x, y, width, height = (int(slide.properties[name]) for name in names)
    except (KeyError, ValueError):
        return None
    across, down = slide.dimensions
    if not (0 <= x < x + width <= across and 0 <= y < y + height <= down):
        return None
    return x, y, width, height
