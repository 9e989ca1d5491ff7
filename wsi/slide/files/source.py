"""The files of one slide, as the reader takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from wsi.slide.ranges import RangeSource


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideSource:
    """All files that came together, in any order. `wsi.slide.files.choosing.find_slide` decides which one is opened."""

    files: tuple[tuple[str, RangeSource], ...]  #: relative name and bytes
    local_path: Path | None = None  #: set when the files are already on this disk under their own names

    @property
    def size(self) -> int:
        return sum(source.size for _, source in self.files)


def put_first(source: SlideSource, number: int) -> SlideSource:
    """Return the same slide with file `number` first, for readers that start from one path."""
    if number == 0:
        return source
    files = (source.files[number], *source.files[:number], *source.files[number + 1 :])
    path = source.local_path
    if path is not None:
        root = path.parents[len(PurePosixPath(source.files[0][0]).parts) - 1]
        path = root / files[0][0]
    return replace(source, files=files, local_path=path)
