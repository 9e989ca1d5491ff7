"""Forward: runs the model over full batches, and hands the next one to the device while it computes the last.

Tile quality is measured where the pixels are: by the device along with its model, and for a model on the CPU by the
decoders, meanwhile. Boxes at fractions of a pixel are resampled by the decoders before, to the same bytes whatever the
device.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from inference.channel import Channel
from inference.decoding.decode_tasks import Decoders, ExtractObjects, MeasureRows, ResampleRows
from inference.models.loaded import DenseModel, InFlight, MapsInFlight, Queueing, QueueingMaps
from inference.shard_task import ShardTask
from inference.stages.values import Ended, Outputs, Slot
from wsi.errors import ModelFailed
from wsi.objects.found import FoundObjects
from wsi.planning.plan import Numerics
from wsi.results.tile_quality import make_unmeasured

#: Rows of a decode task that measures tile quality.
ROWS_PER_MEASURE: Final = 128
#: Rows of a decode task that resamples, at 1 to 2 ms each.
ROWS_PER_RESAMPLE: Final = 8

_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class _FinishedBatch:
    """A batch whose scores are there: of a model that computes while it is called."""

    computed: NDArray[np.float32]
    seconds: float
    measuring: tuple[Future[NDArray[np.float32]], ...]  #: of the rows up to the last valid one

    def wait_for_scores(self) -> NDArray[np.float32]:
        return self.computed

    def get_quality(self) -> NDArray[np.float32]:
        """Return [rows up to the last valid one, 4]."""
        return np.concatenate([part.result() for part in self.measuring])


@dataclass(frozen=True, slots=True)
class _FinishedMaps:
    """Maps of a model that computes while it is called."""

    seconds: float

    def wait_for_maps(self) -> None:
        """Return at once: they are there."""


class _MappedBatch:
    """A batch of a model that gives maps. Objects are looked for once the maps are there, by the decoders."""

    def __init__(
        self,
        maps: MapsInFlight,
        measuring: tuple[Future[NDArray[np.float32]], ...],
        extract: Callable[[], tuple[Future[FoundObjects], ...]],
    ) -> None:
        """Take the maps. `measuring` is as of `_FinishedBatch`; `extract` begins to look for objects in valid rows."""
        self.maps = maps
        self._measuring = measuring
        self._extract = extract
        self._extracting: tuple[Future[FoundObjects], ...] | None = None

    def look_for_objects(self) -> None:
        """Wait for the maps, and have objects looked for in them. Raises what the model raises, at each call."""
        self.maps.wait_for_maps()
        if self._extracting is None:
            self._extracting = self._extract()

    def wait_for_objects(self) -> list[FoundObjects]:
        """Return the objects of each valid row."""
        self.look_for_objects()
        return [found.result() for found in self._extracting or ()]

    def wait_for_scores(self) -> NDArray[np.float32]:
        """Return [batch, 0]: such a model has none."""
        return np.empty((0, 0), np.float32)

    def get_quality(self) -> NDArray[np.float32]:
        return np.concatenate([part.result() for part in self._measuring])

    @property
    def seconds(self) -> float:
        return self.maps.seconds


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch that was handed to the model."""

    slot: Slot
    valid: NDArray[np.intp]  #: rows of the slot whose tiles get a score
    in_flight: InFlight | None  #: None: no row is valid
    began: float


