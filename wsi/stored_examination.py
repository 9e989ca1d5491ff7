"""What inspection keeps of a slide for planning: the parsed index, and the tissue mask with the facts. With both a
plan asks the slide for no byte."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from wsi import keys
from wsi.errors import SourceMissing, TileUnreadable
from wsi.examination import Examination
from wsi.mask import SlideMask
from wsi.ports.objects import Objects
from wsi.records.slides import Inspection, Slide
from wsi.slide.coding import Reduction
from wsi.slide.index import PARSER_VERSION
from wsi.slide.mpp import OVERRIDE, overridden
from wsi.slide.slide import RGB, WHITE, EncodedTile, SlideReader
from wsi.slide.source import SlideSource
from wsi.tissue import SETTINGS

#: With the settings of tissue detection, which hold its version, inside: masks of others are not read.
_MAGIC: Final = f"tessera-mask-{PARSER_VERSION}\n".encode()


def store_examination(
    objects: Objects, slide: Slide, source: SlideSource, reader: SlideReader, examination: Examination
) -> None:
    """Beside the thumbnail. Twice the same is the same."""
    index = reader.index_bytes()
    if index is not None:
        objects.put(keys.slide_index(slide.tenant, slide.id), index)
    objects.put(keys.tissue_mask(slide.tenant, slide.id), to_bytes(examination, source), media_type="application/json")


def stored_index(objects: Objects, slide: Slide) -> bytes | None:
    return _stored(objects, keys.slide_index(slide.tenant, slide.id))


def stored_examination(objects: Objects, slide: Slide, source: SlideSource, mpp: float | None) -> Examination | None:
    """As `examine` would find it with `mpp` (None: what the file says). None when nothing is stored, or what is stored
    is of other files, of another version of this code or for other microns per pixel."""
    data = _stored(objects, keys.tissue_mask(slide.tenant, slide.id))
    found = from_bytes(data, source) if data is not None else None
    if found is None:
        return None
    stated = found.inspection.mpp_source == OVERRIDE
    same = overridden(found.inspection, mpp) == found.inspection and stated == (mpp is not None)
    return found if same else None


def to_bytes(examination: Examination, source: SlideSource) -> bytes:
    """Without the thumbnail, which is an object of its own."""
    value = {
        "files": _versions(source),
        "inspection": examination.inspection.as_json(),
        "mask": examination.mask.as_json(),
    }
    return _MAGIC + json.dumps(value).encode()


def from_bytes(data: bytes, source: SlideSource) -> Examination | None:
    """None when another version of this code wrote it, or for files of other sizes or ETags."""
    if not data.startswith(_MAGIC):
        return None
    value: dict[str, Any] = json.loads(data[len(_MAGIC) :])
    mask = SlideMask.from_json(value["mask"])
    if value["files"] != _versions(source) or mask.settings != dict(SETTINGS):
        return None
    return Examination(Inspection.from_json(value["inspection"]), b"", mask)


class UnreadSlide:
    """The reader of a slide of which nothing more is read: what only OpenSlide reads is not copied for a plan."""

    def __init__(self, inspection: Inspection) -> None:
        self.inspection = inspection

    def encoded(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        return (EncodedTile(level, tile, ()) for tile in tiles)

    def decode(self, tile: EncodedTile, reduction: Reduction = 1, fill: int = WHITE) -> RGB:
        raise TileUnreadable("was not fetched")

    def reduces(self, level: int) -> bool:
        return False

    def index_bytes(self) -> None:
        return None

    def close(self) -> None:
        """Nothing is open."""


def _versions(source: SlideSource) -> list[list[str | int]]:
    return [[file.etag, file.size] for _, file in source.files]


def _stored(objects: Objects, key: str) -> bytes | None:
    try:
        return objects.get(key)
    except SourceMissing:
        return None
