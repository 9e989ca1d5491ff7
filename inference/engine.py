"""The stages in parallel, over shards of any number of slides and models: while the model computes one batch, the next
ones are decoded and the bytes of the next shard are fetched.

    begin -> fetch -> [encoded bytes] -> decode -> [rows] -> batch -> [full slots] -> forward -> next

Each stage has a thread of its own and reads from a bounded channel; `Decoders` decode and copy.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

from inference.channel import Channel, Closed
from inference.decoding.decode_tasks import Decoders
from inference.shard_stats import StageTimes
from inference.shard_task import ShardTask
from inference.stages.batch import Batches
from inference.stages.decode import PlacementDecoder
from inference.stages.forward import Forward
from inference.stages.prefetch import JOIN_SECONDS, Prefetcher
from inference.stages.values import Begun, Ended, FetchDone, Fetched, Outputs, Slot

log = logging.getLogger(__name__)

#: Bytes of encoded tiles that may wait between fetch and decode: several requests, to bridge one slow response.
ENCODED_BYTES: Final = 8 * 1024**2
#: Seconds that the model waits for a full batch when tiles that would fill it are on their way.
FULL_BATCH_SECONDS: Final = 0.25
#: Seconds between checks whether the model waits, while a batch is not full and no tile comes.
POLL_SECONDS: Final = 0.002


class Engine:
    """Computes shard tasks with a set of decoders. `inference.shard_loop` drives it."""

    def __init__(
        self,
        decoders: Decoders,
        budget: int,
        *,
        encoded_bytes: int = ENCODED_BYTES,
        full_batch_seconds: float = FULL_BATCH_SECONDS,
        join_seconds: float = JOIN_SECONDS,
        forward: Callable[[Decoders, Callable[[Slot], None]], Forward] = Forward,
    ) -> None:
        """Start the stages. `budget`: bytes of the decoders' memory that batches may fill."""
        self._decoders = decoders
        self._full_batch_seconds = full_batch_seconds
        self._join_seconds = join_seconds
        self._prefetcher = Prefetcher(budget, encoded_bytes, join_seconds=join_seconds)
        self._full: Channel[Slot | Ended] = Channel(0)
        self._events: queue.SimpleQueue[Outputs | Ended | Exception] = queue.SimpleQueue()
        self._batches = Batches(decoders.memory, budget, self._full.put)
        self._undecoded = 0  #: tasks begun and not yet decoded as a whole
        self._lock = threading.Lock()
        self._batch_seconds = 0.0
        self.forward = forward(decoders, self._batches.release)
        self._threads = [
            threading.Thread(target=self._run_stage, args=(stage,), name=name, daemon=True)
            for name, stage in (("scatter", self._decode), ("forward", self._forward))
        ]
        for thread in self._threads:
            thread.start()

    def begin(self, task: ShardTask) -> None:
        """Compute a task, which must have tiles, behind those begun before. Raises Closed once the engine is closed."""
        with self._lock:
            self._undecoded += 1
        self._prefetcher.begin(task)

    def wait_for_event(self, timeout: float | None = None) -> Outputs | Ended | None:
        """Return what came out next, or None if nothing did within `timeout` seconds. A task's Ended is its last event.
        Raises the error that broke a stage."""
        try:
            event = self._events.get(timeout=timeout)
        except queue.Empty:
            return None
        if isinstance(event, Exception):
            raise event
        return event

    @property
    def stage_times(self) -> StageTimes:
        """Return what the stages spent so far."""
        fetch = self._prefetcher.times
        return StageTimes(
            fetch=fetch.reading,
            decode=self._decoders.seconds,
            batch=self._batch_seconds,
            fetch_out=fetch.room,
            decode_in=fetch.starving,
            decode_out=self._batches.waited,
            forward_in=self._full.get_waited,
        )

    @property
    def stalled_stage(self) -> str:
        """Return the stage that hangs when none makes progress: the last one that is not waiting for input, since all
        behind it are starved."""
        if not self._full.starves:
            return "forward"
        return "decode" if self._decoders.pending or not self._prefetcher.starves else "fetch"

    def close(self) -> None:
        """End the stages; what they hold is dropped."""
        self._prefetcher.close()
        self._batches.close()
        self._full.close()
        for thread in self._threads:
            thread.join(self._join_seconds)
            if thread.is_alive():
                log.warning("stage did not end in time", extra={"stage": thread.name})

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run_stage(self, stage: Callable[[], None]) -> None:
        try:
            stage()
        except Closed:
            pass
        except Exception as error:  # noqa: BLE001  # a thread's border: `wait_for_event` raises it
            self._events.put(error)

    def _decode(self) -> None:
        placement: PlacementDecoder | None = None
        while True:
            self._batch_seconds = time.thread_time()
            value = self._next_fetched()
            if isinstance(value, Begun):
                placement = self._begin_placement(value, placement)
            elif isinstance(value, Fetched):
                if placement is not None and not value.task.is_cancelled:
                    placement.add(value)
            else:
                self._finish_fetched(value, placement)
                placement = None

    def _next_fetched(self) -> Begun | Fetched | FetchDone:
        """Wait for the next value. Meanwhile a batch that is not full waits for the next shard's tiles until the model
        has nothing else to do, and a little longer when some are on their way."""
        since = None
        while True:
            value = self._prefetcher.get(timeout=POLL_SECONDS if self._batches.is_partial else None)
            if value is not None:
                return value
            if not self._batches.model_waits:
                since = None
                continue
            since = since or time.monotonic()
            if not self._undecoded or time.monotonic() - since >= self._full_batch_seconds:
                self._batches.flush()

    def _begin_placement(self, begun: Begun, before: PlacementDecoder | None) -> PlacementDecoder | None:
        if begun.task.is_cancelled:
            return before
        rows = self._batches.lay_out(begun.task.shape)
        return PlacementDecoder(begun, rows, self._batches, self._decoders)

    def _finish_fetched(self, done: FetchDone, placement: PlacementDecoder | None) -> None:
        task = done.task
        if done.error is not None:
            task.ended.set()
        if task.is_cancelled:
            ended = Ended(task, done.error)
            if placement is not None:
                placement.abandon(ended)
            else:
                self._batches.end(ended)
        with self._lock:
            self._undecoded -= 1

    def _forward(self) -> None:
        for event in self.forward.run(self._full):
            self._events.put(event)
