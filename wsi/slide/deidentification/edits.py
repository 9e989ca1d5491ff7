"""A file whose bytes are replaced by more, fewer or other bytes, without the file being copied."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from wsi.slide.ranges import ByteRange, Data, RangeSource

_NEAR: Final = 65_536  #: bytes between two runs that are read as one


class CleanSource(RangeSource, Protocol):
    """A `RangeSource` of bytes of which most are those of another one."""

    def find_unchanged(self, byte_range: ByteRange) -> ByteRange | None:
        """Return where the other source has exactly these bytes; None if some of them changed."""
        ...


@dataclass(frozen=True, slots=True)
class Edit:
    place: ByteRange  #: in the original file; empty where something is put in
    data: bytes | None = None  #: instead; None: as many zeros


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of the new file that is either a run of the original or written."""

    start: int  #: in the new file
    end: int
    origin: int  #: where the run starts in the original; meaningless if it is written
    edit: Edit | None = None


class EditedSource:
    """A `CleanSource` that returns the file's bytes as they are after the edits. Raises SourceError."""

    def __init__(self, source: RangeSource, edits: Sequence[Edit]) -> None:
        """Take edits in any order; those at one place stay in the given order. Raises ValueError where two overlap."""
        self._source = source
        self.edits: Final = sorted(edits, key=lambda edit: edit.place.start)
        self._pieces = list(_cut(self.edits, source.size))
        self._starts = [piece.start for piece in self._pieces]

    @property
    def size(self) -> int:
        return self._pieces[-1].end if self._pieces else 0

    @property
    def etag(self) -> str:
        return f"{self._source.etag}-edited"

    def read(self, byte_range: ByteRange) -> bytes:
        wanted = list(self._meeting(byte_range))
        runs = [one for one in wanted if one.edit is None]
        groups = _group(runs)
        held = dict(zip(groups, self._source.read_many(groups), strict=True))
        parts, group = list[Data](), 0
        for one in wanted:
            if one.edit is not None:
                data, skipped = one.edit.data, one.origin
                size = one.end - one.start
                parts.append(bytes(size) if data is None else data[skipped : skipped + size])
                continue
            while groups[group].end < one.origin + one.end - one.start:
                group += 1
            begin = one.origin - groups[group].start
            parts.append(memoryview(held[groups[group]])[begin : begin + one.end - one.start])
        return b"".join(parts)

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        for byte_range in ranges:
            yield self.read(byte_range)

    def find_unchanged(self, byte_range: ByteRange) -> ByteRange | None:
        met = list(self._meeting(byte_range))
        if len(met) != 1 or met[0].edit is not None:
            return None
        return ByteRange(met[0].origin, met[0].origin + byte_range.size)

    def _meeting(self, byte_range: ByteRange) -> Iterator[_Piece]:
        """Yield the parts of the pieces that are in the range. Of a written one `origin` is what is skipped of it."""
        number = max(bisect_right(self._starts, byte_range.start) - 1, 0)
        while number < len(self._pieces) and self._pieces[number].start < byte_range.end:
            piece = self._pieces[number]
            number += 1
            start, end = max(piece.start, byte_range.start), min(piece.end, byte_range.end)
            if start < end:
                skipped = start - piece.start
                yield _Piece(start, end, skipped if piece.edit else piece.origin + skipped, piece.edit)


def _cut(edits: Sequence[Edit], size: int) -> Iterator[_Piece]:
    at = reached = 0  # in the new file, and in the original
    for edit in edits:
        if edit.place.start < reached:
            raise ValueError("two edits of the same bytes")
        if edit.place.start > reached:
            yield _Piece(at, at + edit.place.start - reached, reached)
            at += edit.place.start - reached
        length = edit.place.size if edit.data is None else len(edit.data)
        if length:
            yield _Piece(at, at + length, 0, edit)
            at += length
        reached = edit.place.end
    if size > reached:
        yield _Piece(at, at + size - reached, reached)


def _group(runs: Sequence[_Piece]) -> list[ByteRange]:
    """Return the ranges of the original in which the runs are; those that are near each other share one."""
    groups = list[ByteRange]()
    for run in runs:
        end = run.origin + run.end - run.start
        if groups and run.origin - groups[-1].end <= _NEAR:
            groups[-1] = ByteRange(groups[-1].start, end)
        else:
            groups.append(ByteRange(run.origin, end))
    return groups
