"""One real slide through the whole stack: upload in presigned parts, jobs of two models, live progress, results."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from rich.console import Console

from local.daemon import is_started_here, start_stack, stop_stack
from local.options import StackOptions
from local.processes.stack_file import hold_lock
from local.sample_slide import fetch_sample_slide
from tessera.api.download import download
from tessera.api.rest import Api, RemoteJob
from tessera.api.submission import follow, send_slide, wait_until_inspected
from tessera.api.transport import Transport
from tessera.api.watch import Realtime
from tessera.local_run.inputs import SlideInput
from wsi.results.summary import NAME as SUMMARY
from wsi.states import JobState, SlideState

DENSITY: Final = "stain-density"
NUCLEI: Final = "nuclei"


def run_demo(folder: Path, console: Console) -> bool:
    """Run the demo and return whether its jobs completed. Starts a stack when none runs, and stops only that one."""
    with hold_lock(folder / "demo"):  # the first of two would stop the stack under the second
        return _demo(folder, console)


def _demo(folder: Path, console: Console) -> bool:
    began = time.monotonic()
    slide = fetch_sample_slide(folder / "cache")
    console.print(f"slide    {slide}")
    try:
        stack, is_ours = start_stack(folder, StackOptions())
        console.print(f"stack    {'started' if is_ours else 'was running'}, {stack['api_url']}")
        console.print(f"page     {stack['page_url']}")
        return analyse_slide(stack, slide, folder, console, began, models=(DENSITY, NUCLEI))
    finally:
        if is_started_here(folder):  # not `is_ours`: a signal may come before it is assigned
            stop_stack(folder)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Finished:
    job: RemoteJob
    tiles_per_second: float | None
    paths: tuple[Path, ...]  #: of the results, here

    def read_summary(self) -> dict[str, Any]:
        (path,) = (path for path in self.paths if path.name == SUMMARY)
        return json.loads(path.read_bytes())


def analyse_slide(
    stack: dict[str, Any], slide: Path, folder: Path, console: Console, began: float, *, models: Sequence[str]
) -> bool:
    """Send a slide through a running stack, show a job of each model live, and return whether all completed. `stack`:
    stack.json."""
    transport = Transport(stack["api_url"], stack["api_key"])
    finished: dict[str, _Finished] = {}
    try:
        api = Api(transport)
        slide_id = send_slide(api, SlideInput(location=str(slide), name=slide.name))
        inspected = wait_until_inspected(api, slide_id)
        if inspected.status != SlideState.READY:
            console.print(f"The slide is {inspected.status}: {inspected.sentence}")
            return False
        # `force`: a second demo shows the work again instead of the first one's result. All jobs begin at once: the
        # stack plans and stitches one while its worker computes another.
        jobs = {
            model: api.submit_job(slide_id, model, idempotency_key=str(uuid4()), force=True).job_id for model in models
        }
        realtime = Realtime(url=stack["realtime_url"], credential=stack["api_key"])
        for model, job_id in jobs.items():
            last = follow(api, job_id, f"{slide.name}/{model}", realtime)
            job = api.get_job(job_id)
            if not JobState(job.status).is_success:
                console.print(f"job {job_id} of {model} is {job.status}: {job.sentence}")
                return False
            paths = download(api, job_id, folder / "results" / job_id)
            finished[model] = _Finished(job=job, tiles_per_second=last.tiles_per_second, paths=paths)
    finally:
        transport.close()
    for model, one in finished.items():
        _tell(model, one, console)
    console.print(f"time     {time.monotonic() - began:.1f} s")
    console.print("`make up` opens the page: it starts the stack again, leaves it running and prints the address.")
    return True


def _tell(model: str, finished: _Finished, console: Console) -> None:
    job, rate, objects = finished.job, finished.tiles_per_second, finished.read_summary().get("objects")
    console.print(f"model    {model}")
    console.print(f"job      {job.job_id}")
    console.print(f"status   {job.status}")
    planned, done, broken = job.tiles_planned, job.tiles_inferred, job.tiles_unreadable
    console.print(f"tiles    {planned} planned = {done} inferred + {broken} unreadable")
    console.print(f"tiles/s  {_write_rate(rate) if rate else 'too short to measure'}")
    if objects is not None:
        classes = ", ".join(f"{count:,} {name}" for name, count in objects["classes"].items())
        console.print(f"found    {objects['found']:,} objects: {classes}")
    for number, path in enumerate(finished.paths):
        console.print(f"{'' if number else 'results':<9}{path}")


def _write_rate(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"
