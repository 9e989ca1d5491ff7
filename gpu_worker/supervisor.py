"""One worker process a GPU, and a parent that holds neither torch nor a device: it starts them, passes signals on, and
exits after the last of them.

A worker that stays idle for long exits alone, and its GPU is idle until the last one exits too. If one exits with a
status other than 0 (a device is lost, work hangs), the parent drains the others and exits with that status, so that the
whole pod is replaced, mostly on another machine.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from signal import SIGTERM
from typing import Final

from adapters.settings import processes
from gpu_worker.drain import Drain
from inference.all_devices import OneDevice, choose_decode_workers
from inference.device_processes import DeviceProcess, DeviceProcesses

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.2  #: between checks whether to drain
#: Added to the number of the signal that killed a process, as shells report it.
BY_SIGNAL: Final = 128
COMMAND: Final = (sys.executable, "-m", "gpu_worker")


def make_worker_settings(
    settings: processes.WorkerSettings, devices: Sequence[OneDevice], index: int
) -> processes.WorkerSettings:
    """Return the settings of the worker on `devices[index]`. Its health port follows those of the parent and of the
    workers before it."""
    port = settings.health_port
    return settings.model_copy(
        update={
            "device": devices[index].name,
            "decode_workers": choose_decode_workers(devices, settings.decode_workers),
            "health_port": port + 1 + index if port is not None else None,
        }
    )


class Supervisor:
    """The parent of the workers. `run` is for one thread; any may read the properties."""

    def __init__(
        self,
        settings: processes.WorkerSettings,
        devices: Sequence[OneDevice],
        drain: Drain,
        *,
        command: Sequence[str] = COMMAND,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Prepare the workers. `command` gets one more argument: the descriptor of a connection that ends with this
        process."""
        self._drain = drain
        self._command = command
        self._environ = environ
        self._workers = DeviceProcesses()
        self._settings = {
            device.title: (device, make_worker_settings(settings, devices, index))
            for index, device in enumerate(devices)
        }

    @property
    def ports(self) -> Mapping[str, int]:
        """Return the health port of each running worker, by the title of its device."""
        ports = {worker.device.title: self._settings[worker.device.title][1].health_port for worker in self._workers}
        return {title: port for title, port in ports.items() if port is not None}

    @property
    def pids(self) -> Mapping[str, int]:
        """Return the process id of each running worker, by the title of its device."""
        return {worker.device.title: worker.handle.pid for worker in self._workers}

    def run(self) -> int:
        """Start the workers and wait until all have exited.

        Return the exit status: 0 if every worker drained or was idle, else that of the first that exited otherwise.
        """
        status, told_to_leave = 0, False
        try:
            for device, settings in self._settings.values():
                self._start(device, settings)
            while self._workers:
                if self._drain.requested and not told_to_leave:
                    told_to_leave = True
                    self._workers.terminate()
                for worker in self._workers.wait(POLL_SECONDS):
                    code = self._end(worker, told_to_leave=told_to_leave)
                    if code:
                        status = status or code
                        self._drain.request()
        finally:
            self._workers.hang_up()  # after an error here: they drain
        return status

    def _start(self, device: OneDevice, settings: processes.WorkerSettings) -> None:
        environ = {**self._environ, **settings.make_environ()}
        worker = self._workers.start(device, self._command, environ=environ, own_group=False)
        log.info("worker started", extra={"device": device.title, "visible": device.visible, "pid": worker.handle.pid})

    def _end(self, worker: DeviceProcess, *, told_to_leave: bool) -> int:
        """Forget a worker that ended, and return its exit status: 0 if it was told to leave before it handled
        signals."""
        code = self._workers.remove(worker)
        log.log(
            logging.ERROR if code else logging.INFO,
            "worker ended",
            extra={"device": worker.device.title, "pid": worker.handle.pid, "status": code},
        )
        if told_to_leave and code == -SIGTERM:
            return 0
        return code if code >= 0 else BY_SIGNAL - code
