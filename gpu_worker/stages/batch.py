"""Batch: rows of the shared memory, given out in order, come back as full batches in order.

Whoever decodes a file tile copies it straight into the rows that want it, so that a batch is put together by nobody:
it is full once all pieces of its rows are there. A slot that is on its way through the model is not written to.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from gpu_worker.channel import Closed
from gpu_worker.decoding.jobs import Memory, Rows
from gpu_worker.stages.values import Ended, Slot
from gpu_worker.work import Shape, Work
from wsi.grid import MAX_LEVEL_SIDE

#: Slots at least: one in the model, one on its way to it, one under construction.
LEAST = 3
#: Bytes of a slot at most: plans hold batches to less (`wsi.planning.BATCH_BYTES`, `wsi.grid.MAX_LEVEL_SIDE`).
MOST_BYTES = 3 * MAX_LEVEL_SIDE**2
#: Bytes of memory that hold batches of any plan. Reserved, and taken only as far as slots reach.
RESERVED = LEAST * MOST_BYTES


def slots_in(budget: int, shape: Shape) -> int:
    """Of so many bytes, if that is enough for `LEAST`."""
    return max(LEAST, budget // (shape.row_bytes * shape.numerics.batch))


def most_open(budget: int, shape: Shape) -> int:
    """Rows that may be open at a time so that the oldest of them can always be finished: all but those that share a
    slot with it and lie before it."""
    return (slots_in(budget, shape) - 1) * shape.numerics.batch + 1


class Batches:
    """`emit` gets full slots, and the ends of works, in order; it is called under the lock and must not wait."""

    def __init__(self, memory: Memory, budget: int, emit: Callable[[Slot | Ended], None]) -> None:
        """`budget`: bytes of the memory to fill, where that is enough for `LEAST` slots."""
        self._memory = memory
        self._budget = budget
        self._emit = emit
        self._shape: Shape | None = None
        self._rows = Rows(0, 1, 1)
        self._free: deque[int] = deque()  #: first rows of slots
        self._slots: deque[Slot] = deque()  #: not yet emitted, the last one under construction
        self._by_first: dict[int, Slot] = {}
        self._lent = 0  #: slots emitted and not released
        self.waited = 0.0  #: seconds, of whoever gives rows out
        self._closed = False
        self._changed = threading.Condition()

    def lay_out(self, shape: Shape) -> Rows:
        """Waits until every slot of another shape is free. Raises Closed."""
        with self._changed:
            if shape != self._shape:
                self._flush()
                self._wait(lambda: not self._slots and not self._lent)
                batch, count = shape.numerics.batch, slots_in(self._budget, shape)
                self._shape = shape
                self._rows = Rows(count * batch, shape.height, shape.width)
                self._free = deque(number * batch for number in range(count))
            return self._rows

    def room(self, *, wait: bool) -> int:
        """Rows that can be had now; with `wait`, at least one. Raises Closed."""
        with self._changed:
            if wait:
                self._wait(lambda: bool(self._room()))
            return self._room()

    def take(self, work: Work, tiles: NDArray[np.int32], lacking: NDArray[np.int32]) -> NDArray[np.int32]:
        """The next row for each of `tiles`, which needs so many pieces. Raises Closed."""
        rows = np.empty(len(tiles), np.int32)
        with self._changed:
            done = 0
            while done < len(tiles):
                slot = self._current()
                count = min(slot.size - slot.used, len(tiles) - done)
                inside, given = slice(slot.used, slot.used + count), slice(done, done + count)
                if not slot.works or slot.works[-1] is not work:
                    slot.works.append(work)
                slot.tiles[inside], slot.owner[inside] = tiles[given], len(slot.works) - 1
                slot.outstanding += int(lacking[given].sum())
                rows[given] = np.arange(slot.first + slot.used, slot.first + slot.used + count)
                slot.used, done = slot.used + count, done + count
                slot.closed = slot.used == slot.size
            self._emit_full()
        return rows

    def finish(self, rows: NDArray[np.int32], broken: Iterable[tuple[int, int, str]] = ()) -> None:
        """A piece of each of `rows` is in its place. `broken`: (row, file tile, why it could not be decoded)."""
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

    def abandon(self, work: Work, rows: NDArray[np.int32], ended: Ended) -> None:
        """The work is gone: its rows are padding from now on, and those `rows` (a row a piece) will not be decoded."""
        with self._changed:
            for slot in self._slots:
                if work in slot.works:
                    slot.tiles[: slot.used][slot.owner[: slot.used] == slot.works.index(work)] = -1
        self.finish(rows)
        self.end(ended)

    def end(self, ended: Ended) -> None:
        """Behind the slots that are full by now."""
        with self._changed:
            self._emit(ended)

    @property
    def is_partial(self) -> bool:
        """Whether the slot under construction has room."""
        with self._changed:
            return bool(self._slots) and not self._slots[-1].closed

    @property
    def model_waits(self) -> bool:
        """Whether no other slot than the one under construction is on its way: at most one is in the model."""
        with self._changed:
            return len(self._slots) <= 1 and self._lent <= 1

    def flush(self) -> None:
        """The slot under construction gets no more rows."""
        with self._changed:
            self._flush()

    def release(self, slot: Slot) -> None:
        with self._changed:
            self._lent -= 1
            del self._by_first[slot.first]
            self._free.append(slot.first)
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _current(self) -> Slot:
        if not self._slots or self._slots[-1].closed:
            self._wait(lambda: bool(self._free))
            assert self._shape is not None
            size, first = self._shape.numerics.batch, self._free.popleft()
            slot = Slot(self._rows, first, size, np.full(size, -1, np.int32), np.zeros(size, np.int32))
            self._slots.append(slot)
            self._by_first[first] = slot
        return self._slots[-1]

    def _room(self) -> int:
        size = self._shape.numerics.batch if self._shape else 0
        begun = self._slots[-1].size - self._slots[-1].used if self._slots and not self._slots[-1].closed else 0
        return begun + size * len(self._free)

    def _flush(self) -> None:
        if self._slots and not self._slots[-1].closed:
            slot = self._slots[-1]
            slot.closed = True
            self._rows.of(self._memory)[slot.first + slot.used : slot.first + slot.size] = 0
            self._emit_full()

    def _emit_full(self) -> None:
        while self._slots and self._slots[0].closed and not self._slots[0].outstanding:
            self._lent += 1
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
