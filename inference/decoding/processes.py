"""Decoders in processes of their own, which share the memory of the batches: 14 of them keep up with an H100.

If a process dies (a damaged tile crashed its codec), the tiles of its current task are tried once more, each alone; a
tile that crashes a process again is unreadable.
"""

from __future__ import annotations

import logging
import mmap
import os
import selectors
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from inference.child_signals import block_signals
from inference.decoding import wire
from inference.decoding.decode_tasks import DecodeTask, Failures, Memory, Recipe, ScatterTiles
from inference.decoding.memory import allocate_shared
from inference.decoding.threads import ThreadDecoders

log = logging.getLogger(__name__)

#: Tasks sent to a process: the current one, and the next, so that it never waits for us.
TASKS_AHEAD: Final = 2
#: Bytes of shared memory for a task; larger tasks go through the socket.
SLAB: Final = 4 * 1024**2
#: Deaths in a row, for each process and without a finished task between them, after which tiles are not the cause.
MAX_DEATHS: Final = 3
_CELL: Final = 8  #: bytes of the count of tasks that a process began
END_SECONDS: Final = 5.0  #: that a process gets for its current task when the decoders are closed

_ENDED = "its decoder process ended while decoding it"


@dataclass(eq=False, slots=True)
class _Submitted:
    """A task on its way, and its future."""

    task: DecodeTask
    done: Future[Any]
    slab: int | None = None  #: byte of the memory that holds it
    is_suspect: bool = False  #: a process died while running it


@dataclass(eq=False, slots=True)
class _Process:
    """A decoder process."""

    handle: subprocess.Popen[bytes]
    connection: Connection
    cell: int  #: byte of the memory that holds `begun`
    begun: NDArray[np.int64]  #: [1] tasks that it began, by its own count
    sent: int = 0  #: tasks
    recipe: Recipe | None = None  #: of the last task sent
    tasks: deque[_Submitted] = field(default_factory=deque)  #: in the order sent: the first is the current one
    ready: threading.Event = field(default_factory=threading.Event)  #: it has loaded its codecs


