"""What inspection keeps of a slide for planning: the parsed index, and the tissue mask with the facts. With both a
plan asks the slide for no byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from wsi import keys
from wsi.errors import SourceMissing, TileUnreadable
from wsi.examination import Examination
from wsi.mask import SlideMask
from wsi.ports.objects import Objects
from wsi.records.slides import Inspection, Slide
from wsi.slide.coding import Reduction
from wsi.slide.encoded import EncodedTiles
from wsi.slide.slide import RGB, WHITE, EncodedTile, SlideReader
from wsi.slide.source import SlideSource
from wsi.stored_mask import FileVersion, StoredMask, stored_mask
from wsi.tissue import SETTINGS


def store_examination(
    objects: Objects, folder: str, source: SlideSource, reader: SlideReader, examination: Examination
) -> None:
    """Beside the thumbnail, in the `folder` of the inspection. Twice the same is the same."""
    index = reader.index_bytes()
    if index is not None:
        objects.put(keys.slide_index(folder), index)
    stored = StoredMask(examination.inspection, examination.mask.as_json())
    objects.put(keys.tissue_mask(folder), stored.to_bytes(_versions(source)), media_type="application/json")


def stored_index(objects: Objects, slide: Slide) -> bytes | None:
    folder = keys.inspected_for(slide.thumbnail_key)
    try:
        return None if folder is None else objects.get(keys.slide_index(folder))
    except SourceMissing:
        return None


def stored_examination(objects: Objects, slide: Slide, source: SlideSource, mpp: float | None) -> Examination | None:
    """As `examine` would find it with `mpp` (None: what the file says). None when nothing is stored, or what is stored
    is of other files, of another version of this code or for other microns per pixel."""
    stored = stored_mask(objects, slide, _versions(source))
    if stored is None or not stored.holds_for(mpp):
        return None
    mask = SlideMask.from_json(stored.mask)
    return Examination(stored.inspection, b"", mask) if mask.settings == dict(SETTINGS) else None


class UnreadSlide:
    """The reader of a slide of which nothing more is read: what only OpenSlide reads is not copied for a plan."""

    def __init__(self, inspection: Inspection) -> None:
        self.inspection = inspection

    def ordered(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return tiles

    def runs(self, level: int, tiles: NDArray[np.int64]) -> Iterator[EncodedTiles]:
        yield EncodedTiles.without_bytes(level, tiles)

    def encoded(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        return (EncodedTile(level, tile, ()) for tile in tiles)

    def decoding(self, level: int) -> None:
        return None

    def decode(self, tile: EncodedTile, reduction: Reduction = 1, fill: int = WHITE) -> RGB:
        raise TileUnreadable("was not fetched")

    def reduces(self, level: int) -> bool:
        return False

    def level_bytes(self, level: int) -> int:
        return 0

    def same_bytes(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return tiles

    def index_bytes(self) -> None:
        return None

    def close(self) -> None:
        """Nothing is open."""


def _versions(source: SlideSource) -> list[FileVersion]:
    return [(file.etag, file.size) for _, file in source.files]
