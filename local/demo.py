"""One real slide through the whole stack: upload in presigned parts, job, live progress, results."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from rich.console import Console

from local.daemon import is_started_here, start_stack, stop_stack
from local.options import StackOptions
from local.processes.stack_file import hold_lock
from local.sample_slide import fetch_sample_slide
from tessera.api.download import download
from tessera.api.rest import Api
from tessera.api.submission import follow, send_slide, wait_until_inspected
from tessera.api.transport import Transport
from tessera.api.watch import Realtime
from tessera.local_run.inputs import SlideInput
from wsi.states import JobState, SlideState

MODEL = "stain-density"


def run_demo(folder: Path, console: Console) -> bool:
    """Run the demo and return whether its job completed. Starts a stack when none runs, and stops only that one."""
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
        return analyse_slide(stack, slide, folder, console, began)
    finally:
        if is_started_here(folder):  # not `is_ours`: a signal may come before it is assigned
            stop_stack(folder)


def analyse_slide(stack: dict[str, Any], slide: Path, folder: Path, console: Console, began: float) -> bool:
    """Send a slide through a running stack, show its job live, and return whether it completed. `stack`: stack.json."""
    transport = Transport(stack["api_url"], stack["api_key"])
    try:
        api = Api(transport)
        slide_id = send_slide(api, SlideInput(location=str(slide), name=slide.name))
        inspected = wait_until_inspected(api, slide_id)
        if inspected.status != SlideState.READY:
            console.print(f"The slide is {inspected.status}: {inspected.sentence}")
            return False
        # `force`: a second demo shows the work again instead of the first one's result.
        job = api.submit_job(slide_id, MODEL, idempotency_key=str(uuid4()), force=True)
        realtime = Realtime(url=stack["realtime_url"], credential=stack["api_key"])
        last = follow(api, job.job_id, slide.name, realtime)
        job = api.get_job(job.job_id)
        if not JobState(job.status).is_success:
            console.print(f"job {job.job_id} is {job.status}: {job.sentence}")
            return False
        paths = download(api, job.job_id, folder / "results" / job.job_id)
    finally:
        transport.close()
    planned, done, broken = job.tiles_planned, job.tiles_inferred, job.tiles_unreadable
    console.print(f"job      {job.job_id}")
    console.print(f"status   {job.status}")
    console.print(f"tiles    {planned} planned = {done} inferred + {broken} unreadable")
    console.print(f"tiles/s  {f'{last.tiles_per_second:.0f}' if last.tiles_per_second else 'too short to measure'}")
    for number, path in enumerate(paths):
        console.print(f"{'' if number else 'results':<9}{path}")
    console.print(f"time     {time.monotonic() - began:.1f} s")
    console.print("`make up` opens the page: it starts the stack again, leaves it running and prints the address.")
    return True
