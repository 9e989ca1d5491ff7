"""Rules for uploads: names, sizes and part numbers, checked before any request to S3. Pure.

Messages name files by their number, never by their name: a name can identify a patient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from wsi.digests import PART_SIZE
from wsi.errors import Conflict, Invalid, NotFound
from wsi.ports.objects import StoredObject, UploadedPart
from wsi.texts import holds_control

#: A DICOM series of one slide stays below 1,000. Each file is a request to S3, and the gateway waits for 29 s.
MAX_FILES = 2_000
MAX_PARTS_A_FILE = 10_000  #: S3's limit; at 16 MiB it is 156 GiB
MAX_PARTS_A_CALL = 100  #: keeps the answer far below API Gateway's 10 MB
_LONGEST_NAME = 1024  #: characters, folders included
_LONGEST_SEGMENT = 255  #: bytes; OpenSlide reads from a disk, whose file systems take no longer names
_SAID_NUMBERS = 20
_NAME_THEIR_SLIDE = frozenset({".mrxs", ".vms", ".vmu"})  #: files that are opened, among others that they refer to


@dataclass(frozen=True, kw_only=True, slots=True)
class NewFile:
    name: str  #: with its folder for a series. PHI
    size: int  #: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class PartAsked:
    file: int  #: 0-based
    n: int  #: 1-based
    size: int  #: bytes
    sha256: str  #: hex


def choose_display_name(names: Sequence[str]) -> str:
    """Return the name by which lists show a slide of these files, the opened one first. For a series it is the folder
    that holds them all, as the files of a DICOM series are numbered or named by UIDs; else it is the first file's name
    without its folder."""
    folder, _, name = names[0].rpartition("/")
    is_series = len(names) > 1 and PurePosixPath(name).suffix.lower() not in _NAME_THEIR_SLIDE
    holds_all = folder and all(other.startswith(f"{folder}/") for other in names)
    return folder.rpartition("/")[2] if is_series and holds_all else name


def count_parts(size: int) -> int:
    return math.ceil(size / PART_SIZE)


def compute_part_size(size: int, n: int) -> int:
    """Return the size in bytes of part `n` (1-based) of a file of `size` bytes."""
    return min(PART_SIZE, size - (n - 1) * PART_SIZE)


def check_files(files: Sequence[NewFile]) -> None:
    if not 1 <= len(files) <= MAX_FILES:
        raise Invalid(f"A slide has 1 to {MAX_FILES:,} files; this request names {len(files):,}.")
    for number, file in enumerate(files):
        segments = file.name.split("/")
        if len(file.name) > _LONGEST_NAME or holds_control(file.name) or not all(s.strip() for s in segments):
            raise Invalid(f"The name of file number {number} is empty, too long or holds control characters.")
        if "\\" in file.name or any(segment in (".", "..") for segment in segments):
            raise Invalid(f"The name of file number {number} must be relative and use forward slashes, without '..'.")
        if any(len(segment.encode()) > _LONGEST_SEGMENT for segment in segments):
            raise Invalid(f"The name of file number {number} has more than {_LONGEST_SEGMENT} bytes between slashes.")
        if not 0 < file.size <= MAX_PARTS_A_FILE * PART_SIZE:
            raise Invalid(f"File number {number} has {file.size:,} bytes; a file has 1 byte to 156 GiB.")
    names = {file.name for file in files}
    if len(names) < len(files):
        raise Invalid("Two files of the slide have the same name.")
    if any(str(folder) in names for name in names for folder in PurePosixPath(name).parents):
        raise Invalid("One file of the slide has the name of another one's folder.")


def check_part(sizes: Sequence[int], part: PartAsked) -> None:
    """Raise NotFound or Invalid unless the part is one of files of these sizes."""
    if not 0 <= part.file < len(sizes):
        raise NotFound(f"The upload has no file number {part.file}; its files are numbered from 0.")
    size = sizes[part.file]
    count = count_parts(size)
    if not 1 <= part.n <= count:
        raise Invalid(f"File number {part.file} has parts 1 to {count}; there is no part {part.n}.")
    expected = compute_part_size(size, part.n)
    if part.size != expected:
        raise Invalid(f"Part {part.n} of file number {part.file} must have {expected:,} bytes, not {part.size:,}.")


def check_whole(number: int, size: int, stored: tuple[UploadedPart, ...] | StoredObject) -> None:
    if isinstance(stored, StoredObject):
        if stored.size != size or stored.sha256 is None:
            raise Conflict(f"File number {number} is not what was announced. Abort this upload and start a new one.")
        return
    sizes = {part.n: part.size for part in stored}
    count = count_parts(size)
    missing = [n for n in range(1, count + 1) if n not in sizes]
    if missing:
        raise Conflict(f"File number {number} lacks {len(missing)} of its {count} parts: {_describe_numbers(missing)}.")
    wrong = [n for n, held in sizes.items() if n > count or held != compute_part_size(size, n)]
    if wrong:
        raise Conflict(
            f"File number {number} has parts of a wrong size: {_describe_numbers(wrong)}. Upload them again."
        )


def _describe_numbers(numbers: Sequence[int]) -> str:
    said = ", ".join(map(str, numbers[:_SAID_NUMBERS]))
    more = len(numbers) - _SAID_NUMBERS
    return f"{said} and {more:,} more" if more > 0 else said
