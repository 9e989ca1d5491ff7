"""Ends work that makes no progress: a read that never times out, a forward pass that a broken driver never finishes.
The heartbeat, on its own thread, would keep the leases of such work for ever.

A hung call cannot be interrupted. So the watchdog, on its own thread, first has the work settled as Stuck, which gives
it to another worker. If the worker has not exited within a grace time, the watchdog then ends the process, so that the
pod is replaced. A hung call that holds Python's lock stops this thread too: then the health port does not answer, and
the kubelet ends the process.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpu_worker.health.pulse import Pulse
from wsi.errors import Stuck

log = logging.getLogger(__name__)

#: Seconds that settling gets, and then again the worker to exit: it closes stages, decoders and the shard taken ahead.
GRACE_SECONDS = 45.0
#: Checks of the pulse within its `stuck_seconds`.
CHECKS = 20
#: EX_SOFTWARE: not 1, as of an error that Python printed.
EXIT_CODE = 70

Settle = Callable[[Stuck], None]


class _WatchedBlock:
    """A block of work that is watched."""

    def __init__(self, settle: Settle) -> None:
        self.settle = settle
        self.bitten = False


class Watchdog:
    """Watches the pulse while there is work, on a thread of its own from `start` on."""

    def __init__(
        self,
        pulse: Pulse,
        *,
        stage: Callable[[], str | None] = lambda: None,
        grace_seconds: float = GRACE_SECONDS,
        end_process: Callable[[int], None] = os._exit,
    ) -> None:
        """Prepare the thread. `stage` returns the stage that hangs if any does, or None if that is unknown."""
        self._pulse = pulse
        self._stage = stage
        self._grace_seconds = grace_seconds
        self._end_process = end_process
        self._watch: _WatchedBlock | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """End the watch. Call this once all is closed, and nothing is left that could hang."""
        self._ended.set()

    @contextmanager
    def watch(self, settle: Settle) -> Iterator[None]:
        """Watch while the block runs. `settle` is called at most once, on a thread of the watchdog; errors are
        logged."""
        watch = _WatchedBlock(settle)
        self._pulse.beat()
        self._watch = watch
        try:
            yield
        finally:
            self._watch = None

    def _run(self) -> None:
        while not self._ended.wait(self._pulse.stuck_seconds / CHECKS):
            watch = self._watch
            if watch is not None and self._pulse.is_stuck and not watch.bitten:
                watch.bitten = True
                self._bite(watch)

    def _bite(self, watch: _WatchedBlock) -> None:
        stage = self._stage()
        log.error("work is stuck", extra={"stage": stage, "silent": round(self._pulse.silent_seconds)})
        where = f"the {stage} stage hangs" if stage else "some stage hangs"
        error = Stuck(f"Nothing went forward for {self._pulse.stuck_seconds:.0f} s: {where}.")
        # On a thread of its own: a ledger that does not answer must not keep a process that hangs.
        settling = threading.Thread(target=_settle, args=(watch.settle, error), name="settle-stuck", daemon=True)
        settling.start()
        settling.join(self._grace_seconds)
        if not self._ended.wait(self._grace_seconds):
            log.critical("the worker did not come to its end: the process ends", extra={"exit_code": EXIT_CODE})
            logging.shutdown()
            self._end_process(EXIT_CODE)


def _settle(settle: Settle, error: Stuck) -> None:
    try:
        settle(error)
    except Exception:  # a thread's border: the lease expires and the sweep repairs the shard's state
        log.exception("stuck shard not settled")
