"""The shards of one slide over several devices, a process each, which share the slide's folder of partial results.

A process that ends (killed, or its device lost) gives its shards back, and the others continue without it for the rest
of the run. Which device computes a shard, and after how many attempts, changes no byte of the results.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from inference.all_devices import OneDevice, choose_decode_workers
from inference.device_processes import DeviceProcess, DeviceProcesses
from inference.exit_status import describe_exit
from inference.shard_loop import SHARDS_IN_FLIGHT
from tessera.local_run.shard_messages import BeginSlide, End, Failed, Left, Ready, Saved, Setup, Stop, TilesDone
from tessera.local_run.shards import ModelToRun, PlannedSlide, RunCallbacks
from wsi.errors import DeviceLost, TesseraError

POLL_SECONDS: Final = 0.1  #: between checks whether to stop
#: Processes that may end while they have a shard before no other is given it.
MAX_DEATHS: Final = 3
COMMAND: Final = (sys.executable, "-m", "tessera.local_run.shard_process")


class ProcessEnded(TesseraError):
    """A process ended before its work was done."""

    code = "process_ended"


@dataclass(eq=False, slots=True)
class _DeviceWork:
    """A process, and the work that it has."""

    process: DeviceProcess
    shards: list[int] = field(default_factory=list[int])  #: given to it and not saved
    unsaved_tiles: int = 0  #: of these shards, as it reported them
    is_ready: bool = False  #: its models are loaded
    is_busy: bool = False  #: with a slide
    lost: DeviceLost | None = None  #: why it is about to end


class MultiGpuRunner:
    """A runner on several devices. For one thread."""

    def __init__(
        self,
        devices: Sequence[OneDevice],
        models: Sequence[ModelToRun],
        workers: int | None = None,
        *,
        on_lost: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """Start the processes, and wait until all have loaded the models.

        `workers`: decoders of each device; None: its share of the cores. `on_lost` gets a message about a process that
        the others continue without. Raises ModelError, UnsuitableDevice, DeviceLost as they do, and ProcessEnded.
        """
        self._on_lost = on_lost
        self._last_end: TesseraError | None = None
        self._processes = DeviceProcesses()
        self._work: list[_DeviceWork] = []
        setup = {"models": tuple(models), "decode_workers": choose_decode_workers(devices, workers)}
        try:
            for device in devices:
                # Ctrl-C reaches this process alone, which asks the others for checkpoints.
                self._work.append(_DeviceWork(self._processes.start(device, COMMAND, own_group=True)))
            for each in self._work:
                each.process.send(Setup(device=each.process.device.name, **setup))
            for each in self._work:
                self._await_ready(each)
        except BaseException:
            self.close()
            raise

    @property
    def devices(self) -> int:
        """The number of devices that slides are computed on."""
        return max(1, len(self._work))

    @property
    def pids(self) -> list[int]:
        """The process ids."""
        return [each.process.handle.pid for each in self._work]

    def compute(self, planned: PlannedSlide, model: ModelToRun, callbacks: RunCallbacks) -> None:
        """Compute a slide as `tessera.local_run.shards.ShardRunner.compute` says; also raises ProcessEnded."""
        schedule = _Schedule(planned, callbacks, self._work)
        if not schedule.waiting:
            return
        begin = BeginSlide(
            slide=planned.slide,
            etags=tuple(file.etag for _, file in planned.source.files),
            index=planned.reader.serialize_index(),
            model=model.card.identity,
            folder=planned.checkpoint.folder.parent,
            key=planned.checkpoint.key,
        )
        for each in self._work:
            each.is_busy = True
            each.process.send(begin)
        try:
            while any(each.is_busy for each in self._work):
                schedule.assign()
                for process in self._processes.wait(POLL_SECONDS):
                    self._handle(process, schedule)
        except BaseException:
            self.close()  # they are in the middle of a slide that nobody needs any more
            raise
        if schedule.error is not None:
            raise schedule.error
        if schedule.unsaved:
            if callbacks.stop.is_set():
                raise KeyboardInterrupt
            raise self._last_end or ProcessEnded("No process is left: run the same command again.")

    def close(self) -> None:
        """End all processes."""
        for each in self._work:
            if not each.is_ready:
                each.process.handle.kill()  # it reads no message while it loads
        self._processes.close()
        self._work.clear()

    def _handle(self, process: DeviceProcess, schedule: _Schedule) -> None:
        """Handle a message of a process, or its end."""
        (work,) = [each for each in self._work if each.process is process]
        message = process.receive()
        if message is not None:
            schedule.handle(work, message)
            return
        self._work.remove(work)
        self._last_end = self._end(work)
        schedule.take_back(work, self._last_end)
        if self._work:
            self._on_lost(f"{process.device.title} ended, and the other devices go on without it")

    def _end(self, work: _DeviceWork) -> TesseraError:
        """Forget a process that ended, and return why it did."""
        how = describe_exit(self._processes.remove(work.process))
        if work.lost is not None:
            return work.lost
        return ProcessEnded(
            f"The process of {work.process.device.title} ended {how}: look whether memory ran out, then run the same "
            "command again, and it goes on where it stopped."
        )

    def _await_ready(self, work: _DeviceWork) -> None:
        match work.process.receive():
            case Ready():
                work.is_ready = True
            case Failed(error):
                raise error
            case _:
                raise self._end(work)


class _Schedule:
    """The shards of one slide: which wait, which process has the others, and what came of them."""

    def __init__(self, planned: PlannedSlide, callbacks: RunCallbacks, work: Sequence[_DeviceWork]) -> None:
        self.error: Exception | None = None
        self.waiting = deque(planned.select_unfinished(callbacks))
        self.unsaved = len(self.waiting)
        self._sizes = planned.plan.shard_sizes
        self._checkpoint = planned.checkpoint
        self._callbacks = callbacks
        self._work = work
        self._deaths: Counter[int] = Counter()
        self._has_ended = False

    def assign(self) -> None:
        """Give shards to processes; tell all to end once there are none left, or to stop if the slide must end."""
        must_stop = self.error is not None or self._callbacks.stop.is_set()
        if self._has_ended:
            return
        if must_stop or not self.unsaved:
            self._has_ended = True
            for each in self._work:
                if must_stop:
                    each.process.send(Stop())
                each.process.send(End())
            return
        while self.waiting and self._work:
            least = min(self._work, key=lambda each: len(each.shards))
            if len(least.shards) >= SHARDS_IN_FLIGHT:
                return
            index = self.waiting.popleft()
            least.shards.append(index)
            least.process.send(index)

    def handle(self, work: _DeviceWork, message: Any) -> None:
        """Handle a message from a process."""
        match message:
            case TilesDone(count):
                work.unsaved_tiles += count
                self._callbacks.on_tiles(count)
            case Saved(index):
                work.shards.remove(index)
                work.unsaved_tiles -= self._sizes[index]
                self.unsaved -= 1
            case Failed(DeviceLost() as error):
                work.lost = error
            case Failed(error):
                self.error = self.error or error
            case Left():
                work.is_busy, work.unsaved_tiles, work.shards = False, 0, []
            case _:
                raise AssertionError(f"{message} has no place here")

    def take_back(self, work: _DeviceWork, end: TesseraError) -> None:
        """Return the shards of a process that ended to the others, unless one of them ends every process that tries."""
        if work.unsaved_tiles:
            self._callbacks.on_tiles(-work.unsaved_tiles)
        for index in reversed(work.shards):
            self._deaths[index] += 1
            if self._checkpoint.has_shard(index):  # it ended before it could report this
                self._callbacks.on_tiles(self._sizes[index])
                self.unsaved -= 1
            elif self._deaths[index] >= MAX_DEATHS:
                self.error = self.error or end
            else:
                self.waiting.appendleft(index)
