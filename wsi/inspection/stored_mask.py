"""The tissue mask that inspection stores next to the thumbnail. Plans begin with it and dry runs count on it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wsi import keys
from wsi.errors import SourceMissing
from wsi.inspection.mask import SlideMask
from wsi.numerics import PARSER_VERSION, TISSUE_VERSION
from wsi.ports.objects import Objects
from wsi.records.slides import Inspection, Slide
from wsi.slide.mpp import OVERRIDE, override_mpp

_MAGIC: Final = b"tessera-mask-"
_VERSION: Final = str(PARSER_VERSION).encode()

FileVersion = tuple[str | None, int]  #: ETag, bytes


@dataclass(frozen=True, slots=True)
class StoredMask:
    inspection: Inspection  #: as the slide was examined
    mask: SlideMask
    current: bool = True  #: made by this version of the code; planning takes no other, and a dry run counts on it still

    def holds_for(self, mpp: float | None) -> bool:
        """Return whether a plan with these microns per pixel (None: what the file says) would find the same mask:
        tissue is detected at a scale, by rules that change from version to version."""
        stated = self.inspection.mpp_source == OVERRIDE
        same = override_mpp(self.inspection, mpp) == self.inspection and stated == (mpp is not None)
        return self.current and same

    def to_bytes(self, files: Sequence[FileVersion]) -> bytes:
        """Return the mask as it is stored; `files` are those that were examined."""
        value = {"files": files, "inspection": self.inspection.as_json(), "mask": self.mask.as_json()}
        return _MAGIC + _VERSION + b"\n" + json.dumps(value).encode()

    @staticmethod
    def from_bytes(data: bytes, files: Sequence[FileVersion]) -> StoredMask | None:
        """Return the mask, or None for data that hold no mask, or one of other files."""
        if not data.startswith(_MAGIC):
            return None
        version, _, text = data.removeprefix(_MAGIC).partition(b"\n")
        value: dict[str, Any] = json.loads(text)
        if [tuple(file) for file in value["files"]] != list(files):
            return None
        mask = SlideMask.from_json(value["mask"])
        current = version == _VERSION and mask.settings.get("version") == TISSUE_VERSION
        return StoredMask(Inspection.from_json(value["inspection"]), mask, current)


def rename_versions(data: bytes, renames: Sequence[Mapping[str | None, str | None]]) -> bytes | None:
    """Return a stored mask with the ETags of its files replaced, by each file's own table; None for data that hold no
    mask, or one of other files. The version of the code that made it stays."""
    if not data.startswith(_MAGIC):
        return None
    head, _, text = data.partition(b"\n")
    value: dict[str, Any] = json.loads(text)
    files: list[FileVersion] = [(etag, size) for etag, size in value["files"]]
    if len(files) != len(renames) or any(etag not in new for (etag, _), new in zip(files, renames, strict=True)):
        return None
    value["files"] = [(new[etag], size) for (etag, size), new in zip(files, renames, strict=True)]
    return head + b"\n" + json.dumps(value).encode()


def find_stored_mask(objects: Objects, slide: Slide, files: Sequence[FileVersion] | None = None) -> StoredMask | None:
    """Return the mask that inspection stored. Return None if nothing is stored, or if it is of other files than `files`
    (those of the record unless given)."""
    folder = keys.find_inspection_folder(slide.thumbnail_key)
    if folder is None:
        return None
    try:
        data = objects.get(keys.of_tissue_mask(folder))
    except SourceMissing:
        return None
    return StoredMask.from_bytes(data, [(file.etag, file.size) for file in slide.files] if files is None else files)
