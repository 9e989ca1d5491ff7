"""Forward: the model over full batches, the next one handed to the device while it works at the last.

How the tiles look is measured where their pixels are: by the device along with its model, and for a model on the CPU by
the decoders, while it works.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from gpu_worker.channel import Channel
from gpu_worker.decoding.jobs import Decoders, MeasureRows
from gpu_worker.models.loaded import InFlight, Queueing
from gpu_worker.stages.values import Ended, Outputs, Slot
from gpu_worker.work import Work
from wsi.errors import ModelFailed
from wsi.quality import unmeasured

#: Batches handed to a device that works beside the CPU: the one it works at, and the next.
DEPTH: Final = 2
#: Rows of a job that measures how tiles look.
MEASURED_TOGETHER: Final = 128

_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class _Done:
    """A batch of a model that answers at once."""

    given: NDArray[np.float32]
    seconds: float
    measured: tuple[Future[NDArray[np.float32]], ...]  #: of the rows up to the last valid one

    def scores(self) -> NDArray[np.float32]:
        return self.given

    def quality(self) -> NDArray[np.float32]:
        """[rows up to the last valid one, 4]"""
        return np.concatenate([part.result() for part in self.measured])


@dataclass(frozen=True, slots=True)
class _Started:
    slot: Slot
    valid: NDArray[np.intp]  #: rows of the slot whose tiles get a score
    in_flight: InFlight | None  #: None: no row is valid
    began: float


class Forward:
    """One a stream of batches; not to be shared by threads."""

    def __init__(self, decoders: Decoders, release: Callable[[Slot], None]) -> None:
        self._decoders = decoders
        self._release = release
        self._started: deque[_Started] = deque()
        self._left: dict[Work, int] = {}  #: rows that are still to come
        self._said: WeakSet[Work] = WeakSet()  #: that they ended
        self.seconds = 0.0  #: in the model
        self.batches = 0
        self.padded = 0

    def run(self, channel: Channel[Slot | Ended]) -> Iterator[Outputs | Ended]:
        """Never ends by itself. Raises Closed. An error of the model ends the works of its batch."""
        while True:
            item = channel.get(timeout=0.0 if self._started else None)
            if item is None:
                yield from self._finish()
            elif isinstance(item, Ended):
                while self._started:
                    yield from self._finish()
                yield from self._end(item)
            else:
                try:
                    self._begin(item)
                except Exception as error:  # noqa: BLE001  # the border of a batch: whoever began its works decides
                    self._release(item)
                    yield from self._failed(item, error)
                while len(self._started) >= DEPTH:
                    yield from self._finish()

    def _begin(self, slot: Slot) -> None:
        """Hands a batch over, without the rows of works that are gone."""
        alive = np.array([not work.gone for work in slot.works])
        valid = (slot.tiles >= 0) & alive[slot.owner]
        valid[list(slot.broken)] = False
        rows = np.flatnonzero(valid)
        if not len(rows):
            self._started.append(_Started(slot, rows, None, time.perf_counter()))
            return
        work = slot.works[int(slot.owner[rows[0]])]
        pixels = slot.rows.of(self._decoders.memory)[slot.first : slot.first + slot.size]
        began = time.perf_counter()
        numerics = work.plan.numerics
        if isinstance(work.model, Queueing):
            in_flight: InFlight = work.model.start(pixels, numerics)
        else:
            measured = self._measured(slot, slot.first + int(rows[-1]) + 1)
            scores = work.model.infer(pixels, numerics)
            in_flight = _Done(scores, time.perf_counter() - began, measured)
        self._started.append(_Started(slot, rows, in_flight, began))

    def _measured(self, slot: Slot, last: int) -> tuple[Future[NDArray[np.float32]], ...]:
        """The slot's rows up to row `last` of the memory."""
        return tuple(
            self._decoders.submit(MeasureRows(slot.rows, low, min(low + MEASURED_TOGETHER, last)))
            for low in range(slot.first, last, MEASURED_TOGETHER)
        )

    def _finish(self) -> Iterator[Outputs | Ended]:
        """The oldest batch in flight."""
        started = self._started.popleft()
        slot = started.slot
        try:
            outputs = self._outputs(started)
        except Exception as error:  # noqa: BLE001  # as above
            yield from self._failed(slot, error)
        else:
            yield from outputs
        finally:
            self._release(slot)

    def _outputs(self, started: _Started) -> list[Outputs | Ended]:
        found: list[Outputs | Ended] = []
        slot, rows, seconds, ended = started.slot, started.valid, 0.0, started.began
        columns = len(slot.works[0].plan.card.columns)  # of the one model that all works of a slot have
        scores, quality = np.empty((0, columns), np.float32), unmeasured()
        if started.in_flight is not None:
            scores = _taken(started.in_flight.scores(), rows)
            ended = time.perf_counter()
            seconds = started.in_flight.seconds
            quality = _taken(started.in_flight.quality(), rows)
            self.seconds += seconds
            self.batches += 1
            self.padded += slot.size - len(rows)
            if not np.isfinite(scores).all():
                raise ModelFailed(
                    "The model gave values that are not numbers: its weights do not fit its card, or it overflows."
                )
        padded = slot.size - len(rows) if len(rows) else 0
        numbers, owner = _taken(slot.tiles, rows), _taken(slot.owner, rows)
        for number, work in enumerate(slot.works):
            owned = np.flatnonzero(owner == number)
            tiles = _taken(numbers, owned)
            unreadable = {
                int(slot.tiles[row]): slot.reason(row)
                for row in sorted(slot.broken)
                if slot.owner[row] == number and slot.tiles[row] >= 0 and not work.gone
            }
            if len(tiles) or unreadable:
                share = len(tiles) / len(rows) if len(rows) else 0.0
                found.append(
                    Outputs(
                        work=work,
                        tiles=tiles,
                        scores=_taken(scores, owned),
                        quality=_taken(quality, owned),
                        unreadable=unreadable,
                        padded=padded,
                        seconds=seconds * share,
                        began=started.began,
                        ended=ended,
                    )
                )
                padded = 0
            found += self._counted(work, int(((slot.owner == number) & (slot.tiles >= 0)).sum()))
        return found

    def _counted(self, work: Work, rows: int) -> list[Ended]:
        """So many rows of the work came out. After the last one it has ended."""
        if work in self._said:
            return []
        self._left[work] = self._left.get(work, len(work.tiles)) - rows
        return [] if self._left[work] else self._end(Ended(work))

    def _end(self, ended: Ended) -> list[Ended]:
        """Once a work."""
        if ended.work in self._said:
            return []
        self._left.pop(ended.work, None)
        self._said.add(ended.work)
        ended.work.ended.set()
        return [ended]

    def _failed(self, slot: Slot, error: Exception) -> list[Ended]:
        return [ended for work in slot.works for ended in self._end(Ended(work, error))]


def _taken(values: NDArray[_Number], rows: NDArray[np.intp]) -> NDArray[_Number]:
    """`values[rows]`, of rows that ascend. All of them are mostly taken, and are not copied then."""
    return values if len(rows) == len(values) else values[rows]
