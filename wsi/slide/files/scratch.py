"""A bounded copy of a slide's files on this disk, for readers that only take paths."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from wsi.errors import RejectReason, SlideRejected, SourceUnavailable
from wsi.file_names import is_file_name
from wsi.folder_lock import FolderLock, lock_folder
from wsi.slide.files.source import SlideSource
from wsi.slide.ranges import ByteRange, RangeSource

PIECE = 2 * 1024**2  #: bytes a request; 16 of them fill the 32 MiB that a process may have in flight
SPARE = 64 * 1024**2  #: bytes of the disk that a copy leaves to others
MAX_SCRATCH = 8 * 1024**3  #: bytes; a slide above it must have an index of ours

_PREFIX: Final = "tessera-slide-"
_SETTLED: Final = 60.0  #: s; a younger copy may not have its lock yet
_LOCKS: Final[dict[Path, FolderLock]] = {}  #: by copy, until it is removed

OnCopy = Callable[[int, int], None]  #: (bytes copied, bytes in all), after each piece; what it raises ends the copy


@dataclass(frozen=True, slots=True)
class ScratchSpace:
    """The space for copies of remote slides that only OpenSlide reads."""

    folder: Path | None = None  #: made if it is missing; None: the system's folder for temporary files
    max_bytes: int = MAX_SCRATCH  #: of one slide
    on_copy: OnCopy | None = None  #: follows the copy


DEFAULT_SCRATCH: Final = ScratchSpace()
NO_COPIES: Final = ScratchSpace(max_bytes=0)  #: a slide that needs a copy is refused as TOO_LARGE_FOR_FORMAT


def copy_to_scratch(source: SlideSource, scratch: ScratchSpace) -> tuple[Path, Path]:
    """Copy the slide's files. Return (folder of its own below `scratch.folder`, path of the file to open in it); an
    error leaves nothing behind. Raises SlideRejected TOO_LARGE_FOR_FORMAT and SourceUnavailable (no room on the disk)
    before the first byte is copied, SourceError."""
    total = source.size
    if total > scratch.max_bytes:
        raise SlideRejected(
            RejectReason.TOO_LARGE_FOR_FORMAT,
            f"Slides of this format are read from a copy, up to {_gib(scratch.max_bytes)} GiB, and this one has "
            f"{_gib(total)}: convert it to a tiled TIFF or SVS.",
        )
    names = [_inside(name) for name, _ in source.files]
    parent = scratch.folder or Path(tempfile.gettempdir())
    parent.mkdir(parents=True, exist_ok=True)
    _remove_orphans(parent)
    _check_room(parent, total)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    _lock(folder)
    done = 0
    try:
        for name, (_, file) in zip(names, source.files, strict=True):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as out:
                for data in file.read_many(_pieces(file)):
                    out.write(data)
                    done += len(data)
                    if scratch.on_copy is not None:
                        scratch.on_copy(done, total)
    except BaseException:
        remove_copy(folder)
        raise
    return folder, folder / names[0]


def remove_copy(folder: Path) -> None:
    """Remove a copy and its lock. Idempotent."""
    lock = _LOCKS.pop(folder, None)
    if lock is not None:
        lock.release()  # Windows removes no open file
    shutil.rmtree(folder, ignore_errors=True)


def throttle_to_tenths(tell: OnCopy) -> OnCopy:
    """Return a callback that calls `tell` at each tenth of the copy, for logs."""
    told = 0

    def on_copy(done: int, total: int) -> None:
        nonlocal told
        tenths = 10 * done // max(total, 1)
        if tenths > told:
            told = tenths
            tell(done, total)

    return on_copy


def _lock(folder: Path) -> None:
    with suppress(OSError):  # a file system without locks: nobody removes the copies of others there
        lock = lock_folder(folder)
        if lock is not None:
            _LOCKS[folder] = lock


def _remove_orphans(parent: Path) -> None:
    """Remove the copies of processes that were killed: a pod keeps its disk when its container restarts. A living
    process holds a lock on each of its copies."""
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            if time.time() - folder.stat().st_mtime < _SETTLED:
                continue
            lock = lock_folder(folder)
        except OSError:  # just removed, of another user, or on a file system without locks
            continue
        if lock is not None:
            lock.release()
            shutil.rmtree(folder, ignore_errors=True)


def _check_room(parent: Path, size: int) -> None:
    free = shutil.disk_usage(parent).free
    if size + SPARE > free:
        raise SourceUnavailable(
            f"The slide is read from a copy of {_gib(size)} GiB, and the disk for copies has {_gib(free)} GiB free: "
            "make room there, then try again."
        )


def _inside(name: str) -> PurePosixPath:
    if not all(is_file_name(segment, on_windows=os.name == "nt") for segment in name.split("/")):
        raise SlideRejected(RejectReason.NOT_A_SLIDE, "A file of the slide has a name that leads out of its folder.")
    return PurePosixPath(name)


def _pieces(file: RangeSource) -> list[ByteRange]:
    return [ByteRange(at, min(at + PIECE, file.size)) for at in range(0, file.size, PIECE)]


def _gib(size: int) -> str:
    return f"{size / 1024**3:,.3g}"
