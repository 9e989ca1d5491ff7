"""All files of a folder and of those below it, each real folder once.

Links to folders are followed after the folders themselves, so that a file is known by its own path where it has one.
A link to a folder that holds the link, and a folder that was searched already, are reported instead.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from tessera.local_run.inputs.kinds import is_system_folder
from tessera.local_run.inputs.listing import FileEntry, Trouble
from tessera.local_run.inputs.local_paths import resolve_path, with_slashes
from tessera.local_run.inputs.slide_input import LeftOut, LeftOutReason, UsageError

OWN = ".tessera"  #: our own working folders; they are not part of anybody's input
ZARR = ".zarr"  #: an image as a folder of thousands of files

HIDDEN = "Hidden and system folders are not searched."
_ABOVE = "The link leads to a folder that holds it, and is not followed."
_AGAIN = "The folder was searched already, by another name."
ZARRS = "OME-Zarr is not read: export the slide as SVS, OME-TIFF or DICOM."


@dataclass(frozen=True, slots=True)
class Listed:
    """One folder."""

    files: list[FileEntry]
    folders: list[tuple[str, str, bool]]  #: path, path behind all links, whether it is a link itself


def list_folder(path: str, real: str, *, linked: bool = False) -> Listed:
    """Return the files and folders in a folder, sorted by name. Raises OSError."""
    with os.scandir(path) as entries:
        below = sorted(entries, key=lambda entry: entry.name)
    found = Listed([], [])
    for entry in below:
        is_link = entry.is_symlink()
        location = with_slashes(entry.path)
        behind = resolve_path(location) if is_link else f"{real.rstrip('/')}/{entry.name}"
        if is_folder(location):
            found.folders.append((location, behind, is_link))
        else:
            found.files.append(read_entry(location, behind, is_linked=linked or is_link))
    return found


def read_entry(path: str, real: str | None = None, *, is_linked: bool = False) -> FileEntry:
    """Return the entry of one file, also of a link that leads nowhere."""
    real = real or resolve_path(path)
    try:
        facts = os.stat(path)  # noqa: PTH116
    except OSError:  # also links in a circle
        return FileEntry(location=path, size=0, stamp="", real=path, trouble=Trouble.BROKEN_LINK, is_linked=True)
    stamp = str(facts.st_mtime_ns)
    if not stat.S_ISREG(facts.st_mode):
        return FileEntry(location=path, size=0, stamp=stamp, real=real, trouble=Trouble.NOT_A_FILE, is_linked=is_linked)
    return FileEntry(location=path, size=facts.st_size, stamp=stamp, real=real, is_linked=is_linked)


def is_folder(path: str) -> bool:
    """Return False, where pathlib raises, for links in a circle and below folders that may not be searched."""
    return os.path.isdir(path)  # noqa: PTH112


class Walk:
    """One search of one or several folders. Real folders are searched once, in all calls together."""

    def __init__(self, skip: Path | None = None) -> None:
        """`skip` is a folder that is not searched: the one for results."""
        self._skip = resolve_path(skip) if skip is not None else None
        self._seen: set[str] = set()
        self.met_again = False  #: the last search came to a folder that an earlier one had searched
        self.left_out: list[LeftOut] = []

    def list_files(self, folder: str) -> list[FileEntry]:
        """Return the files of `folder` and below, sorted by their paths, and note the folders that were left out.
        Raises UsageError when `folder` itself cannot be read."""
        found: list[FileEntry] = []
        real, earlier = resolve_path(folder), frozenset(self._seen)
        self.met_again = False
        folders, links = deque([(folder, real, False)]), deque[tuple[str, str]]()
        while folders or links:
            if folders:
                path, real, linked = folders.popleft()
            else:
                path, real = links.popleft()
                linked = True
                if self._is_left_out_link(path, real):
                    continue
            self.met_again |= real in earlier
            if real in self._seen:
                continue
            self._seen.add(real)
            try:
                entries = list_folder(path, real, linked=linked)
            except OSError as error:
                if path == folder:
                    raise UsageError(f"The folder {path} cannot be read: {error.strerror}") from error
                self._leave_out(path, LeftOutReason.UNREADABLE, f"The folder cannot be read: {error.strerror}.")
                continue
            found += entries.files
            for below, target, is_link in entries.folders:
                if self._is_searched(below, target):
                    links.append((below, target)) if is_link else folders.append((below, target, linked))
        return sorted(found, key=lambda entry: entry.location)

    def has_searched(self, real: str) -> bool:
        """Return whether the files of a folder were listed. `real` is its path behind all links."""
        return real in self._seen

    def _is_searched(self, path: str, real: str) -> bool:
        name = path.rpartition("/")[2]
        if name.startswith(OWN):
            return False
        if real == self._skip:
            return False
        if is_system_folder(name):
            self._leave_out(path, LeftOutReason.NOT_SEARCHED, HIDDEN)
            return False
        if name.lower().endswith(ZARR):
            self._leave_out(path, LeftOutReason.UNSUPPORTED_FORMAT, ZARRS)
            return False
        return True

    def _is_left_out_link(self, path: str, real: str) -> bool:
        holder = resolve_path(path.rpartition("/")[0])
        if holder == real or holder.startswith(real.rstrip("/") + "/"):
            self._leave_out(path, LeftOutReason.NOT_SEARCHED, _ABOVE)
            return True
        if real in self._seen:
            self._leave_out(path, LeftOutReason.NOT_SEARCHED, _AGAIN)
            return True
        return False

    def _leave_out(self, path: str, reason: LeftOutReason, sentence: str) -> None:
        self.left_out.append(LeftOut(location=f"{path}/", reason=reason, sentence=sentence, files=0))
