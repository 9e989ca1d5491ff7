"""Objects of a slide in a temporary file, tile by tile: a million of them are gigabytes in memory, and come in the
order of shards."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from wsi.objects.found import FoundObjects, Sight
from wsi.objects.joining import JoinedObjects, join_parts
from wsi.objects.ordering import order_tiles_in_space
from wsi.objects.packing import pack_objects, unpack_objects
from wsi.objects.table import ObjectTable
from wsi.planning.plan import Plan
from wsi.planning.windows import make_lattice, make_window_grid


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectTotals:
    """The numbers of a slide's objects, for its summary."""

    objects: int
    by_class: tuple[int, ...]  #: in the card's order
    large: int  #: longer than a window's sight, found whole in another one
    joined: int  #: put together of parts, since no window held them whole


class ObjectFile:
    """The objects of a plan that begin in its tissue and region, at the tiles that hold their points."""

    def __init__(self, file: IO[bytes], plan: Plan) -> None:
        assert plan.card.objects is not None
        self._file = file
        self._lock = threading.Lock()
        self._plan = plan
        self._lattice = make_lattice(plan)
        self._chances = plan.card.objects.maps - 1
        self._places: dict[int, list[tuple[int, int]]] = {}  #: by tile: where its tables begin, and their bytes
        self._undecided = [FoundObjects.make_empty(self._chances)]  #: for `join_parts`: rare
        self._classes = np.zeros(len(plan.card.objects.classes), np.int64)
        self._joined: JoinedObjects | None = None

    def put(self, found: FoundObjects) -> None:
        """Keep what a shard found, in any order of shards."""
        self._write(found.table.select(np.flatnonzero(found.sights != Sight.LARGE)))
        several = np.flatnonzero(found.sights != Sight.OWN)
        if len(several) or len(found.parts):
            self._undecided.append(
                FoundObjects(table=found.table.select(several), sights=found.sights[several], parts=found.parts)
            )

    def join(self) -> None:
        """Decide on what several windows have seen, once all shards were put."""
        found = FoundObjects.join(self._undecided)
        large, long = (found.table.select(np.flatnonzero(found.sights == one)) for one in (Sight.LARGE, Sight.LONG))
        self._joined = join_parts(large, long, found.parts, make_window_grid(self._plan))
        self._write(self._joined.table)

    def count(self) -> ObjectTotals:
        """Return the counts after `join`."""
        assert self._joined is not None, "join comes first"
        return ObjectTotals(
            objects=int(self._classes.sum()),
            by_class=tuple(self._classes.tolist()),
            large=self._joined.large,
            joined=self._joined.joined,
        )

    def __iter__(self) -> Iterator[ObjectTable]:
        """Yield the objects of each tile that has any. Tiles come along a curve through the slide, so that neighbours
        in a file are neighbours on the slide."""
        for tile in order_tiles_in_space(self._plan.tiles).tolist():
            if (places := self._places.get(tile)) is not None:
                yield self._read(places)

    def _read(self, places: list[tuple[int, int]]) -> ObjectTable:
        tables: list[ObjectTable] = []
        for start, size in places:
            with self._lock:  # files are written side by side
                self._file.seek(start)
                data = self._file.read(size)
            tables.append(unpack_objects(data))
        table = ObjectTable.join(tables)
        return table.select(np.lexsort((table.points[:, 0], table.points[:, 1])))

    def _write(self, table: ObjectTable) -> None:
        table = table.select(np.flatnonzero(self._are_wanted(table.points)))
        self._classes += np.bincount(table.classes, minlength=len(self._classes))
        order = np.argsort(table.tiles, kind="stable")
        tiles = table.tiles[order]
        starts = np.flatnonzero(np.diff(tiles, prepend=-1))
        for rows in np.split(order, starts[1:]) if len(tiles) else ():
            data = pack_objects(table.select(rows))
            self._file.seek(0, 2)
            place = (self._file.tell(), len(data))
            self._file.write(data)
            self._places.setdefault(int(table.tiles[rows[0]]), []).append(place)

    def _are_wanted(self, points: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return of each point whether it lies in the tissue and the region that the job is for."""
        plan, inspection = self._plan, self._plan.inspection
        x, y = ((points + 0.5) * (self._lattice.step_x, self._lattice.step_y)).T
        wanted = np.ones(len(points), np.bool_)
        if plan.mask is not None:
            height, width = plan.mask.pixels.shape
            column = (x * (width / inspection.width)).astype(np.int64).clip(0, width - 1)
            row = (y * (height / inspection.height)).astype(np.int64).clip(0, height - 1)
            wanted &= plan.mask.pixels[row, column]
        if plan.region is not None:
            left, top, across, down = plan.region
            wanted &= (x >= left) & (x < left + across) & (y >= top) & (y < top + down)
        return wanted


@contextmanager
def keep_objects_on_disk(plan: Plan) -> Generator[ObjectFile]:
    """Yield a file of the plan's objects that is removed after the block."""
    with tempfile.TemporaryFile() as file:
        yield ObjectFile(file, plan)
