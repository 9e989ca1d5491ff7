"""The client of an installation: upload, submit, watch, results."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from uuid import UUID, uuid4

from tessera.api.connection import find_subscription_url, make_transport
from tessera.api.download import download
from tessera.api.rest import Api, RemoteJob, RemoteSlide
from tessera.api.submission import describe_rejection, send_slide, wait_until_inspected
from tessera.api.watch import Realtime
from tessera.progress import make_bytes_bar
from tessera.public.inputs import SlidePath, find_slide, shows_progress
from tessera.public.job_watch import JobWatch
from tessera.public.result import RunResult
from wsi.errors import Conflict, RejectReason, SlideRejected, TesseraError
from wsi.records.jobs import JobTerms, Priority
from wsi.records.slides import Choice
from wsi.states import SlideState


class Client:
    """An installation and a caller of it. Every method draws a progress bar on a terminal and in a notebook, unless
    `progress` says otherwise, and raises the typed errors of `TesseraError` with the API's own sentence."""

    def __init__(self, url: str, key: str, *, progress: bool | None = None) -> None:
        """Take the `url` of the installation, with or without the API's path, and a `key`: an API key, or the token of
        a person. Connects with the first call. Raises UsageError for a key that cannot be one."""
        self._transport = make_transport(url, key)
        self._api = Api(self._transport)
        self._key = key
        self._shown = shows_progress(progress)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def upload(
        self,
        slide: SlidePath,
        *,
        mpp: float | None = None,
        optical_path: str | None = None,
        focal_plane: int | None = None,
        picture: int | None = None,
        deidentify: bool = False,
        resume: str | None = None,
    ) -> RemoteSlide:
        """Upload a slide, wait until it is inspected, and return it: `slide_id` names it from then on.

        `slide` is a file or a folder of one DICOM series. `mpp` states the microns a pixel in place of the file;
        `optical_path`, `focal_plane` and `picture` choose from a slide that holds several images. `deidentify` removes
        label, macro and identifiers before the slide is ready. `resume` is the id of an upload that broke off; the
        error that broke it off names it in a note. Raises SlideRejected when inspection rejects the slide.
        """
        choice = Choice.of(optical_path, focal_plane, picture)
        found = find_slide(slide, None, mpp=mpp, choice=choice, shown=self._shown)
        begun: list[str] = []
        try:
            slide_id = send_slide(
                self._api, found, deidentify=deidentify, resume=resume, on_begin=begun.append, shown=self._shown
            )
        except (TesseraError, KeyboardInterrupt) as error:
            for slide_id in begun:
                error.add_note(f"The upload broke off: upload(…, resume={slide_id!r}) resumes it.")
            raise
        return self._ready(slide_id)

    def submit(
        self,
        slide: SlidePath | RemoteSlide,
        model: str,
        *,
        options: Mapping[str, Any] | None = None,
        priority: Literal["high", "normal", "low"] = "normal",
        label: str | None = None,
        notify_email: str | None = None,
        notify_webhook: str | None = None,
        idempotency_key: str | None = None,
        force: bool = False,
    ) -> RemoteJob:
        """Start a job of a registered model and return it.

        `slide` is what `upload` returned, the id of a slide, or a path, which is uploaded first. `options` are fields
        of the API's job options, such as {"fast": True}. `label` is free text for finding the job again;
        `notify_email` and `notify_webhook` are told of its end. The same `idempotency_key` again gives the same job. An
        equal job that has finished answers with its result (`reused`), one that is under way is the answer itself
        (`shared`), unless `force` computes it again.
        """
        ready = slide if isinstance(slide, RemoteSlide) else self._slide(slide)
        return self._api.submit_job(
            ready.slide_id,
            model,
            idempotency_key=idempotency_key or str(uuid4()),
            options=options,
            terms=JobTerms(
                priority=Priority(priority), label=label, notify_email=notify_email, notify_webhook=notify_webhook
            ),
            force=force,
        )

    def watch(self, job: RemoteJob | str) -> JobWatch:
        """Follow a job, or the job of an id: `watch(job).wait()` blocks until it has ended, with a progress bar;
        `for update in watch(job)` gives each state as it comes."""
        url = find_subscription_url(self._api)
        realtime = Realtime(url=url, credential=self._key) if url else None
        return JobWatch(self._api, _get_id(job), realtime, shown=self._shown)

    def results(self, job: RemoteJob | str, into: str | os.PathLike[str]) -> RunResult:
        """Download the results of a job that has ended into the folder `into`, and return them as `tessera.run` returns
        its own. Raises Conflict for a job that has none, or none yet."""
        folder = Path(into)
        with make_bytes_bar(shown=self._shown) as bar:
            task = bar.add_task("downloading", total=None)
            download(
                self._api,
                _get_id(job),
                folder,
                on_progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
        return RunResult(folder)

    def _slide(self, named: SlidePath) -> RemoteSlide:
        return self._ready(named) if isinstance(named, str) and _is_id(named) else self.upload(named)

    def _ready(self, slide_id: str) -> RemoteSlide:
        """Return a slide once it is inspected. Raises SlideRejected where it was rejected, and Conflict where it is not
        ready for another reason."""
        inspected = wait_until_inspected(self._api, slide_id)
        if inspected.status == SlideState.READY:
            return inspected
        reason, sentence = describe_rejection(inspected)
        if reason in set(RejectReason):
            raise SlideRejected(RejectReason(reason), sentence)
        raise Conflict(sentence)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _get_id(job: RemoteJob | str) -> str:
    return job if isinstance(job, str) else job.job_id
