"""Invocations of a function as Lambda makes them: a process of its own with some of the processors, called twice. What
the second call takes is what all calls but the first of a process take."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.slow_store import read_counts
from lambdas.cold_start import Handler

MIB_A_PROCESSOR = 1_769  #: Lambda gives a processor for this memory, and in proportion up to six (AWS Lambda quotas)


def invoke_twice(handler: Handler, body: Mapping[str, str], digest: Callable[[], str]) -> None:
    """Call the handler with one message, twice; print the times of both calls and the `digest` of what they made."""
    record = {
        "messageId": "1",
        "body": json.dumps(body),
        "attributes": {"ApproximateReceiveCount": "1"},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
    }
    imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    times: list[float] = []
    for _ in range(2):
        began, cpu = time.perf_counter(), time.process_time()
        answer = handler({"Records": [record]}, None)
        times += [time.perf_counter() - began, time.process_time() - cpu]
        assert answer == {"batchItemFailures": []}, answer
    print(json.dumps({"times": times, "imported": imported, "digest": digest()}))


def measure_invocation(module: str, arguments: Sequence[str], url: str, processors: int) -> None:
    """Run `python -m module arguments`, which ends with `invoke_twice`, on that many processors; print what it took."""
    read_counts(url)
    free = sorted(os.sched_getaffinity(0))[:processors]
    child = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, free),
    )
    assert child.stdout is not None
    said: dict[str, Any] = json.loads(child.stdout.read().splitlines()[-1])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    first, first_cpu, again, again_cpu = said["times"]
    counts = read_counts(url)
    requests = ", ".join(f"{counts[method] / 2:g} {method}" for method in ("HEAD", "GET", "PUT", "POST"))
    print(
        f"  first {first:.2f} s, {first_cpu:.2f} CPU s; again {again:.2f} s, {again_cpu:.2f} CPU s;"
        f" {usage.ru_maxrss / 1024:.0f} MB at most (import {said['imported']:.0f}); a call: {requests},"
        f" {counts['read'] / 2e6:.1f} MB read, {counts['written'] / 2e6:.1f} MB written; made {said['digest']}",
        flush=True,
    )
