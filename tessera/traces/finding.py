"""Finds the trace of a job: the job by the API, its spans in the files of a stack on this machine or in AWS X-Ray."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tessera.api.connection import open_transport
from tessera.local_run.inputs import UsageError
from wsi.records.spans import Span
from wsi.states import JobState
from wsi.tracing import is_traceparent

STACK = Path(".tessera")  #: where `make up` keeps its data

ReadTrace = Callable[[str], Sequence[Span]]


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedInstallation:
    """An installation whose traces can be read."""

    api: str
    api_key: str
    read_trace: ReadTrace


@dataclass(frozen=True, kw_only=True, slots=True)
class JobTrace:
    """A job with the spans of its trace."""

    job_id: str
    status: str
    trace_id: str
    spans: tuple[Span, ...]

    @property
    def has_ended(self) -> bool:
        return JobState(self.status).is_final


def find_installation(
    api: str | None, api_key: str | None, stack: Path | None, region: str | None
) -> TracedInstallation:
    """Return the installation that the options name: with `api` one on AWS, else the stack in a folder. Raises
    UsageError."""
    if api is None:
        return _read_stack(stack or STACK)
    if stack is not None:
        raise UsageError("--api is for an installation on AWS, --stack for one on this machine: give one of them")
    if not api_key:
        raise UsageError("--api needs an API key: --api-key, or TESSERA_API_KEY in the environment")
    return TracedInstallation(api=api, api_key=api_key, read_trace=_make_xray_reader(region))


def find_job_trace(installation: TracedInstallation, job_id: str) -> JobTrace:
    """Return the job's trace. Raises NotFound for a job that this key does not see."""
    with open_transport(installation.api, installation.api_key) as transport:
        job: dict[str, Any] = transport.call("GET", f"/jobs/{job_id}", repeatable=True)
    traceparent = str(job["traceparent"])
    if not is_traceparent(traceparent):
        raise UsageError(f"job {job_id} has no trace")
    trace_id = traceparent.split("-")[1]
    spans = tuple(installation.read_trace(trace_id))
    return JobTrace(job_id=str(job["job_id"]), status=str(job["status"]), trace_id=trace_id, spans=spans)


def _read_stack(folder: Path) -> TracedInstallation:
    from adapters.tracing.otlp_reading import read_folder

    try:
        stack = json.loads((folder / "stack.json").read_text())
    except FileNotFoundError:
        raise UsageError(
            f"no stack runs in {folder}: start it with make up, name its folder with --stack, or an installation on AWS"
            " with --api"
        ) from None
    traces = Path(stack["traces"])
    return TracedInstallation(
        api=stack["api_url"], api_key=stack["api_key"], read_trace=lambda trace_id: read_folder(traces, trace_id)
    )


def _make_xray_reader(region: str | None) -> ReadTrace:
    """Return a reader of X-Ray, by the AWS credentials of this machine's user."""
    from adapters.tracing.xray_reading import make_xray_client, read_trace

    client = make_xray_client(region)
    return lambda trace_id: read_trace(client, trace_id)
