"""A job of an installation while it runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from tessera.api.rest import Api, RemoteJob
from tessera.api.submission import begin_updates
from tessera.api.watch import PollingPace, Realtime, watch
from tessera.progress import TilesBar
from wsi.errors import Conflict, FailReason, JobFailed, TesseraError
from wsi.records.notices import JobUpdate
from wsi.states import JobState

_GLANCE: Final = 0.2  #: seconds: an interruption is noticed within
_END_SECONDS: Final = 5.0  #: that a watch which nobody follows any more gets to end


class JobWatch:
    """A watch of one job: iterate over its updates, or `wait` for its end. `Client.watch` makes it.

    Updates are pushed by the installation, or read every two seconds where they cannot be. An interruption ends the
    watch and leaves the job running.
    """

    def __init__(
        self, api: Api, job_id: str, realtime: Realtime | None, *, shown: bool, pace: PollingPace | None = None
    ) -> None:
        self._api = api
        self._realtime = realtime
        self._shown = shown
        self._pace = pace
        self.job_id = job_id

    def __iter__(self) -> Iterator[JobUpdate]:
        """Yield each newer state of the job, the last one final. Draws no bar. Raises what the API raises."""
        following = _Following(self._api, self.job_id, self._realtime, self._pace)
        try:
            yield from following.updates()
        finally:
            following.end()

    def wait(self) -> RemoteJob:
        """Block until the job has ended, with a progress bar, and return it. Raises JobFailed with the reason when it
        failed, Conflict when somebody cancelled it, and what the API raises."""
        with TilesBar(shown=self._shown) as bar:
            show = begin_updates(bar, self.job_id)
            for update in self:
                show(update)
        job = self._api.get_job(self.job_id)
        if not JobState(job.status).is_success:
            raise _make_error(job)
        return job


class _Following:
    """A watch on a thread of its own: a notebook's main thread runs an event loop already."""

    def __init__(self, api: Api, job_id: str, realtime: Realtime | None, pace: PollingPace | None) -> None:
        self._updates = SimpleQueue[JobUpdate]()
        self._error: BaseException | None = None
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = threading.Event()

        async def follow() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            watching = asyncio.create_task(
                watch(
                    job_id,
                    read=lambda: api.get_job_update(job_id),
                    realtime=realtime,
                    on_update=self._updates.put,
                    pace=pace,
                )
            )
            stopping = asyncio.create_task(self._stop.wait())
            await asyncio.wait((watching, stopping), return_when=asyncio.FIRST_COMPLETED)
            for task in (watching, stopping):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await watching

        def run() -> None:
            try:
                asyncio.run(follow())
            except Exception as error:  # noqa: BLE001  raised where the updates are read
                self._error = error
            finally:
                self._ended.set()

        self._thread = threading.Thread(target=run, name=f"watch {job_id}", daemon=True)
        self._thread.start()

    def updates(self) -> Iterator[JobUpdate]:
        while True:
            ended = self._ended.is_set()  # before the look: nothing is put after it
            try:
                yield self._updates.get(block=not ended, timeout=_GLANCE)
            except Empty:
                if ended:
                    break
        if self._error is not None:
            raise self._error

    def end(self) -> None:
        if self._loop is not None and self._stop is not None and not self._ended.is_set():
            with suppress(RuntimeError):  # the loop closed meanwhile
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_END_SECONDS)


def _make_error(job: RemoteJob) -> TesseraError:
    sentence = job.sentence or f"The job is {job.status}."
    if job.status == JobState.FAILED and job.reason in set(FailReason):
        return JobFailed(FailReason(job.reason), sentence)
    return Conflict(sentence)
