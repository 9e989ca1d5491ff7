"""Jobs after a restore: the results of those that ended are looked for, and those that were live begin again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from uuid import UUID

from wsi.concurrency import map_concurrently
from wsi.ports.objects import ObjectHeads, Objects
from wsi.ports.recovery import RecoveryLedger
from wsi.records.results import ResultFile
from wsi.recovery.verifying import Finding, ObjectProblem, find_object, find_problem


@dataclass(frozen=True, kw_only=True, slots=True)
class JobsPage:
    jobs: int
    results: int
    restarted: int  #: jobs that were live, and are QUEUED now
    findings: tuple[Finding, ...]
    next: UUID | None  #: what the next page begins after


def recover_jobs(
    *,
    ledger: RecoveryLedger,
    heads: ObjectHeads,
    objects: Objects,
    reads_results: bool,
    after: UUID | None,
    limit: int,
) -> JobsPage:
    """Check the result files of a page of jobs by their sizes, or with `reads_results` by their SHA-256, which reads
    all of them. Restart the live ones: their plans name lost buckets and versions, and their shards were not saved."""
    page = ledger.list_jobs(after=after, limit=limit)
    files = [(one.job.id, file) for one in page for file in one.files]
    problems = map_concurrently(lambda one: _check(one[1], heads, objects, reads_results), files)
    restarted = ledger.restart_jobs([one.job.id for one in page])
    return JobsPage(
        jobs=len(page),
        results=len(files),
        restarted=len(restarted),
        findings=tuple(
            Finding("result", str(job_id), file.name, problem)
            for (job_id, file), problem in zip(files, problems, strict=True)
            if problem is not None
        ),
        next=page[-1].job.id if len(page) == limit else None,
    )


def _check(file: ResultFile, heads: ObjectHeads, objects: Objects, reads_results: bool) -> ObjectProblem | None:
    problem = find_problem(find_object(heads, heads.make_uri(file.key)), size=file.size)
    if problem is None and reads_results and hashlib.sha256(objects.get(file.key)).hexdigest() != file.sha256:
        return ObjectProblem.DIFFERS
    return problem
