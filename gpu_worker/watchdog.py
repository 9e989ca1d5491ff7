"""Ends work that makes no step any more: a read that nothing times out, a forward pass that a broken driver never
finishes. The heartbeat, on its own thread, would keep the lease of such a shard for ever.

A hung call can not be interrupted. So the watchdog, on its own thread, first has the shard settled as Stuck, which
gives it to another worker; then, if the work has not come back within a grace time, it ends the process, so that the
pod is replaced. When the hung call holds Python's lock no thread runs, this one neither: then the health port does not
answer, and the kubelet does it.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpu_worker.pulse import Pulse
from wsi.errors import Stuck

log = logging.getLogger(__name__)

#: Seconds that the work gets to come back after it was settled: a range read ends within 30.
GRACE_SECONDS = 45.0
#: Looks at the pulse in the time that no honest step takes.
LOOKS = 20
#: EX_SOFTWARE: not 1, as of an error that Python printed.
EXIT_CODE = 70


class Watch:
    """Of one shard. The work and the watchdog both want to settle it; whoever asks first does."""

    def __init__(self, settle: Callable[[Stuck], None]) -> None:
        self.settle = settle
        self.ended = threading.Event()
        self._claimed = False
        self._lock = threading.Lock()

    def claim(self) -> bool:
        """True: the caller, and nobody else, is to settle the shard."""
        with self._lock:
            first, self._claimed = not self._claimed, True
        return first


class Watchdog:
    """One thread, from `start` to the process's end; it watches while a shard is worked at."""

    def __init__(
        self, pulse: Pulse, *, grace_seconds: float = GRACE_SECONDS, end_process: Callable[[int], None] = os._exit
    ) -> None:
        self._pulse = pulse
        self._grace_seconds = grace_seconds
        self._end_process = end_process
        self._watch: Watch | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """No shard is worked at any more."""
        self._ended.set()

    @contextmanager
    def over(self, settle: Callable[[Stuck], None]) -> Iterator[Watch]:
        """Watches while the block runs. `settle` is called on the watchdog's thread, at most once, after which
        `claim` of the watch given is False for everybody; what it raises is logged."""
        watch = Watch(settle)
        self._pulse.beat()
        self._watch = watch
        try:
            yield watch
        finally:
            self._watch = None
            watch.ended.set()

    def _run(self) -> None:
        while not self._ended.wait(self._pulse.stuck_seconds / LOOKS):
            watch = self._watch
            if watch is not None and self._pulse.is_stuck and watch.claim():
                self._bite(watch)

    def _bite(self, watch: Watch) -> None:
        error = self._error()
        log.error("work is stuck", extra={"stage": self._pulse.stage, "silent": round(self._pulse.silent_seconds)})
        # On a thread of its own: a ledger that does not answer must not keep a process that hangs.
        settling = threading.Thread(target=_settle, args=(watch, error), name="settle-stuck", daemon=True)
        settling.start()
        settling.join(self._grace_seconds)
        if not watch.ended.wait(self._grace_seconds):
            log.critical("work did not come back: the process ends", extra={"exit_code": EXIT_CODE})
            logging.shutdown()
            self._end_process(EXIT_CODE)

    def _error(self) -> Stuck:
        where = f"the {self._pulse.stage} stage" if self._pulse.stage else "the work"
        return Stuck(f"Nothing went forward for {self._pulse.stuck_seconds:.0f} s, and {where} was silent for longest.")


def _settle(watch: Watch, error: Stuck) -> None:
    try:
        watch.settle(error)
    except Exception:  # a thread's border: the lease runs out and the sweep puts it right
        log.exception("stuck shard not settled")
