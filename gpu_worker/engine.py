"""The stages side by side, over works of any number of slides and models: while the model is at one batch the next ones
are decoded, and the bytes of the next shard fetched.

    begin -> fetch -> [encoded bytes] -> decode -> [rows] -> batch -> [full slots] -> forward -> next

Each stage has a thread of its own and takes from a bounded channel; decoding and copying is done by `Decoders`.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

from gpu_worker.channel import Channel, Closed
from gpu_worker.computed import Spent
from gpu_worker.decoding.jobs import Decoders
from gpu_worker.stages.batch import Batches
from gpu_worker.stages.decode import Scattering
from gpu_worker.stages.fetching import JOIN_SECONDS, Fetching
from gpu_worker.stages.forward import Forward
from gpu_worker.stages.values import Begun, Ended, Fetched, Outputs, Sent, Slot
from gpu_worker.work import Work

log = logging.getLogger(__name__)

#: Bytes of encoded tiles that wait between fetch and decode: some requests, so that one slow answer is ridden out.
ENCODED_BYTES: Final = 8 * 1024**2
#: Seconds that a model waits for a full batch, when tiles that would fill it are on their way.
PATIENCE: Final = 0.25
#: Seconds between looks at whether the model waits, while a batch is not full and nothing comes.
GLANCE: Final = 0.002


class Engine:
    def __init__(
        self,
        decoders: Decoders,
        budget: int,
        *,
        encoded_bytes: int = ENCODED_BYTES,
        forward: Callable[[Decoders, Callable[[Slot], None]], Forward] = Forward,
    ) -> None:
        """`budget`: bytes of the decoders' memory that batches may fill."""
        self._decoders = decoders
        self._fetching = Fetching(budget, encoded_bytes)
        self._full: Channel[Slot | Ended] = Channel(0)
        self._events: queue.SimpleQueue[Outputs | Ended | Exception] = queue.SimpleQueue()
        self._batches = Batches(decoders.memory, budget, self._full.put)
        self._coming = 0  #: works begun and not yet wholly decoded
        self._lock = threading.Lock()
        self._batch_seconds = 0.0
        self.forward = forward(decoders, self._batches.release)
        self._threads = [
            threading.Thread(target=self._stage, args=(stage,), name=name, daemon=True)
            for name, stage in (("scatter", self._decode), ("forward", self._forward))
        ]
        for thread in self._threads:
            thread.start()

    def begin(self, work: Work) -> None:
        """Computed behind those that were begun before. It must have tiles. Raises Closed once the engine is."""
        with self._lock:
            self._coming += 1
        self._fetching.begin(work)

    def next(self, timeout: float | None = None) -> Outputs | Ended | None:
        """What came out next; None when nothing did in that many seconds. Of a work nothing comes after its Ended.
        Raises what broke a stage."""
        try:
            event = self._events.get(timeout=timeout)
        except queue.Empty:
            return None
        if isinstance(event, Exception):
            raise event
        return event

    @property
    def spent(self) -> Spent:
        fetch = self._fetching.spent
        return Spent(
            fetch=fetch.reading,
            decode=self._decoders.seconds,
            batch=self._batch_seconds,
            fetch_out=fetch.room,
            decode_in=fetch.asking,
            decode_out=self._batches.waited,
            forward_in=self._full.get_waited,
        )

    @property
    def hanging(self) -> str:
        """Of stages that do not go forward, the one that hangs: the last that does not wait for what comes to it, since
        all behind it are starved."""
        if not self._full.starves:
            return "forward"
        return "decode" if self._decoders.pending or not self._fetching.starves else "fetch"

    def close(self) -> None:
        self._fetching.close()
        self._batches.close()
        self._full.close()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)
            if thread.is_alive():
                log.warning("stage did not end in time", extra={"stage": thread.name})

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _stage(self, stage: Callable[[], None]) -> None:
        try:
            stage()
        except Closed:
            pass
        except Exception as error:  # noqa: BLE001  # a thread's border: `next` raises it
            self._events.put(error)

    def _decode(self) -> None:
        scattering: Scattering | None = None
        while True:
            self._batch_seconds = time.thread_time()
            value = self._next_fetched()
            if isinstance(value, Begun):
                scattering = self._begun(value, scattering)
            elif isinstance(value, Fetched):
                if scattering is not None and not value.work.gone:
                    scattering.add(value)
            else:
                self._sent(value, scattering)
                scattering = None

    def _next_fetched(self) -> Begun | Fetched | Sent:
        """A batch that is not full waits for the next shard's tiles until the model has nothing else to do, and a
        little longer when some are on their way."""
        since = None
        while True:
            value = self._fetching.get(timeout=GLANCE if self._batches.is_partial else None)
            if value is not None:
                return value
            if not self._batches.model_waits:
                since = None
                continue
            since = since or time.monotonic()
            if not self._coming or time.monotonic() - since >= PATIENCE:
                self._batches.flush()

    def _begun(self, begun: Begun, before: Scattering | None) -> Scattering | None:
        if begun.work.gone:
            return before
        rows = self._batches.lay_out(begun.work.shape)
        return Scattering(begun, rows, self._batches, self._decoders)

    def _sent(self, sent: Sent, scattering: Scattering | None) -> None:
        work = sent.work
        if sent.error is not None:
            work.ended.set()
        if work.gone:
            ended = Ended(work, sent.error)
            if scattering is not None:
                scattering.abandon(ended)
            else:
                self._batches.end(ended)
        with self._lock:
            self._coming -= 1

    def _forward(self) -> None:
        for event in self.forward.run(self._full):
            self._events.put(event)
