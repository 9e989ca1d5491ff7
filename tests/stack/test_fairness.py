"""Sixty urgent jobs of one tenant on the whole stack, and what another tenant's job waits for."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import pytest

from gpu_worker.leases.turns import WEIGHTS
from tessera.api.rest import Api, RemoteJob
from tessera.api.transport import Transport
from tessera.api.upload import upload
from tessera.local_run.sources import open_local_source
from tests.slides import write_svs
from tests.stack.lab import Lab, eventually
from wsi.errors import Conflict
from wsi.records.jobs import JobTerms, Priority
from wsi.states import JobState, SlideState

pytestmark = pytest.mark.stack

MANY = 60
IN_FLIGHT = 12  #: of a priority, RelaySettings' own


def upload_ready(api: Api, path: Path) -> str:
    slide_id = upload(api, open_local_source(path).files, mpp=None)
    eventually(lambda: api.get_slide(slide_id).status == SlideState.READY, seconds=60, what="inspection")
    return slide_id


def submit(api: Api, slide_id: str, priority: Priority, label: str | None = None) -> RemoteJob:
    terms = JobTerms(priority=priority, label=label)
    return api.submit_job(slide_id, "stain-density", idempotency_key=str(uuid4()), force=True, terms=terms)


def count_begun_before(lab: Lab, job: RemoteJob) -> int:
    """Shards that workers began before the first one of the job."""
    [row] = lab.sql(
        """
        SELECT count(*) AS others FROM job_events WHERE kind = 'shard_leased' AND seq < (
            SELECT min(seq) FROM job_events WHERE kind = 'shard_leased' AND job_id = %s
        ) AND job_id IN (SELECT id FROM jobs WHERE label = 'many')
        """,
        job.job_id,
    )
    return row["others"]


def test_sixty_urgent_jobs_of_one_tenant_hold_no_others(lab: Lab, tmp_path: Path) -> None:
    path = write_svs(tmp_path / "small.svs", width=1024, height=1024, tissue=(0, 0, 1024, 1024))
    with closing(Transport(lab.stack.api_url, lab.stack.other_api_key)) as transport:
        other = Api(transport)
        mine, theirs = upload_ready(lab.api, path), upload_ready(other, path)
        many = [submit(lab.api, mine, Priority.HIGH, "many") for _ in range(MANY)]
        eventually(lambda: count_planned(lab) == MANY, seconds=120, what="sixty plans")
        normal, urgent = submit(other, theirs, Priority.NORMAL), submit(other, theirs, Priority.HIGH)
        eventually(
            lambda: all(other.get_job(job.job_id).status == JobState.RUNNING for job in (normal, urgent)),
            seconds=60,
            what="two plans",
        )
        assert lab.sql("SELECT 1 FROM job_events WHERE kind = 'shard_leased' AND job_id = %s", many[0].job_id) == []
        lab.stack.workers.start()
        for job in (normal, urgent):
            eventually(
                lambda job=job: JobState(other.get_job(job.job_id).status).is_success, seconds=120, what="their jobs"
            )
    assert count_begun_before(lab, normal) <= sum(WEIGHTS.values()), "its queue's turn came within a cycle"
    assert count_begun_before(lab, urgent) <= IN_FLIGHT + 2, "it waited for no more than was in flight"
    for job in many:  # so that the workers of later tests do not take them up
        with suppress(Conflict):
            lab.cancel(job)


def count_planned(lab: Lab) -> int:
    [row] = lab.sql("SELECT count(*) AS planned FROM jobs WHERE label = 'many' AND state = 'RUNNING'")
    return row["planned"]