class ProcessDecoders:
    """The `Decoders` of `inference.decoding.decode_tasks`, in processes."""

    def __init__(self, workers: int, memory_bytes: int, *, whole: bool = False) -> None:
        """Start the processes. `whole`: all of the memory will be used, so that every process maps it before its first
        task. Raises OSError where memory cannot be shared by descriptor (it can on Linux)."""
        self._workers = workers
        self._whole = whole
        slabs, begin = workers * TASKS_AHEAD, -(-memory_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        cells = begin + slabs * SLAB
        self._size = cells + workers * _CELL
        self._descriptor, self._all = allocate_shared(self._size)
        self._memory = self._all[:memory_bytes]
        self._slabs = [begin + number * SLAB for number in range(slabs)]
        self._ahead = threading.Semaphore(slabs)
        self._threads = ThreadDecoders(workers, self._memory)
        self._lock = threading.RLock()
        self._waiting: deque[_Submitted] = deque()
        self._at_close: list[Callable[[], None]] = []
        self._deaths = 0
        self._seconds = 0.0
        self._closed = False
        #: Reused for all answers: `multiprocessing.connection.wait` makes one for each.
        self._selector = selectors.DefaultSelector()
        self._processes = [self._start(cells + number * _CELL) for number in range(workers)]
        self._collector = threading.Thread(target=self._collect_answers, name="decoders", daemon=True)
        self._collector.start()

    @property
    def memory(self) -> Memory:
        return self._memory

    @property
    def pending(self) -> int:
        with self._lock:
            sent = sum(len(process.tasks) for process in self._processes)
            return len(self._waiting) + sent + self._threads.pending

    @property
    def seconds(self) -> float:
        return self._seconds + self._threads.seconds

    @property
    def pids(self) -> list[int]:
        with self._lock:
            return [process.handle.pid for process in self._processes]

    @property
    def tiles_per_task(self) -> int:
        """Return 64: dispatching a task and receiving its answer takes this process some 0.2 ms, whatever its size."""
        return 64

    def wait_until_ready(self) -> None:
        """Wait until every process has loaded its codecs. Tasks may be submitted before."""
        for process in self._processes:
            process.ready.wait()

    def submit(self, task: DecodeTask) -> Future[Any]:
        """Submit a task; one that holds a reader runs on a thread of this process. Raises RuntimeError once closed."""
        if not task.is_portable:
            return self._threads.submit(task)
        self._ahead.acquire()
        submitted = _Submitted(task, Future())
        submitted.done.add_done_callback(lambda _: self._ahead.release())
        with self._lock:
            if self._closed:
                submitted.done.cancel()
                raise RuntimeError("the decoders are closed")
            self._waiting.append(submitted)
            self._send_waiting()
        return submitted.done

    def run_at_close(self, undo: Callable[[], None]) -> None:
        """Have `undo` called once no decoder uses the memory any more."""
        self._at_close.append(undo)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            left = [*self._waiting, *(task for process in self._processes for task in process.tasks)]
            for process in self._processes:
                process.connection.close()
        for task in left:
            task.done.cancel()
        for process in self._processes:
            try:
                process.handle.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.handle.kill()
                process.handle.wait()
        self._threads.close()
        for undo in self._at_close:
            undo()
        self._collector.join(END_SECONDS)
        self._selector.close()
        os.close(self._descriptor)

    def _start(self, cell: int) -> _Process:
        ours, theirs = socket.socketpair()
        begun = self._all[cell : cell + _CELL].view(np.int64)
        begun[0] = 0
        with theirs, block_signals():
            command = [sys.executable, "-m", "inference.decoding.child"]
            handle = subprocess.Popen(
                [*command, *map(str, (theirs.fileno(), self._descriptor, self._size, cell, int(self._whole)))],
                pass_fds=(theirs.fileno(), self._descriptor),
                stdin=subprocess.DEVNULL,
                # One thread each: the processes are as many as the cores.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
            )
        process = _Process(handle, Connection(ours.detach()), cell, begun)
        self._selector.register(process.connection, selectors.EVENT_READ, process)
        return process

    def _send_waiting(self) -> None:
        """Send the tasks that wait to the processes that have the fewest."""
        while self._waiting:
            process = min(self._processes, key=lambda each: len(each.tasks))
            if len(process.tasks) >= TASKS_AHEAD:
                return
            task = self._waiting.popleft()
            process.tasks.append(task)
            try:
                process.connection.send(self._encode(process, task))
                process.sent += 1
            except (BrokenPipeError, ConnectionResetError):
                self._waiting.appendleft(process.tasks.pop())  # it never got this task, which cannot be the cause
                return  # dead: the collector finds out and sends its tasks elsewhere

    def _encode(self, process: _Process, submitted: _Submitted) -> DecodeTask | wire.EncodedTask:
        """Return what to send of a task. Its tiles go into a slab of the memory if they fit."""
        task = submitted.task
        if not isinstance(task, ScatterTiles):
            return task
        recipe = None if process.recipe is task.recipe else task.recipe
        if submitted.slab is None:
            submitted.slab = self._slabs.pop()
        where = wire.encode_task(task, submitted.slab, recipe)
        if where.data.stop - where.slab > SLAB:
            return replace(task, encoded=replace(task.encoded, data=bytes(task.encoded.data)))
        wire.write_task(task, where, self._all)
        process.recipe = task.recipe
        return where

    def _collect_answers(self) -> None:
        while True:
            with self._lock:
                if self._closed:
                    return
            for key, _ in self._selector.select(timeout=0.2):
                process: _Process = key.data
                try:
                    value, error, seconds = process.connection.recv()
                except (EOFError, OSError):  # it died, or the decoders are closed
                    self._replace_dead(process)
                    continue
                if not process.ready.is_set():
                    process.ready.set()  # its first message
                    continue
                with self._lock:
                    self._deaths, self._seconds = 0, self._seconds + seconds
                    task = process.tasks.popleft()
                    self._free_slab(task)
                    self._send_waiting()
                if error is None:
                    task.done.set_result(value)
                else:
                    task.done.set_exception(error)

    def _free_slab(self, task: _Submitted) -> None:
        if task.slab is not None:
            self._slabs.append(task.slab)
            task.slab = None

    def _replace_dead(self, process: _Process) -> None:
        """Start another process in place of one that died, and retry its tasks."""
        settled: list[tuple[_Submitted, Failures | Exception]] = []
        with self._lock:
            if self._closed:
                return
            status = process.handle.wait()
            log.warning("a decoder process ended", extra={"status": status, "tasks": len(process.tasks)})
            self._selector.unregister(process.connection)
            process.connection.close()
            process.ready.set()  # nobody must wait for it
            self._deaths += 1
            tasks = list(process.tasks)
            for task in tasks:
                self._free_slab(task)
            if self._deaths > MAX_DEATHS * self._workers:
                error = RuntimeError(f"Decoder processes end as soon as they begin, the last with status {status}.")
                settled = [(task, error) for task in (*tasks, *self._waiting)]
                self._waiting.clear()
            else:
                again, settled = _plan_retries(tasks, begun=process.begun[0] > process.sent - len(tasks))
                self._waiting.extendleft(reversed(again))
            self._processes[self._processes.index(process)] = self._start(process.cell)
            self._send_waiting()
        for task, outcome in settled:
            if isinstance(outcome, Exception):
                task.done.set_exception(outcome)
            else:
                task.done.set_result(outcome)


def _plan_retries(
    tasks: list[_Submitted], *, begun: bool
) -> tuple[list[_Submitted], list[tuple[_Submitted, Failures | Exception]]]:
    """Return the tasks of a dead process to retry, and those to settle with an outcome. Only the first of them, if the
    process had `begun` it, can be the cause."""
    if not tasks or not begun:
        return tasks, []
    suspect, *others = tasks
    task = suspect.task
    if not isinstance(task, ScatterTiles):
        if suspect.is_suspect:
            return others, [(suspect, RuntimeError("Two decoder processes ended at the same job."))]
        suspect.is_suspect = True
        return [suspect, *others], []
    if suspect.is_suspect:
        return others, [(suspect, tuple((tile, _ENDED) for tile in task.encoded.tiles.tolist()))]
    parts = [_Submitted(part, Future(), is_suspect=True) for part in task.split()]
    _finish_with(parts, suspect.done)
    return [*parts, *others], []


def _finish_with(parts: list[_Submitted], whole: Future[Any]) -> None:
    """Have `whole` done once all parts are."""
    left = len(parts)
    lock = threading.Lock()

    def finish_part(_: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            if left:
                return
        if any(part.done.cancelled() for part in parts):
            whole.cancel()
            return
        errors = [error for part in parts if (error := part.done.exception()) is not None]
        if errors:
            whole.set_exception(errors[0])
        else:
            whole.set_result(tuple(failure for part in parts for failure in part.done.result()))

    for part in parts:
        part.done.add_done_callback(finish_part)
