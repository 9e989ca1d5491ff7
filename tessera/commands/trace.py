"""`tessera admin trace`: where the time of one job went."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tessera.terminal import print_json
from tessera.traces.attribution import split_time
from tessera.traces.drawing import LEGEND, draw_attribution, draw_waterfall
from tessera.traces.finding import STACK, JobTrace, find_installation, find_job_trace
from tessera.traces.selection import place_spans, select_job
from wsi.records.spans import Span


def trace(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's id.")],
    *,
    api: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="TESSERA_API", help="An installation on AWS, whose spans are read from X-Ray."
        ),
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(envvar="TESSERA_API_KEY", help="API key, or the token of a person. For --api.")
    ] = None,
    region: Annotated[
        str | None, typer.Option(help="AWS region of the installation; else that of your AWS configuration.")
    ] = None,
    stack: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Folder of a stack that runs on this machine; {STACK} without --api."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Print this many levels, not the parts below them.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Print the waterfall of a job, from the upload of its slide to its results, and where the time went."""
    found = find_job_trace(find_installation(api, api_key, stack, region), job)
    spans = select_job(found.spans, found.job_id)
    if as_json:
        print_json(_describe(found, spans))
        return
    console = Console(highlight=False)
    if not spans:
        console.print(
            f"Job {found.job_id} is {found.status}; no span of its trace {found.trace_id} was recorded. Spans arrive "
            "some seconds late; X-Ray deletes them after 30 days, and a share of traces may be recorded only.",
            soft_wrap=True,
        )
        raise typer.Exit(1)
    seconds = max(span.ended for span in spans) - min(span.began for span in spans)
    console.print(f"Job {found.job_id}: {found.status}, {len(spans)} spans in {seconds:,.1f} s", soft_wrap=True)
    console.print(f"Trace {found.trace_id}; columns of seconds: from the begin, and how long", soft_wrap=True)
    placed = place_spans(spans, job_ended=found.has_ended)
    shown = [one for one in placed if depth is None or one.depth < depth]
    for line in draw_waterfall(shown, width=console.width):
        console.print(line, soft_wrap=True)
    console.print(LEGEND, soft_wrap=True)
    for text in ("", "Where the time went:", *draw_attribution(split_time(spans))):
        console.print(text, soft_wrap=True)
    for link in sorted({span.link.split("-")[1] for span in spans if span.link is not None}):
        console.print(f"The slide was uploaded in another trace: {link}", soft_wrap=True)


def _describe(found: JobTrace, spans: tuple[Span, ...]) -> dict[str, Any]:
    lost = {one.span.span_id for one in place_spans(spans, job_ended=found.has_ended) if one.is_lost}
    return {
        "job_id": found.job_id,
        "status": found.status,
        "trace_id": found.trace_id,
        "spans": [
            {**asdict(span), "span_id": span.span_id, "seconds": span.seconds, "is_lost": span.span_id in lost}
            for span in spans
        ],
        "time": dict(split_time(spans)),
    }
