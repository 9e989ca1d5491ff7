"""A file that is there twice is one file: by another link, or as a copy with the same bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest
from pathlib import Path

from client.inputs.grouping import Group, duplicate
from client.inputs.listing import FileEntry
from client.inputs.slide_input import LeftOut

_END = 65_536  #: bytes; slides of one size differ in their first tile or in their directory at the end
_PART = 1024**2  #: bytes


def each_file_once(entries: Iterable[FileEntry], named: Collection[str]) -> tuple[list[FileEntry], list[LeftOut]]:
    """Return the entries without those that lead to the file of another one. One that was named stays before one that
    was found, and a file before a link to it."""
    kept: dict[str, FileEntry] = {}
    left_out: list[LeftOut] = []
    for entry in sorted(entries, key=lambda one: (one.location not in named, one.is_linked)):
        first = kept.setdefault(entry.real, entry)
        if first is not entry:
            left_out.append(duplicate(entry.location, first.location, "is the same file as"))
    return list(kept.values()), left_out


def copies(groups: Sequence[Group], named: Collection[str]) -> tuple[list[Group], list[LeftOut]]:
    """Return the slides without copies of another one. Of an object the ETag counts. A file on this disk is compared
    with files of its very size: their ends, and where these are equal, all bytes. A slide that was named stays: who
    lists the cases of a study wants a result for each."""
    by_size: dict[tuple[int, ...], list[Group]] = defaultdict(list)
    kept: list[Group] = []
    left_out: list[LeftOut] = []
    for one in sorted(groups, key=lambda one: (not _is_named(one, named), one.entries[0].is_linked)):
        alike = by_size[tuple(entry.size for entry in one.entries)]
        first = None if _is_named(one, named) else next((other for other in alike if _are_equal(one, other)), None)
        if first is None:
            alike.append(one)
            kept.append(one)
        else:
            left_out += [
                duplicate(entry.location, other.location, "has the same bytes as")
                for entry, other in zip(one.entries, first.entries, strict=True)
            ]
    return kept, left_out


def _is_named(one: Group, named: Collection[str]) -> bool:
    return any(entry.location in named for entry in one.entries)


def _are_equal(one: Group, other: Group) -> bool:
    pairs = list(zip(one.entries, other.entries, strict=True))
    return all(_are_equal_ends(*pair) for pair in pairs) and all(_are_equal_files(*pair) for pair in pairs)


def _are_equal_ends(one: FileEntry, other: FileEntry) -> bool:
    if one.is_remote or other.is_remote:
        return one.is_remote and other.is_remote and one.stamp == other.stamp != ""
    try:
        return _ends(one) == _ends(other)
    except OSError:
        return False


def _ends(entry: FileEntry) -> tuple[bytes, bytes]:
    with Path(entry.location).open("rb") as file:
        head = file.read(_END)
        file.seek(max(0, entry.size - _END))
        return head, file.read(_END)


def _are_equal_files(one: FileEntry, other: FileEntry) -> bool:
    if one.is_remote:
        return True
    try:
        with Path(one.location).open("rb") as first, Path(other.location).open("rb") as second:
            parts = zip_longest(iter(lambda: first.read(_PART), b""), iter(lambda: second.read(_PART), b""))
            return all(part == its for part, its in parts)
    except OSError:
        return False
