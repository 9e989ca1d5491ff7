"""The tissue mask that inspection keeps beside the thumbnail: what plans begin with and dry runs count on. Needs no
numpy: the API reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wsi import keys
from wsi.errors import SourceMissing
from wsi.numerics import PARSER_VERSION, TISSUE_VERSION
from wsi.ports.objects import Objects
from wsi.records.slides import Inspection, Slide
from wsi.slide.mpp import OVERRIDE, overridden

_MAGIC: Final = b"tessera-mask-"
_VERSION: Final = str(PARSER_VERSION).encode()

FileVersion = tuple[str | None, int]  #: ETag, bytes


@dataclass(frozen=True, slots=True)
class StoredMask:
    inspection: Inspection  #: as the slide was examined
    mask: Mapping[str, Any]  #: `SlideMask.as_json()`
    current: bool = True  #: made by this version of the code; planning takes no other, and a dry run counts on it still

    def holds_for(self, mpp: float | None) -> bool:
        """Whether a plan with these microns per pixel (None: what the file says) would find the same mask: tissue is
        looked for at a scale, by rules that change from version to version."""
        stated = self.inspection.mpp_source == OVERRIDE
        same = overridden(self.inspection, mpp) == self.inspection and stated == (mpp is not None)
        return self.current and same

    def to_bytes(self, files: Sequence[FileVersion]) -> bytes:
        """`files`: what was examined."""
        value = {"files": files, "inspection": self.inspection.as_json(), "mask": self.mask}
        return _MAGIC + _VERSION + b"\n" + json.dumps(value).encode()

    @staticmethod
    def from_bytes(data: bytes, files: Sequence[FileVersion]) -> StoredMask | None:
        """None for what is no mask, and for other files."""
        if not data.startswith(_MAGIC):
            return None
        version, _, text = data.removeprefix(_MAGIC).partition(b"\n")
        value: dict[str, Any] = json.loads(text)
        if [tuple(file) for file in value["files"]] != list(files):
            return None
        current = version == _VERSION and dict(value["mask"]["settings"]).get("version") == TISSUE_VERSION
        return StoredMask(Inspection.from_json(value["inspection"]), value["mask"], current)


def stored_mask(objects: Objects, slide: Slide, files: Sequence[FileVersion] | None = None) -> StoredMask | None:
    """None when nothing is stored, or what is stored is of other files than `files` (those of the record unless
    given)."""
    folder = keys.inspected_for(slide.thumbnail_key)
    if folder is None:
        return None
    try:
        data = objects.get(keys.tissue_mask(folder))
    except SourceMissing:
        return None
    return StoredMask.from_bytes(data, [(file.etag, file.size) for file in slide.files] if files is None else files)
