"""The files of one slide, as the reader takes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wsi.slide.ranges import RangeSource


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideSource:
    """`files[0]` is the one that is opened; the others are its siblings (MRXS data, DICOM series)."""

    files: tuple[tuple[str, RangeSource], ...]  #: relative name and bytes
    local_path: Path | None = None  #: set when the files already lie on this disk under their own names

    @property
    def size(self) -> int:
        return sum(source.size for _, source in self.files)