class Forward:
    """The model's end of a stream of batches. For one thread."""

    def __init__(self, decoders: Decoders, release: Callable[[Slot], None]) -> None:
        self._decoders = decoders
        self._release = release
        self._started: deque[_Batch] = deque()
        self._rows_left: dict[ShardTask, int] = {}  #: rows that are still to come
        self._depth = 2  #: batches that the model has in flight
        self._ended: WeakSet[ShardTask] = WeakSet()  #: tasks whose end was yielded
        self.seconds = 0.0  #: in the model
        self.batches = 0
        self.padded = 0

    def run(self, channel: Channel[Slot | Ended]) -> Iterator[Outputs | Ended]:
        """Yield the outputs and ends of tasks, without end. Raises Closed. An error of the model ends the tasks of its
        batch."""
        try:
            while True:
                item = channel.get(timeout=0.0 if self._started else None)
                if item is None:
                    yield from self._finish()
                elif isinstance(item, Ended):
                    while self._started:
                        yield from self._finish()
                    yield from self._end_task(item)
                else:
                    try:
                        self._begin(item)
                    except Exception as error:  # noqa: BLE001  # the border of a batch: the sink of the loop decides
                        self._release(item)
                        yield from self._fail_batch(item, error)
                    self._look_for_objects()
                    while len(self._started) >= self._depth:
                        yield from self._finish()
        finally:
            self._wait_for_maps()

    def _begin(self, slot: Slot) -> None:
        """Give a batch to the model, without the rows of cancelled tasks."""
        alive = np.array([not task.is_cancelled for task in slot.tasks])
        valid = (slot.tiles >= 0) & alive[slot.owner]
        valid[list(slot.broken)] = False
        rows = np.flatnonzero(valid)
        if not len(rows):
            self._started.append(_Batch(slot, rows, None, time.perf_counter()))
            return
        task = slot.tasks[int(slot.owner[rows[0]])]
        self._resample(slot, rows)
        pixels = slot.model_rows.view(self._decoders.memory)[slot.first : slot.first + slot.size]
        began = time.perf_counter()
        numerics = task.plan.numerics
        if isinstance(task.model, DenseModel):
            #: Objects are looked for meanwhile; where the device computes by itself, in the batch before the last.
            self._depth = 3 if isinstance(task.model, QueueingMaps) else 2
            in_flight: InFlight = self._begin_maps(slot, rows, task.model, pixels, numerics)
        elif isinstance(task.model, Queueing):
            self._depth = task.model.depth
            in_flight = task.model.start(pixels, numerics)
        else:
            self._depth = 2  # tile quality is measured meanwhile
            measuring = self._submit_measuring(slot, slot.first + int(rows[-1]) + 1)
            scores = task.model.infer(pixels, numerics)
            in_flight = _FinishedBatch(scores, time.perf_counter() - began, measuring)
        self._started.append(_Batch(slot, rows, in_flight, began))

    def _begin_maps(
        self, slot: Slot, rows: NDArray[np.intp], model: DenseModel, pixels: NDArray[np.uint8], numerics: Numerics
    ) -> _MappedBatch:
        """Have the maps of the slot computed, and the objects of its valid rows looked for in them."""
        assert slot.map_rows is not None, "the shape of such a model's batches has them"
        measuring = self._submit_measuring(slot, slot.first + int(rows[-1]) + 1)
        maps = slot.map_rows.view(self._decoders.memory)[slot.first : slot.first + slot.size]
        if isinstance(model, QueueingMaps):
            in_flight = model.start_maps(pixels, maps, numerics)
        else:
            began = time.perf_counter()
            found = model.infer_maps(pixels, numerics)
            in_flight = _FinishedMaps(time.perf_counter() - began)
            maps[:] = found

        def extract() -> tuple[Future[FoundObjects], ...]:
            return tuple(self._submit_extraction(slot, int(row)) for row in rows)

        batch = _MappedBatch(in_flight, measuring, extract)
        if isinstance(in_flight, _FinishedMaps):
            batch.look_for_objects()
        return batch

    def _look_for_objects(self) -> None:
        """Have objects looked for in the maps of all batches but the one started last, which the device computes
        meanwhile. Errors are raised where each batch is finished."""
        for batch in tuple(self._started)[:-1]:
            if isinstance(batch.in_flight, _MappedBatch):
                with suppress(Exception):
                    batch.in_flight.look_for_objects()

    def _wait_for_maps(self) -> None:
        """Wait until no device writes into the memory any more, which may be given back then."""
        for batch in self._started:
            if isinstance(batch.in_flight, _MappedBatch):
                with suppress(Exception):
                    batch.in_flight.maps.wait_for_maps()

    def _submit_extraction(self, slot: Slot, row: int) -> Future[FoundObjects]:
        task, tile = slot.tasks[int(slot.owner[row])], int(slot.tiles[row])
        output = task.plan.card.objects
        assert slot.map_rows is not None
        assert output is not None
        window = task.place_window(tile)
        return self._decoders.submit(ExtractObjects(slot.map_rows, slot.first + row, window, output, tile))

    def _resample(self, slot: Slot, rows: NDArray[np.intp]) -> None:
        """Resample rows of the slot to what the model gets, and wait for it. Does nothing if they were read so."""
        if slot.model_rows is slot.rows:
            return
        boxes = np.empty((len(rows), 4))
        for number, task in enumerate(slot.tasks):
            owned = slot.owner[rows] == number
            boxes[owned] = task.compute_read_boxes(slot.tiles[rows[owned]])
        resize = slot.tasks[0].plan.card.resize  # all tasks of a slot have one model
        parts = (slice(low, low + ROWS_PER_RESAMPLE) for low in range(0, len(rows), ROWS_PER_RESAMPLE))
        tasks = (
            ResampleRows(slot.rows, slot.model_rows, slot.first + rows[part], boxes[part], resize) for part in parts
        )
        for done in [self._decoders.submit(task) for task in tasks]:
            done.result()

    def _submit_measuring(self, slot: Slot, last: int) -> tuple[Future[NDArray[np.float32]], ...]:
        """Have the slot's rows measured, up to row `last` of the memory."""
        return tuple(
            self._decoders.submit(MeasureRows(slot.model_rows, low, min(low + ROWS_PER_MEASURE, last)))
            for low in range(slot.first, last, ROWS_PER_MEASURE)
        )

    def _finish(self) -> Iterator[Outputs | Ended]:
        """Wait for the oldest batch in flight, and yield what comes of it."""
        started = self._started.popleft()
        slot = started.slot
        try:
            outputs = self._outputs(started)
        except Exception as error:  # noqa: BLE001  # as above
            yield from self._fail_batch(slot, error)
        else:
            yield from outputs
        finally:
            self._release(slot)

    def _outputs(self, started: _Batch) -> list[Outputs | Ended]:
        found: list[Outputs | Ended] = []
        slot, rows, seconds, ended = started.slot, started.valid, 0.0, started.began
        columns = slot.tasks[0].plan.card.width  # all tasks of a slot have one model
        scores, quality = np.empty((len(rows), columns), np.float32), make_unmeasured()
        objects: list[FoundObjects] = []
        if isinstance(started.in_flight, _MappedBatch):
            objects = started.in_flight.wait_for_objects()
        if started.in_flight is not None:
            if columns:
                scores = take_rows(started.in_flight.wait_for_scores(), rows)
            ended = time.perf_counter()
            seconds = started.in_flight.seconds
            quality = take_rows(started.in_flight.get_quality(), rows)
            self.seconds += seconds
            self.batches += 1
            self.padded += slot.size - len(rows)
            if not np.isfinite(scores).all():
                raise ModelFailed(
                    "The model gave values that are not numbers: its weights do not fit its card, or it overflows."
                )
        padded = slot.size - len(rows) if len(rows) else 0
        numbers, owner = take_rows(slot.tiles, rows), take_rows(slot.owner, rows)
        for number, task in enumerate(slot.tasks):
            owned = np.flatnonzero(owner == number)
            tiles = take_rows(numbers, owned)
            unreadable = {
                int(slot.tiles[row]): slot.describe_failure(row)
                for row in sorted(slot.broken)
                if slot.owner[row] == number and slot.tiles[row] >= 0 and not task.is_cancelled
            }
            if len(tiles) or unreadable:
                share = len(tiles) / len(rows) if len(rows) else 0.0
                found.append(
                    Outputs(
                        task=task,
                        tiles=tiles,
                        scores=take_rows(scores, owned),
                        quality=take_rows(quality, owned),
                        objects=tuple(objects[row] for row in owned) if objects else (),
                        unreadable=unreadable,
                        padded=padded,
                        seconds=seconds * share,
                        began=started.began,
                        ended=ended,
                    )
                )
                padded = 0
            found += self._count_rows(task, int(((slot.owner == number) & (slot.tiles >= 0)).sum()))
        return found

    def _count_rows(self, task: ShardTask, rows: int) -> list[Ended]:
        """Count rows of the task that came out. Return its end after the last one."""
        if task in self._ended:
            return []
        self._rows_left[task] = self._rows_left.get(task, len(task.tiles)) - rows
        return [] if self._rows_left[task] else self._end_task(Ended(task))

    def _end_task(self, ended: Ended) -> list[Ended]:
        """Return the end of a task, once for each task."""
        if ended.task in self._ended:
            return []
        self._rows_left.pop(ended.task, None)
        self._ended.add(ended.task)
        ended.task.ended.set()
        return [ended]

    def _fail_batch(self, slot: Slot, error: Exception) -> list[Ended]:
        return [ended for task in slot.tasks for ended in self._end_task(Ended(task, error))]


def take_rows(values: NDArray[_Number], rows: NDArray[np.intp]) -> NDArray[_Number]:
    """Return `values[rows]` for ascending rows, without a copy when they are all of them, as they mostly are."""
    return values if len(rows) == len(values) else values[rows]
