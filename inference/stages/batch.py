"""Batch: assigns rows of the shared memory to tiles in order, and emits full batches in order.

A decoder copies a file tile straight into the rows that need it, so that no step assembles a batch: it is full once all
pieces of its rows are there. A slot on its way through the model is not written to.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from inference.channel import Closed
from inference.decoding.decode_tasks import MapRows, Memory, Rows
from inference.shard_task import Shape, ShardTask
from inference.stages.values import Ended, Slot
from wsi.jobs.planning import BATCH_BYTES
from wsi.planning.grid import MAX_LEVEL_SIDE

#: One slot in the model, one on its way to it, one under construction.
MIN_SLOTS = 3
#: Upper bound of a slot's bytes: plans keep batches below it, as read and, if resampled, as the model gets them.
MAX_SLOT_BYTES = 3 * MAX_LEVEL_SIDE**2 + BATCH_BYTES
#: Bytes of memory that hold batches of any plan. Reserved; the machine provides only what slots use.
RESERVED = MIN_SLOTS * MAX_SLOT_BYTES


def count_slots(budget: int, shape: Shape) -> int:
    """Return the number of slots that fit into `budget` bytes, at least `MIN_SLOTS`."""
    return max(MIN_SLOTS, budget // (shape.row_bytes * shape.numerics.batch))


def compute_max_open_rows(budget: int, shape: Shape) -> int:
    """Return the number of rows that may be open at a time so that the oldest can always be finished: all but those
    before it in its own slot."""
    return (count_slots(budget, shape) - 1) * shape.numerics.batch + 1


class Batches:
    """The slots of the memory: assigned to tiles, filled by decoders, emitted to the model, released by it."""

    def __init__(self, memory: Memory, budget: int, emit: Callable[[Slot | Ended], None]) -> None:
        """Begin without slots. `budget`: bytes of the memory to fill, or more where `MIN_SLOTS` slots need more. `emit`
        gets full slots, and the ends of tasks, in order; it is called under the lock and must not wait."""
        self._memory = memory
        self._budget = budget
        self._emit = emit
        self._shape: Shape | None = None
        self._rows = self._model_rows = Rows(0, 1, 1)
        self._map_rows: MapRows | None = None
        self._free: deque[int] = deque()  #: first rows of slots
        self._slots: deque[Slot] = deque()  #: not yet emitted, the last one under construction
        self._by_first: dict[int, Slot] = {}
        self._emitted = 0  #: slots emitted and not released
        self.waited = 0.0  #: seconds that the decode stage waited for rows
        self._closed = False
        self._changed = threading.Condition()

    def lay_out(self, shape: Shape) -> Rows:
        """Divide the memory into slots of a shape, once every slot of another shape is free. Raises Closed."""
        with self._changed:
            if shape != self._shape:
                self._flush()
                self._wait(lambda: not self._slots and not self._emitted)
                batch, count = shape.numerics.batch, count_slots(self._budget, shape)
                self._shape = shape
                self._rows = self._model_rows = Rows(count * batch, shape.height, shape.width)
                if (side := shape.resampled) is not None:
                    self._model_rows = Rows(count * batch, side, side, self._rows.end)
                self._map_rows = None
                if shape.maps is not None:
                    self._map_rows = MapRows(count * batch, *shape.maps, self._model_rows.end)
                self._free = deque(number * batch for number in range(count))
            return self._rows

    def free_rows(self, *, wait: bool) -> int:
        """Return the number of rows that can be assigned now; with `wait`, wait for at least one. Raises Closed."""
        with self._changed:
            if wait:
                self._wait(lambda: bool(self._count_free_rows()))
            return self._count_free_rows()

    def assign_rows(self, task: ShardTask, tiles: NDArray[np.int32], missing: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the next row for each of `tiles`, of which `missing` pieces are still to come. Raises Closed."""
        rows = np.empty(len(tiles), np.int32)
        with self._changed:
            done = 0
            while done < len(tiles):
                slot = self._open_slot()
                count = min(slot.size - slot.used, len(tiles) - done)
                inside, part = slice(slot.used, slot.used + count), slice(done, done + count)
                if not slot.tasks or slot.tasks[-1] is not task:
                    slot.tasks.append(task)
                slot.tiles[inside], slot.owner[inside] = tiles[part], len(slot.tasks) - 1
                slot.outstanding += int(missing[part].sum())
                rows[part] = np.arange(slot.first + slot.used, slot.first + slot.used + count)
                slot.used, done = slot.used + count, done + count
                slot.closed = slot.used == slot.size
            self._emit_full()
        return rows

    def finish_pieces(self, rows: NDArray[np.int32], broken: Iterable[tuple[int, int, str]] = ()) -> None:
        """Count a piece of each of `rows` as done. `broken`: (row, file tile, why it could not be decoded)."""
        with self._changed:
            if self._shape is None:
                return
            size = self._shape.numerics.batch
            pieces = np.bincount(rows // size)
            for row, tile, why in broken:
                slot = self._by_first[row // size * size]
                slot.broken.setdefault(row - slot.first, {})[tile] = why
            for number in np.flatnonzero(pieces).tolist():
                self._by_first[number * size].outstanding -= int(pieces[number])
            self._emit_full()

    def abandon(self, task: ShardTask, rows: NDArray[np.int32], ended: Ended) -> None:
        """Turn the rows of a cancelled task into padding; the pieces of `rows` (a row each) will not be decoded."""
        with self._changed:
            for slot in self._slots:
                if task in slot.tasks:
                    slot.tiles[: slot.used][slot.owner[: slot.used] == slot.tasks.index(task)] = -1
        self.finish_pieces(rows)
        self.end(ended)

    def end(self, ended: Ended) -> None:
        """Emit the end of a task, behind the slots that are full by now."""
        with self._changed:
            self._emit(ended)

    @property
    def is_partial(self) -> bool:
        """Return whether the slot under construction has room."""
        with self._changed:
            return bool(self._slots) and not self._slots[-1].closed

    @property
    def model_waits(self) -> bool:
        """Return whether the model has nothing else to do: it has at most one slot, and only the one under construction
        is on its way to it."""
        with self._changed:
            return len(self._slots) <= 1 and self._emitted <= 1

    def flush(self) -> None:
        """Close the slot under construction: it gets no more rows."""
        with self._changed:
            self._flush()

    def release(self, slot: Slot) -> None:
        """Free a slot that the model is done with."""
        with self._changed:
            self._emitted -= 1
            del self._by_first[slot.first]
            self._free.append(slot.first)
            self._changed.notify_all()

    def close(self) -> None:
        """Raise Closed in all threads that wait, now and from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _open_slot(self) -> Slot:
        if not self._slots or self._slots[-1].closed:
            self._wait(lambda: bool(self._free))
            assert self._shape is not None
            size, first = self._shape.numerics.batch, self._free.popleft()
            slot = Slot(
                rows=self._rows,
                model_rows=self._model_rows,
                map_rows=self._map_rows,
                first=first,
                size=size,
                tiles=np.full(size, -1, np.int32),
                owner=np.zeros(size, np.int32),
            )
            self._slots.append(slot)
            self._by_first[first] = slot
        return self._slots[-1]

    def _count_free_rows(self) -> int:
        size = self._shape.numerics.batch if self._shape else 0
        begun = self._slots[-1].size - self._slots[-1].used if self._slots and not self._slots[-1].closed else 0
        return begun + size * len(self._free)

    def _flush(self) -> None:
        if self._slots and not self._slots[-1].closed:
            slot = self._slots[-1]
            slot.closed = True
            self._rows.view(self._memory)[slot.first + slot.used : slot.first + slot.size] = 0
            self._emit_full()

    def _emit_full(self) -> None:
        while self._slots and self._slots[0].closed and not self._slots[0].outstanding:
            self._emitted += 1
            self._emit(self._slots.popleft())

    def _wait(self, ready: Callable[[], bool]) -> None:
        began = time.perf_counter()
        while not ready():
            if self._closed:
                raise Closed
            self._changed.wait()
        self.waited += time.perf_counter() - began
        if self._closed:
            raise Closed
