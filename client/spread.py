"""The shards of one slide over several devices, a process each; they meet in the slide's folder of partial results.

A process that ends (killed, or its device lost) gives its shards back, and the others go on without it for the rest of
the run. Which shard is computed where, and after how many tries, changes no byte of the results.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from client.shard_messages import BeginSlide, End, Failed, Left, Ready, Saved, Setup, Stop, Tiles
from client.shards import BEGUN, ModelToRun, Planned, Watched
from gpu_worker.all_devices import OneDevice, decode_workers
from wsi.errors import DeviceLost, TesseraError

GLANCE: Final = 0.1  #: seconds between looks at whether to stop
END_SECONDS: Final = 5.0  #: that a process gets to end once its connection is closed
#: Processes that end with a shard before nobody else is to try it.
MOST_DEATHS: Final = 3


class ProcessEnded(TesseraError):
    code = "process_ended"


@dataclass(eq=False, slots=True)
class _Process:
    device: OneDevice
    handle: subprocess.Popen[bytes]
    connection: Connection
    shards: list[int] = field(default_factory=list[int])  #: given to it and not saved
    unsaved: int = 0  #: tiles of them that it told of
    ready: bool = False  #: its models are loaded
    works: bool = False  #: at a slide
    lost: DeviceLost | None = None  #: why it is about to end

    def tell(self, message: object) -> None:
        try:
            self.connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            return  # it ended: its last words are still to be read, and then its end

    def hear(self) -> Any:
        """None: it ended."""
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError):
            return None

    def end(self) -> int:
        """The exit status, once its connection is closed on either side."""
        try:
            return self.handle.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.handle.kill()
            return self.handle.wait()

    def ending(self) -> TesseraError:
        status = self.end()
        if self.lost is not None:
            return self.lost
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        return ProcessEnded(
            f"The process of {self.device.title} ended {how}: look whether memory ran out, then run the same command "
            "again, and it goes on where it stopped."
        )


class Spread:
    """For one thread."""

    def __init__(
        self,
        devices: Sequence[OneDevice],
        models: Sequence[ModelToRun],
        workers: int | None = None,
        *,
        on_lost: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """Returns once all have loaded the models. `workers`: decoders of each device; None: its share of the cores.
        `on_lost` is told of a process that the others go on without. Raises ModelError, UnsuitableDevice, DeviceLost
        as they do, and ProcessEnded."""
        self._on_lost = on_lost
        self._last_end: TesseraError | None = None
        self._processes: list[_Process] = []
        setup = {"models": tuple(models), "decode_workers": decode_workers(devices, workers)}
        try:
            for device in devices:
                self._processes.append(_start(device))
            for process in self._processes:
                process.tell(Setup(device=process.device.name, **setup))
            for process in self._processes:
                _await_ready(process)
        except BaseException:
            self.close()
            raise

    @property
    def devices(self) -> int:
        return max(1, len(self._processes))

    @property
    def pids(self) -> list[int]:
        return [process.handle.pid for process in self._processes]

    def compute(self, planned: Planned, model: ModelToRun, watched: Watched) -> None:
        """As `client.shards.Computing` says; also raises ProcessEnded."""
        run = _Run(planned, watched, self._processes)
        if not run.waiting:
            return
        begin = BeginSlide(
            slide=planned.slide,
            etags=tuple(file.etag for _, file in planned.source.files),
            index=planned.reader.index_bytes(),
            model=model.card.identity,
            folder=planned.partial.folder.parent,
            key=planned.partial.key,
        )
        for process in self._processes:
            process.works = True
            process.tell(begin)
        try:
            while any(process.works for process in self._processes):
                run.steer()
                for process in _heard(self._processes):
                    message = process.hear()
                    if message is not None:
                        run.take(process, message)
                    else:
                        self._lose(process, run)
        except BaseException:
            self.close()  # they are in the middle of a slide that nobody asks for any more
            raise
        if run.error is not None:
            raise run.error
        if run.unsaved:
            if watched.stop.is_set():
                raise KeyboardInterrupt
            raise self._last_end or ProcessEnded("No process is left: run the same command again.")

    def _lose(self, process: _Process, run: _Run) -> None:
        self._processes.remove(process)
        self._last_end = process.ending()
        process.connection.close()
        run.lose(process, self._last_end)
        if self._processes:
            self._on_lost(f"{process.device.title} ended, and the other devices go on without it")

    def close(self) -> None:
        for process in self._processes:
            process.connection.close()
            if not process.ready:
                process.handle.kill()  # it hears nothing while it loads
        for process in self._processes:
            process.end()
        self._processes.clear()


class _Run:
    """Of one slide: which shards wait, where the others are, and what came of them."""

    def __init__(self, planned: Planned, watched: Watched, processes: Sequence[_Process]) -> None:
        self.error: Exception | None = None
        self.waiting = deque(planned.unfinished(watched))
        self.unsaved = len(self.waiting)
        self._sizes = planned.plan.shard_sizes
        self._partial = planned.partial
        self._watched = watched
        self._processes = processes
        self._deaths: Counter[int] = Counter()
        self._ended = False

    def steer(self) -> None:
        """Hands out shards; tells all to end once there are none, and to stop before when the slide is to end."""
        stops = self.error is not None or self._watched.stop.is_set()
        if self._ended:
            return
        if stops or not self.unsaved:
            self._ended = True
            for process in self._processes:
                if stops:
                    process.tell(Stop())
                process.tell(End())
            return
        while self.waiting and self._processes:
            process = min(self._processes, key=lambda each: len(each.shards))
            if len(process.shards) >= BEGUN:
                return
            index = self.waiting.popleft()
            process.shards.append(index)
            process.tell(index)

    def take(self, process: _Process, message: Any) -> None:
        match message:
            case Tiles(count):
                process.unsaved += count
                self._watched.on_tiles(count)
            case Saved(index):
                process.shards.remove(index)
                process.unsaved -= self._sizes[index]
                self.unsaved -= 1
            case Failed(DeviceLost() as error):
                process.lost = error
            case Failed(error):
                self.error = self.error or error
            case Left():
                process.works, process.unsaved, process.shards = False, 0, []
            case _:
                raise AssertionError(f"{message} has no place here")

    def lose(self, process: _Process, end: TesseraError) -> None:
        """Its shards go to the others, unless one of them brings down whoever tries it."""
        if process.unsaved:
            self._watched.on_tiles(-process.unsaved)
        for index in reversed(process.shards):
            self._deaths[index] += 1
            if self._partial.finished(index):  # it came no more to telling so
                self._watched.on_tiles(self._sizes[index])
                self.unsaved -= 1
            elif self._deaths[index] >= MOST_DEATHS:
                self.error = self.error or end
            else:
                self.waiting.appendleft(index)


def _start(device: OneDevice) -> _Process:
    ours, theirs = socket.socketpair()
    with theirs:
        handle = subprocess.Popen(
            [sys.executable, "-m", "client.shard_process", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **device.environ()},
            process_group=0,
        )
    return _Process(device, handle, Connection(ours.detach()))


def _await_ready(process: _Process) -> None:
    match process.hear():
        case Ready():
            process.ready = True
        case Failed(error):
            raise error
        case _:
            raise process.ending()


def _heard(processes: Sequence[_Process]) -> Iterator[_Process]:
    """Those that have something to tell, or ended."""
    heard = wait([process.connection for process in processes], GLANCE)
    return iter([process for process in processes if process.connection in heard])
