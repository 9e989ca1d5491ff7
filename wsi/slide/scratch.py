"""A bounded copy of a slide's files on this disk, for readers that only take paths."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path, PurePosixPath

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.source import SlideSource

PIECE = 8 * 1024**2  #: bytes a request
AT_ONCE = 4  #: pieces asked for together


def copy_to_scratch(source: SlideSource, *, scratch: Path | None, max_bytes: int) -> tuple[Path, Path]:
    """(folder of its own below `scratch`, path of the file to open in it). Raises SlideRejected TOO_LARGE_FOR_FORMAT
    before the first byte is copied, SourceError."""
    if source.size > max_bytes:
        raise SlideRejected(
            RejectReason.TOO_LARGE_FOR_FORMAT,
            f"Slides of this format are read from a copy, up to {max_bytes / 1024**3:.0f} GiB, and this one has "
            f"{source.size / 1024**3:.1f}: convert it to a tiled TIFF or SVS.",
        )
    folder = Path(tempfile.mkdtemp(prefix="slide-", dir=scratch))
    try:
        for name, file in source.files:
            target = folder / _inside(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy(file, target)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder, folder / _inside(source.files[0][0])


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise SlideRejected(RejectReason.NOT_A_SLIDE, "A file of the slide has a name that leads out of its folder.")
    return path


def _copy(file: RangeSource, target: Path) -> None:
    pieces = [ByteRange(at, min(at + PIECE, file.size)) for at in range(0, file.size, PIECE)]
    with target.open("wb") as out:
        for first in range(0, len(pieces), AT_ONCE):
            for data in file.read_many(pieces[first : first + AT_ONCE]):
                out.write(data)
