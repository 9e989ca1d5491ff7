"""The parts of an inspection that are stored for planning: the parsed index, and the tissue mask with the facts. With
both, a plan reads no byte of the slide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from wsi import keys
from wsi.errors import SourceChanged, SourceMissing, TileUnreadable
from wsi.inspection.examination import Examination
from wsi.inspection.stored_mask import FileVersion, StoredMask, find_stored_mask
from wsi.inspection.tissue import SETTINGS
from wsi.ports.objects import Objects, SlideStore
from wsi.records.slides import Inspection, Slide
from wsi.slide.coding import Reduction
from wsi.slide.encoded import EncodedTiles
from wsi.slide.files.source import SlideSource
from wsi.slide.slide import RGB, WHITE, EncodedTile, SlideReader


def store_examination(
    objects: Objects, folder: str, source: SlideSource, reader: SlideReader, examination: Examination
) -> None:
    """Store the index and the tissue mask next to the thumbnail, in the `folder` of the inspection. Idempotent."""
    index = reader.serialize_index()
    if index is not None:
        objects.put(keys.of_slide_index(folder), index)
    stored = StoredMask(examination.inspection, examination.mask)
    objects.put(keys.of_tissue_mask(folder), stored.to_bytes(_versions(source)), media_type="application/json")


def open_slide_source(slide: Slide, slides: SlideStore) -> SlideSource:
    """Return the slide's files as its record names them, in the versions that were registered or uploaded. Raises
    SourceOutside if one of them is neither an upload of the slide's tenant nor in its sources."""
    return SlideSource(
        files=tuple((file.name, slides.open(file.uri, tenant=slide.tenant, etag=file.etag)) for file in slide.files)
    )


def open_indexed(objects: Objects, slide: Slide, opened: Callable[..., SlideReader]) -> SlideReader:
    """Return `opened(index=…)` with the stored index, or `opened()` if that index is of other files than the slide's.
    In that case nothing was requested of the slide before."""
    try:
        return opened(index=find_stored_index(objects, slide))
    except SourceChanged:
        return opened()


def find_stored_index(objects: Objects, slide: Slide) -> bytes | None:
    folder = keys.find_inspection_folder(slide.thumbnail_key)
    try:
        return None if folder is None else objects.get(keys.of_slide_index(folder))
    except SourceMissing:
        return None


def find_stored_examination(
    objects: Objects, slide: Slide, source: SlideSource, mpp: float | None
) -> Examination | None:
    """Return the examination that `examine` would make with `mpp` (None: what the file says), without its overview.
    Return None if nothing is stored, or if it is of other files, of another version of this code or for other microns
    per pixel."""
    stored = find_stored_mask(objects, slide, _versions(source))
    if stored is None or not stored.holds_for(mpp):
        return None
    return Examination(stored.inspection, b"", stored.mask) if stored.mask.settings == dict(SETTINGS) else None


class UnreadSlide:
    """A slide reader that reads no pixels: a slide that only OpenSlide reads is not copied for a plan."""

    def __init__(self, inspection: Inspection) -> None:
        self.inspection = inspection

    def sort_tiles(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return tiles

    def read_runs(self, level: int, tiles: NDArray[np.int64]) -> Iterator[EncodedTiles]:
        yield EncodedTiles.with_no_bytes(level, tiles)

    def read_tiles(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        return (EncodedTile(level, tile, ()) for tile in tiles)

    def find_decoding(self, level: int) -> None:
        return None

    def decode(self, tile: EncodedTile, reduction: Reduction = 1, fill: int = WHITE) -> RGB:
        raise TileUnreadable("was not fetched")

    def reduces(self, level: int) -> bool:
        return False

    def estimate_level_bytes(self, level: int) -> int:
        return 0

    def map_duplicates(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        return tiles

    def serialize_index(self) -> None:
        return None

    def close(self) -> None:
        """Close nothing: no file is open."""


def _versions(source: SlideSource) -> list[FileVersion]:
    return [(file.etag, file.size) for _, file in source.files]
