"""One slide, one trace: from its upload to its results, over every process; a lost worker is seen in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from adapters.tracing.otlp_reading import read_folder
from tests.slides import write_svs
from tests.stack.lab import Lab, eventually
from tests.stack.test_deaths import start_and_await_checkpoint
from wsi.records.jobs import JobTerms
from wsi.records.spans import Span, SpanAttributes, SpanKind

pytestmark = pytest.mark.stack

SERVICES = {"api", "relay", "inspect", "plan", "gpu_worker", "stitch", "notify"}
NAME = "meier-anna.svs"
#: The clocks of the processes are one here, and Postgres' and the emulator's too; the emulator's stamps are of 1 ms.
TICK = 0.002


def read_trace(lab: Lab, job_id: str, *, last: str) -> tuple[Span, ...]:
    """The job's trace, once the span of this name is in it."""
    trace_id = lab.transport.call("GET", f"/jobs/{job_id}", repeatable=True)["traceparent"].split("-")[1]

    def seen() -> tuple[Span, ...] | None:
        spans = read_folder(lab.stack.traces, trace_id)
        return spans if any(span.name == last for span in spans) else None

    return eventually(seen, seconds=60, what=f"the span {last}")


def print_trace(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tessera", "admin", "trace", *arguments, "--stack", str(lab.stack.folder)],
        env={**os.environ, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_slide_has_one_trace_from_its_upload_to_its_notice(lab: Lab, tmp_path: Path) -> None:
    path = write_svs(tmp_path / NAME, width=2048, height=2048, tissue=(0, 0, 2048, 2048))
    lab.stack.workers.start()
    slide = lab.upload(path)
    job = lab.submit(slide, terms=JobTerms(notify_email="someone@lab.example"))
    lab.wait(job)
    spans = read_trace(lab, job.job_id, last="notify")

    assert {span.service for span in spans} == SERVICES
    check_tree(spans)
    (root,) = [span for span in spans if span.parent is None]
    assert root.name == "begin upload"
    waits = [span for span in spans if span.name.startswith("queue ")]
    assert {span.name for span in waits} == {
        *("queue inspect", "queue plan", "queue stitch", "queue notify", "queue shards-normal"),
    }
    for span in spans:
        assert span.error is None
        assert span.attributes.keys() <= SpanAttributes.__annotations__.keys()
    text = "".join(file.read_text() for file in lab.stack.traces.iterdir())
    for secret in (NAME, "lab.example", *map(str, lab.stack.tenants.values())):
        assert secret not in text

    shown = print_trace(lab, job.job_id)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].startswith(f"Job {job.job_id}: COMPLETED, {len(spans)} spans in ")
    assert sum("█" in line or "░" in line or "▒" in line for line in lines) == len(spans) + 1  # and the legend
    assert any(line.startswith("gpu_worker ") and line.endswith("%") for line in lines)
    described = json.loads(print_trace(lab, job.job_id, "--json").stdout)
    assert len(described["spans"]) == len(spans)
    whole = max(span.ended for span in spans) - min(span.began for span in spans)
    assert sum(described["time"].values()) == pytest.approx(whole)


def test_a_killed_worker_leaves_an_attempt_without_an_end_and_the_next_one_ends(lab: Lab, middling_slide: Path) -> None:
    slide = lab.upload(middling_slide)
    job = lab.submit(slide)
    killed = start_and_await_checkpoint(lab, job)
    # Its spans are written once a second.
    read_trace(lab, job.job_id, last="prepare shard")
    lab.stack.workers.kill(killed)
    lab.stack.workers.start()
    lab.wait(job)
    spans = read_trace(lab, job.job_id, last="stitch")
    check_tree(spans)
    leases = [span for span in spans if span.name == "lease shard"]
    attempts = {(span.attributes["shard"], span.attributes["attempt"]) for span in leases}
    # The worker held two leases; that of the second shard may have been a moment old, and not written yet.
    (lost, *_) = [shard for shard, attempt in sorted(attempts) if attempt == 2 and (shard, 1) in attempts]
    ended = {span.parent for span in spans if span.name == "settle shard"}
    assert [
        span.attributes["attempt"] for span in leases if span.attributes["shard"] == lost and span.span_id in ended
    ] == [2]

    (line,) = [
        line for line in print_trace(lab, job.job_id).stdout.splitlines() if f"lease shard {lost}, attempt 1" in line
    ]
    assert "✗ worker lost" in line


def test_a_job_that_this_key_does_not_see_has_no_trace_to_print(lab: Lab) -> None:
    shown = print_trace(lab, "44fb0987-67f0-41ba-8a7d-7033b7968ef4")
    assert shown.returncode != 0
    assert "Traceback" not in shown.stderr


def check_tree(spans: Sequence[Span]) -> None:
    """Every parent is there, no id came twice, and no span begins before its parent; parts of one process's work are
    within it."""
    known = {span.span_id: span for span in spans}
    assert len(known) == len(spans)
    assert {span.parent for span in spans if span.parent} <= known.keys()
    for span in spans:
        if span.parent is None:
            continue
        cause = known[span.parent]
        assert span.began >= cause.began - TICK, (span, cause)
        if span.kind is SpanKind.INTERNAL and cause.name != "lease shard":
            assert span.ended <= cause.ended + TICK, (span, cause)
