"""A file that is there twice is one file: by another link, or as a copy with the same bytes."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from tessera.local_run.inputs.grouping import Group, make_duplicate
from tessera.local_run.inputs.listing import FileEntry
from tessera.local_run.inputs.slide_input import LeftOut

_END = 65_536  #: bytes; slides of one size differ in their first tile or in their directory at the end
_PART = 1024**2  #: bytes
_REMEMBERED = 10_000  #: files that kept their size and time; a watch searches its folder again and again


def drop_same_files(entries: Iterable[FileEntry], named: Collection[str]) -> tuple[list[FileEntry], list[LeftOut]]:
    """Return the entries without those that lead to the file of another one, and those that are left out. One that was
    named stays before one that was found, and a file before a link to it."""
    kept: dict[str, FileEntry] = {}
    left_out: list[LeftOut] = []
    for entry in sorted(entries, key=lambda one: (one.location not in named, one.is_linked)):
        first = kept.setdefault(entry.real, entry)
        if first is not entry:
            left_out.append(make_duplicate(entry.location, first.location, "is the same file as"))
    return list(kept.values()), left_out


def drop_copies(groups: Sequence[Group], named: Collection[str]) -> tuple[list[Group], list[LeftOut]]:
    """Return the slides without copies of another one, and the copies' files. Objects are compared by ETag. A file on
    this disk is compared with files of its very size: by their ends, and where these are equal, by all bytes. A slide
    that was named stays: a user who lists the cases of a study wants a result for each."""
    sizes = Counter(map(_sizes, groups))
    seen: dict[tuple[object, ...], list[Group]] = defaultdict(list)
    kept: list[Group] = []
    left_out: list[LeftOut] = []
    for one in sorted(groups, key=lambda one: (not _is_named(one, named), one.entries[0].is_linked)):
        mark = _mark(one) if sizes[_sizes(one)] > 1 else None
        alike = seen[_sizes(one), *mark] if mark is not None else []
        first = None if _is_named(one, named) else next((other for other in alike if _are_equal(one, other)), None)
        if first is None:
            alike.append(one)
            kept.append(one)
        else:
            left_out += [
                make_duplicate(entry.location, other.location, "has the same bytes as")
                for entry, other in zip(one.entries, first.entries, strict=True)
            ]
    return kept, left_out


def is_part(one: FileEntry, other: FileEntry) -> bool:
    """Return whether a file is a copy of another one, whole or cut short; of objects the ETag tells whole ones."""
    if one.is_remote or other.is_remote:
        return bool(one.stamp) and (one.size, one.stamp) == (other.size, other.stamp)
    return one.size <= other.size and _begins_alike(one, other)


def _sizes(one: Group) -> tuple[int, ...]:
    return tuple(entry.size for entry in one.entries)


def _is_named(one: Group, named: Collection[str]) -> bool:
    return any(entry.location in named for entry in one.entries)


def _mark(one: Group) -> tuple[str, ...] | None:
    """Return what copies have in common, a text a file: the ETag, or a digest of both ends. None where it cannot be
    told."""
    try:
        marks = tuple(entry.stamp if entry.is_remote else _ends(entry) for entry in one.entries)
    except OSError:
        return None
    return marks if all(marks) else None


@lru_cache(_REMEMBERED)
def _ends(entry: FileEntry) -> str:
    with Path(entry.location).open("rb") as file:
        head = file.read(_END)
        file.seek(max(0, entry.size - _END))
        return hashlib.sha256(head + file.read(_END)).hexdigest()


def _are_equal(one: Group, other: Group) -> bool:
    pairs = zip(one.entries, other.entries, strict=True)
    return all(first.is_remote or _begins_alike(first, second) for first, second in pairs)


@lru_cache(_REMEMBERED)
def _begins_alike(one: FileEntry, other: FileEntry) -> bool:
    """Return whether the second file begins with all bytes of the first."""
    try:
        with Path(one.location).open("rb") as first, Path(other.location).open("rb") as second:
            return all(part == second.read(len(part)) for part in iter(lambda: first.read(_PART), b""))
    except OSError:
        return False
