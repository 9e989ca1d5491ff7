"""Decoders in processes of their own, which share the memory of the batches: 14 of them keep up with an H100.

A process that dies (a codec that a damaged tile brings down) costs the tiles that it worked at one more try, each
alone; those that end a process again are unreadable.
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

from gpu_worker.decoding import wire
from gpu_worker.decoding.jobs import Failures, Job, Memory, Recipe, ScatterTiles
from gpu_worker.decoding.memory import shared
from gpu_worker.decoding.threads import ThreadDecoders

log = logging.getLogger(__name__)

#: Jobs sent to a process: the one it works at, and the next, so that it never waits for us.
AHEAD: Final = 2
#: Bytes of a job that lie in shared memory; larger ones travel through the socket.
SLAB: Final = 4 * 1024**2
#: Deaths without a finished job between them, a process, after which it is not the tiles.
MOST_DEATHS: Final = 3
_CELL: Final = 8  #: bytes of the number of jobs that a process began
END_SECONDS: Final = 5.0  #: that a process gets for the job it works at when the decoders are closed

_ENDED = "its decoder process ended while decoding it"


@dataclass(eq=False, slots=True)
class _Task:
    job: Job
    done: Future[Any]
    slab: int | None = None  #: byte of the memory
    tried: bool = False  #: a process has died of it


@dataclass(eq=False, slots=True)
class _Process:
    handle: subprocess.Popen[bytes]
    connection: Connection
    cell: int  #: byte of the memory that `begun` lies at
    begun: NDArray[np.int64]  #: [1] jobs that it says it began
    sent: int = 0  #: jobs
    recipe: Recipe | None = None  #: of the last job sent
    tasks: deque[_Task] = field(default_factory=deque)  #: in the order sent: the first is worked at
    ready: threading.Event = field(default_factory=threading.Event)  #: it has loaded its codecs


class ProcessDecoders:
    def __init__(self, workers: int, memory_bytes: int, *, whole: bool = False) -> None:
        """`whole`: the memory will be taken from the machine anyway, so that every process maps it before its first
        job. Raises OSError where memory can not be shared by descriptor (it can on Linux)."""
        self._workers = workers
        self._whole = whole
        slabs, begin = workers * AHEAD, -(-memory_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        cells = begin + slabs * SLAB
        self._size = cells + workers * _CELL
        self._descriptor, self._all = shared(self._size)
        self._memory = self._all[:memory_bytes]
        self._slabs = [begin + number * SLAB for number in range(slabs)]
        self._ahead = threading.Semaphore(slabs)
        self._here = ThreadDecoders(workers, self._memory)
        self._lock = threading.RLock()
        self._waiting: deque[_Task] = deque()
        self._undone: list[Callable[[], None]] = []
        self._deaths = 0
        self._seconds = 0.0
        self._closed = False
        #: Kept from answer to answer: `multiprocessing.connection.wait` makes one for each.
        self._selector = selectors.DefaultSelector()
        self._processes = [self._start(cells + number * _CELL) for number in range(workers)]
        self._collector = threading.Thread(target=self._collect, name="decoders", daemon=True)
        self._collector.start()

    @property
    def memory(self) -> Memory:
        return self._memory

    @property
    def pending(self) -> int:
        with self._lock:
            sent = sum(len(process.tasks) for process in self._processes)
            return len(self._waiting) + sent + self._here.pending

    @property
    def seconds(self) -> float:
        return self._seconds + self._here.seconds

    @property
    def pids(self) -> list[int]:
        with self._lock:
            return [process.handle.pid for process in self._processes]

    @property
    def tiles_a_job(self) -> int:
        """Handing out a job and hearing of it takes some 0.2 ms of this process, whatever its size."""
        return 64

    def wait_until_ready(self) -> None:
        """Until every process has loaded its codecs. Work may be submitted before."""
        for process in self._processes:
            process.ready.wait()

    def submit(self, job: Job) -> Future[Any]:
        """A job that holds a reader is done on a thread of this process. Raises RuntimeError once closed."""
        if not job.portable:
            return self._here.submit(job)
        self._ahead.acquire()
        task = _Task(job, Future())
        task.done.add_done_callback(lambda _: self._ahead.release())
        with self._lock:
            if self._closed:
                task.done.cancel()
                raise RuntimeError("the decoders are closed")
            self._waiting.append(task)
            self._feed()
        return task.done

    def at_end(self, undo: Callable[[], None]) -> None:
        """Called once nobody works in the memory any more."""
        self._undone.append(undo)

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
        self._here.close()
        for undo in self._undone:
            undo()
        self._collector.join(END_SECONDS)
        self._selector.close()
        os.close(self._descriptor)

    def _start(self, cell: int) -> _Process:
        ours, theirs = socket.socketpair()
        begun = self._all[cell : cell + _CELL].view(np.int64)
        begun[0] = 0
        with theirs:
            command = [sys.executable, "-m", "gpu_worker.decoding.child"]
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

    def _feed(self) -> None:
        """Sends what waits to the processes that have least to do."""
        while self._waiting:
            process = min(self._processes, key=lambda each: len(each.tasks))
            if len(process.tasks) >= AHEAD:
                return
            task = self._waiting.popleft()
            process.tasks.append(task)
            try:
                process.connection.send(self._said(process, task))
                process.sent += 1
            except (BrokenPipeError, ConnectionResetError):
                self._waiting.appendleft(process.tasks.pop())  # it did not die of what it never got
                return  # dead: the collector finds out and sends its tasks elsewhere

    def _said(self, process: _Process, task: _Task) -> Job | wire.Sent:
        """What is sent of a task. Its tiles are put into a slab where they fit."""
        job = task.job
        if not isinstance(job, ScatterTiles):
            return job
        recipe = None if process.recipe is job.recipe else job.recipe
        if task.slab is None:
            task.slab = self._slabs.pop()
        where = wire.sent(job, task.slab, recipe)
        if where.data.stop - where.slab > SLAB:
            return replace(job, encoded=replace(job.encoded, data=bytes(job.encoded.data)))
        wire.put(job, where, self._all)
        process.recipe = job.recipe
        return where

    def _collect(self) -> None:
        while True:
            with self._lock:
                if self._closed:
                    return
            for key, _ in self._selector.select(timeout=0.2):
                process: _Process = key.data
                try:
                    value, error, seconds = process.connection.recv()
                except (EOFError, OSError):  # it died, or the decoders are closed
                    self._bury(process)
                    continue
                if not process.ready.is_set():
                    process.ready.set()  # its first word
                    continue
                with self._lock:
                    self._deaths, self._seconds = 0, self._seconds + seconds
                    task = process.tasks.popleft()
                    self._free(task)
                    self._feed()
                if error is None:
                    task.done.set_result(value)
                else:
                    task.done.set_exception(error)

    def _free(self, task: _Task) -> None:
        if task.slab is not None:
            self._slabs.append(task.slab)
            task.slab = None

    def _bury(self, process: _Process) -> None:
        """Another process takes the place of one that died; its tasks go on."""
        settled: list[tuple[_Task, Failures | Exception]] = []
        with self._lock:
            if self._closed:
                return
            status = process.handle.wait()
            log.warning("a decoder process ended", extra={"status": status, "tasks": len(process.tasks)})
            self._selector.unregister(process.connection)
            process.connection.close()
            process.ready.set()  # nobody is to wait for it
            self._deaths += 1
            tasks = list(process.tasks)
            for task in tasks:
                self._free(task)
            if self._deaths > MOST_DEATHS * self._workers:
                error = RuntimeError(f"Decoder processes end as soon as they begin, the last with status {status}.")
                settled = [(task, error) for task in (*tasks, *self._waiting)]
                self._waiting.clear()
            else:
                again, settled = _another_try(tasks, begun=process.begun[0] > process.sent - len(tasks))
                self._waiting.extendleft(reversed(again))
            self._processes[self._processes.index(process)] = self._start(process.cell)
            self._feed()
        for task, outcome in settled:
            if isinstance(outcome, Exception):
                task.done.set_exception(outcome)
            else:
                task.done.set_result(outcome)


def _another_try(tasks: list[_Task], *, begun: bool) -> tuple[list[_Task], list[tuple[_Task, Failures | Exception]]]:
    """What is done again, and what is settled, of a dead process's tasks. It worked at the first of them only, if it
    had `begun` that one."""
    if not tasks or not begun:
        return tasks, []
    guilty, *others = tasks
    job = guilty.job
    if not isinstance(job, ScatterTiles):
        if guilty.tried:
            return others, [(guilty, RuntimeError("Two decoder processes ended at the same job."))]
        guilty.tried = True
        return [guilty, *others], []
    if guilty.tried:
        return others, [(guilty, tuple((tile, _ENDED) for tile in job.encoded.tiles.tolist()))]
    parts = [_Task(part, Future(), tried=True) for part in job.alone()]
    _gather(guilty.done, parts)
    return [*parts, *others], []


def _gather(whole: Future[Any], parts: list[_Task]) -> None:
    """`whole` is done when all parts are."""
    left = len(parts)
    lock = threading.Lock()

    def finished(_: Future[Any]) -> None:
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
        part.done.add_done_callback(finished)
