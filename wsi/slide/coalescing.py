"""Which ranges to read for the tiles that are wanted (pure), and reading them with bounded bytes in flight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wsi.slide.ranges import ByteRange, RangeSource

# Measured over 20 ms latency: 10,047 tissue tiles in 209 requests with 4 % waste at runs of 1 MiB, and 47,000 tiles/s,
# more than any model takes. At 2 MiB a row of a wide block of tissue, 1.2 MB at 40,000 px, is one request, not two;
# sixteen connections of that fill the bytes in flight.
MAX_GAP = 32 * 1024  #: bytes read in vain between two tiles rather than asked for in another request
MAX_RUN = 2 * 1024**2  #: bytes a request, unless one tile alone is larger
MAX_IN_FLIGHT = 32 * 1024**2  #: bytes asked for and not yet handed on


@dataclass(frozen=True, slots=True)
class Run:
    """One request, and what of it is wanted."""

    byte_range: ByteRange
    tiles: tuple[tuple[int, ByteRange], ...]  #: (tile, its bytes in the file), by offset


def coalesce(
    wanted: Sequence[tuple[int, ByteRange]], *, max_gap: int = MAX_GAP, max_run: int = MAX_RUN
) -> tuple[Run, ...]:
    """Runs in the file's order that cover each wanted (tile, range) exactly once. Two ranges share a run when at most
    `max_gap` bytes lie between them and the run stays within `max_run`. Ranges may overlap or be equal."""
    runs: list[Run] = []
    tiles: list[tuple[int, ByteRange]] = []
    end = 0
    for tile, byte_range in sorted(wanted, key=lambda pair: (pair[1].start, pair[1].end, pair[0])):
        joined = max(end, byte_range.end)
        if tiles and (byte_range.start - end > max_gap or joined - tiles[0][1].start > max_run):
            runs.append(Run(ByteRange(tiles[0][1].start, end), tuple(tiles)))
            tiles, joined = [], byte_range.end
        tiles.append((tile, byte_range))
        end = joined
    if tiles:
        runs.append(Run(ByteRange(tiles[0][1].start, end), tuple(tiles)))
    return tuple(runs)


def read_runs(
    source: RangeSource, runs: Sequence[Run], *, max_in_flight: int = MAX_IN_FLIGHT
) -> Iterator[tuple[int, bytes]]:
    """(tile, bytes) in the order of the runs. Never more than `max_in_flight` bytes are asked for at once, unless one
    run alone is larger. Raises SourceError."""
    for group in _groups(runs, max_in_flight):
        for run, data in zip(group, source.read_many([run.byte_range for run in group]), strict=True):
            start = run.byte_range.start
            for tile, byte_range in run.tiles:
                yield tile, data[byte_range.start - start : byte_range.end - start]


def _groups(runs: Sequence[Run], limit: int) -> Iterator[Sequence[Run]]:
    first, total = 0, 0
    for at, run in enumerate(runs):
        if at > first and total + run.byte_range.size > limit:
            yield runs[first:at]
            first, total = at, 0
        total += run.byte_range.size
    if first < len(runs):
        yield runs[first:]
