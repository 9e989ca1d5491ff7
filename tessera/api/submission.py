"""One slide's path through the API: upload, inspection, job, live progress, results."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

from tessera.api.download import download
from tessera.api.rest import DEFAULT_TERMS, Api, RemoteJob, RemoteSlide
from tessera.api.upload import upload
from tessera.api.watch import Realtime, watch
from tessera.local_run.inputs import SlideInput, get_place
from tessera.local_run.outcomes import Outcome, SlideOutcome
from tessera.local_run.sources import Sources
from tessera.progress import TilesBar, complain, make_bytes_bar
from tessera.terminal import escape_text
from wsi.errors import Invalid, RejectReason, TesseraError
from wsi.planning.estimate import Estimate
from wsi.records.jobs import JobTerms
from wsi.records.notices import JobUpdate
from wsi.records.outline import Outline
from wsi.slide.ranges import RangeSource
from wsi.states import JobState, SlideState

INSPECTION_PAUSE = 0.5  #: seconds between looks at a slide that is being inspected

#: Reasons that a stated value resolves, with its option of `tessera restate`.
RESTATED: Final[Mapping[str, str]] = MappingProxyType(
    {
        RejectReason.NO_MPP: "--mpp",
        RejectReason.ABSURD_MPP: "--mpp",
        RejectReason.MPP_CONFLICT: "--mpp",
        RejectReason.OPTICAL_PATHS: "--optical-path",
        RejectReason.Z_STACK: "--focal-plane",
        RejectReason.SEVERAL_PICTURES: "--picture",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """The request made for each slide."""

    model: str
    terms: JobTerms = DEFAULT_TERMS
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])  #: fields of the API's options that are stated
    outline: Outline | None = None  #: what to analyse in place of the tissue found
    #: From a slide's id to its job's Idempotency-Key: a new one each time, so that a lost answer makes no second job.
    key_of: Callable[[str], str] = lambda slide_id: str(uuid4())
    deidentify: bool = False  #: label and identifiers are removed before the slide is ready
    resume: str | None = None  #: slide id of an upload that broke off
    watch: bool = True
    realtime: Realtime | None = None


def submit_slide(
    api: Api,
    slide: SlideInput,
    asked: Asked,
    folder: Path | None,
    *,
    on_job: Callable[[RemoteJob], None],
    on_results: Callable[[Path], None],
) -> SlideOutcome:
    """Submit a slide, and return the outcome of its job once that has ended, or SUBMITTED when it is not watched.
    Results of a watched job are downloaded into `folder`, if one is given. Raises what the API raises."""
    began = time.monotonic()
    job = start_job(api, slide, asked)
    if isinstance(job, SlideOutcome):
        return job
    on_job(job)
    if not asked.watch:
        return SlideOutcome(name=slide.name, outcome=Outcome.SUBMITTED)
    follow(api, job.job_id, slide.name, asked.realtime)
    job = api.get_job(job.job_id)
    outcome = collect(api, job, slide.name, folder, time.monotonic() - began)
    if folder is not None and JobState(job.status).is_success:
        on_results(folder)
    return outcome


def start_job(
    api: Api, slide: SlideInput, asked: Asked, *, on_slide: Callable[[str], None] | None = None
) -> RemoteJob | SlideOutcome:
    """Upload the slide, wait until it is inspected, and make its job. `on_slide` receives the slide's id as soon as it
    is known. Returns the outcome of a slide that is rejected. Raises what the API raises."""
    slide_id = send_slide(api, slide, deidentify=asked.deidentify, resume=asked.resume, on_begin=on_slide)
    inspected = wait_until_inspected(api, slide_id)
    if inspected.status != SlideState.READY:
        return _make_rejection(slide, inspected)
    return api.submit_job(
        slide_id,
        asked.model,
        idempotency_key=asked.key_of(slide_id),
        options=asked.options,
        outline=asked.outline,
        terms=asked.terms,
    )


def collect(api: Api, job: RemoteJob, name: str, folder: Path | None, seconds: float) -> SlideOutcome:
    """Return the outcome of a job that has ended; its results are downloaded into `folder`, if one is given. Raises
    what the API raises."""
    if folder is not None and JobState(job.status).is_success:
        download(api, job.job_id, folder)
    return make_outcome(job, name, seconds)


def estimate_slide(
    api: Api, slide: SlideInput, asked: Asked, *, on_estimate: Callable[[Estimate], None]
) -> SlideOutcome:
    """Upload a slide, since only an inspected one can be estimated, and estimate its job. No job is made. Raises what
    the API raises."""
    slide_id = send_slide(api, slide, deidentify=asked.deidentify, resume=asked.resume)
    inspected = wait_until_inspected(api, slide_id)
    if inspected.status != SlideState.READY:
        return _make_rejection(slide, inspected)
    found = api.estimate(slide_id, asked.model, options=asked.options, outline=asked.outline)
    on_estimate(found)
    return SlideOutcome(name=slide.name, outcome=Outcome.ESTIMATED, tiles=found.tiles)


def keep_slide(
    api: Api, slide: SlideInput, *, deidentify: bool, resume: str | None, on_ready: Callable[[RemoteSlide], None]
) -> SlideOutcome:
    """Upload a slide, and wait until it is inspected. Raises what the API raises."""
    began = time.monotonic()
    inspected = wait_until_inspected(api, send_slide(api, slide, deidentify=deidentify, resume=resume))
    if inspected.status != SlideState.READY:
        return _make_rejection(slide, inspected)
    on_ready(inspected)
    return SlideOutcome(name=slide.name, outcome=Outcome.UPLOADED, seconds=round(time.monotonic() - began, 1))


def _make_rejection(slide: SlideInput, inspected: RemoteSlide) -> SlideOutcome:
    reason, sentence = describe_rejection(inspected)
    return SlideOutcome(name=slide.name, outcome=Outcome.REJECTED, reason=reason, sentence=sentence)


def describe_rejection(inspected: RemoteSlide) -> tuple[str, str]:
    """Return why a slide takes no jobs: the reason code, and a message with what to do."""
    reason = inspected.reason or inspected.status.lower()
    sentence = inspected.sentence or f"The slide is {inspected.status}."
    # A slide that was to be de-identified and was refused is deleted.
    if reason in RESTATED and not inspected.deidentify:
        sentence += f" Without a new upload: tessera restate {inspected.slide_id} {RESTATED[reason]} …"
    return reason, sentence


def send_slide(
    api: Api,
    slide: SlideInput,
    *,
    deidentify: bool = False,
    resume: str | None = None,
    on_begin: Callable[[str], None] | None = None,
    shown: bool = True,
) -> str:
    """Upload with a progress bar, or register what is on S3 already, and return the slide's id. `on_begin` receives it
    as soon as it is known; without it the user is told how to resume an upload that broke off. Without `shown` no bar
    is drawn. Raises what the API raises."""
    begun: list[str] = []
    begin = on_begin or begun.append
    if slide.is_remote:
        slide_id = resume or _register(api, slide, deidentify=deidentify)
        begin(slide_id)
        return slide_id
    with Sources().open(slide) as source, make_bytes_bar(shown=shown) as bar:
        task = bar.add_task(f"uploading {escape_text(slide.name)}", total=source.size)
        try:
            return upload(
                api,
                _with_folder(get_place(slide).name, source.files),
                mpp=slide.mpp,
                choice=slide.choice,
                deidentify=deidentify,
                resume=resume,
                on_begin=begin,
                on_progress=lambda size: bar.advance(task, size),
            )
        except (TesseraError, KeyboardInterrupt):
            if begun:
                complain(f"{slide.name}: the upload broke off; go on with --resume {begun[0]}")
            raise


def _register(api: Api, slide: SlideInput, *, deidentify: bool) -> str:
    """Register a slide that is on S3, and return its id. Raises Invalid for what an installation does not accept by
    reference."""
    uri, *others = slide.files
    if others:
        raise Invalid(
            "A slide of several files on S3 cannot be registered: download it and submit the local copy, or analyse it "
            "with `tessera run`."
        )
    if deidentify:
        raise Invalid(
            "A slide on S3 stays where it is and is not de-identified: download it and submit the local copy."
        )
    return api.register_slide(uri, mpp=slide.mpp, choice=slide.choice)


def _with_folder(known_by: str, files: Sequence[tuple[str, RangeSource]]) -> Sequence[tuple[str, RangeSource]]:
    """Return the files of a series with its folder, which names it in lists: the files are named by numbers or UIDs."""
    if len(files) == 1 or files[0][0] == known_by:
        return files
    return [(f"{known_by}/{name}", file) for name, file in files]


def wait_until_inspected(api: Api, slide_id: str, *, sleep: Callable[[float], None] = time.sleep) -> RemoteSlide:
    while (slide := api.get_slide(slide_id)).status == SlideState.UPLOADED:
        sleep(INSPECTION_PAUSE)
    return slide


def follow(api: Api, job_id: str, name: str, realtime: Realtime | None) -> JobUpdate:
    """Show a progress bar until the job has ended; until it begins, what it waits for."""
    with TilesBar() as bar:
        show = begin_updates(bar, name)

        def read() -> JobUpdate:
            job, update = api.get_job_view(job_id)
            bar.show_wait(describe_wait(job, datetime.now(UTC)))
            return update

        return asyncio.run(watch(job_id, read=read, realtime=realtime, on_update=show))


def describe_wait(job: RemoteJob, now: datetime) -> str:
    """Return what the job waits for and for how long, as "12 jobs are before it, begins in about 4 min"; "" if for
    nothing."""
    if job.waiting_for is None:
        return ""
    expected = job.expected_start_at or job.expected_end_at
    if expected is None:
        return job.waiting_for
    verb = "begins" if job.expected_start_at else "ends"
    return f"{job.waiting_for}, {verb} in {_round_time((datetime.fromisoformat(expected) - now).total_seconds())}"


def _round_time(seconds: float) -> str:
    """Return a duration as coarse as it is known."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {math.ceil(seconds / 10) * 10} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 60 else f"about {round(minutes / 60)} h"


def begin_updates(bar: TilesBar, name: str) -> Callable[[JobUpdate], None]:
    """Begin a line for the job on the bar, and return what draws an update of it."""
    planned = bar.begin(name)

    def show(update: JobUpdate) -> None:
        if update.tiles_planned:
            planned(update.tiles_planned)
        bar.show(update.tiles_inferred + update.tiles_unreadable, rate=update.tiles_per_second)

    return show


def make_outcome(job: RemoteJob, name: str, seconds: float) -> SlideOutcome:
    """Return the outcome of a job that has ended."""
    state = JobState(job.status)
    return SlideOutcome(
        name=name,
        outcome=Outcome[state.value] if state.is_success else Outcome.FAILED,
        reason=None if state.is_success else job.reason or state.value.lower(),
        sentence=None if state.is_success else job.sentence or f"The job is {state.value}.",
        tiles=job.tiles_planned,
        unreadable=job.tiles_unreadable,
        seconds=round(seconds, 1),
    )
