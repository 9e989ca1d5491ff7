"""One worker process a GPU, and a parent that holds neither torch nor a device: it starts them, hands signals on, and
ends when the last has ended.

A worker that finds no work for long ends alone, and its GPU rests until the last one does the same. One that ends with
another status than 0 (a device that is lost, work that hangs) takes the rest with it, drained, and its status becomes
that of the whole, so that all of it is replaced, mostly on another machine.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from signal import SIGTERM
from typing import Final

from adapters.settings import processes
from gpu_worker.all_devices import OneDevice, decode_workers
from gpu_worker.drain import Drain

log = logging.getLogger(__name__)

GLANCE: Final = 0.2  #: seconds between looks at the processes
#: Of a process that a signal ended, as shells have it.
BY_SIGNAL: Final = 128
COMMAND: Final = (sys.executable, "-m", "gpu_worker")


@dataclass(frozen=True, slots=True)
class _Child:
    device: OneDevice
    health_port: int | None
    process: subprocess.Popen[bytes]


def settings_of(settings: processes.Worker, devices: Sequence[OneDevice], index: int) -> processes.Worker:
    """Of the worker on `devices[index]`. It answers health on the port behind those of the parent and the workers
    before it."""
    port = settings.health_port
    return settings.model_copy(
        update={
            "device": devices[index].name,
            "decode_workers": decode_workers(devices, settings.decode_workers),
            "health_port": port + 1 + index if port is not None else None,
        }
    )


class Supervisor:
    def __init__(
        self,
        settings: processes.Worker,
        devices: Sequence[OneDevice],
        drain: Drain,
        *,
        command: Sequence[str] = COMMAND,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`command` gets one more argument: the descriptor of a pipe whose end says that this process is gone."""
        self._settings = settings
        self._devices = devices
        self._drain = drain
        self._command = command
        self._environ = environ
        self._running: list[_Child] = []

    @property
    def leaving(self) -> bool:
        return self._drain.requested

    @property
    def ports(self) -> Mapping[str, int]:
        """Where the workers that run answer health, by the title of their device."""
        running = tuple(self._running)
        return {child.device.title: child.health_port for child in running if child.health_port is not None}

    @property
    def pids(self) -> Mapping[str, int]:
        return {child.device.title: child.process.pid for child in tuple(self._running)}

    def run(self) -> int:
        """The exit status: 0 when every worker drained or found no work, else that of the first to end otherwise."""
        theirs, ours = os.pipe()  # never written to: all workers see its end with that of this process
        status, told = 0, False
        try:
            self._running = [self._start(index, theirs) for index in range(len(self._devices))]
            while self._running:
                if self._drain.requested and not told:
                    told = True
                    for child in self._running:
                        child.process.terminate()
                for code in self._ended(told):
                    status = status or code
                    self._drain.request()
                if told:
                    time.sleep(GLANCE)
                else:
                    self._drain.wait(GLANCE)
        finally:
            os.close(theirs)
            os.close(ours)
        return status

    def _start(self, index: int, lifeline: int) -> _Child:
        settings, device = settings_of(self._settings, self._devices, index), self._devices[index]
        process = subprocess.Popen(
            [*self._command, str(lifeline)],
            env={**self._environ, **settings.environ(), **device.environ()},
            stdin=subprocess.DEVNULL,
            pass_fds=(lifeline,),
        )
        log.info("worker started", extra={"device": device.title, "visible": device.visible, "pid": process.pid})
        return _Child(device, settings.health_port, process)

    def _ended(self, told: bool) -> list[int]:
        """Statuses other than 0 of workers that ended since. One that was told to leave before it could hear of signals
        left as well."""
        failed: list[int] = []
        for child in list(self._running):
            code = child.process.poll()
            if code is None:
                continue
            self._running.remove(child)
            log.log(
                logging.ERROR if code else logging.INFO,
                "worker ended",
                extra={"device": child.device.title, "pid": child.process.pid, "status": code},
            )
            if code and not (told and code == -SIGTERM):
                failed.append(code if code > 0 else BY_SIGNAL - code)
        return failed
