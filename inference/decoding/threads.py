"""Decoders on threads of this process: the codecs release Python's lock. For models on the CPU, which take most of the
cores; 14 threads are slowed down by Python's own steps (11,000-15,000 tiles/s against 21,600 of processes on an H100's
16 cores)."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from inference.decoding.decode_tasks import DecodeTask, Memory

#: Tasks that may be submitted ahead of each thread: enough to bridge one slow tile.
TASKS_AHEAD = 2


class ThreadDecoders:
    """The `Decoders` of `inference.decoding.decode_tasks`, on threads."""

    def __init__(self, workers: int, memory: Memory) -> None:
        self._memory = memory
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="decode")  # starts threads as it needs them
        self._free = threading.Semaphore(workers * TASKS_AHEAD)
        self._tasks: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self.seconds = 0.0

    @property
    def memory(self) -> Memory:
        return self._memory

    @property
    def pending(self) -> int:
        return len(self._tasks)

    @property
    def tiles_per_task(self) -> int:
        """Return 16: tasks of one tile took 8 % more CPU over all stages with JPEG tiles of 240 px."""
        return 16

    def submit(self, task: DecodeTask) -> Future[Any]:
        self._free.acquire()
        done = self._pool.submit(self._run, task)
        self._tasks.add(done)
        done.add_done_callback(self._forget)
        return done

    def _run(self, task: DecodeTask) -> Any:
        began = time.perf_counter()
        try:
            return task.run(self._memory)
        finally:
            with self._lock:
                self.seconds += time.perf_counter() - began

    def _forget(self, done: Future[Any]) -> None:
        self._tasks.discard(done)
        self._free.release()

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
