"""Jobs: list, watch, results, cancel, try again, delete. `lambdas.routes.submission` starts them."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Caller, Cursor, IdempotencyKey, Limit, Search, Trace, Wiring
from lambdas.schemas.common import STORABLE
from lambdas.schemas.jobs import (
    DeliveryAnswer,
    DeliveryList,
    EventAnswer,
    EventList,
    JobAnswer,
    JobContext,
    JobList,
    JobSubmitted,
    PartialResults,
    PartialShard,
    ResultAnswer,
    ResultList,
)
from lambdas.wiring import SubmitWiring
from wsi.access import may_see_name, may_see_receivers
from wsi.errors import Invalid
from wsi.jobs import job_results, jobs
from wsi.jobs.expecting import measure_wait
from wsi.records.identity import Actor
from wsi.records.jobs import Job, JobFilter
from wsi.slides import erasing
from wsi.states import JobState

router = APIGatewayRouter()


@router.get("/jobs", tags=["jobs"], summary="Jobs, newest first")
def list_jobs(
    caller: Caller,
    wiring: Wiring,
    q: Search = None,
    status: Annotated[JobState | None, Query()] = None,
    model: Annotated[str | None, Query(max_length=200), STORABLE] = None,
    label: Annotated[str | None, Query(max_length=200), STORABLE] = None,
    slide_id: Annotated[UUID | None, Query()] = None,
    mine: Annotated[bool, Query(description="Only those that the caller asked for.")] = False,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> JobList:
    by = caller.subject if mine else None
    wanted = JobFilter(q=q, state=status, model=model, label=label, slide_id=slide_id, created_by=by)
    page = wiring.ledger.list_jobs(caller, wanted, cursor=cursor, limit=limit)
    return JobList.of(page, read_job_context(*page.items, caller=caller, wiring=wiring))


@router.get("/jobs/<job_id>", tags=["jobs"], summary="One job with its progress")
def get(job_id: UUID, caller: Caller, wiring: Wiring) -> JobAnswer:
    job = wiring.ledger.get_job(caller, job_id)
    context = read_job_context(job, caller=caller, wiring=wiring)
    expected = measure_wait(job, ledger=wiring.ledger, scaling=wiring.scaling, now=context.now)
    return JobAnswer.of(job, replace(context, expected=expected))


@router.get("/jobs/<job_id>/events", tags=["jobs"], summary="The job's history, oldest first")
def events(job_id: UUID, caller: Caller, wiring: Wiring, cursor: Cursor = None, limit: Limit = 100) -> EventList:
    if cursor is not None and not cursor.isdecimal():
        raise Invalid("The cursor is not one that this API gave.")
    found = wiring.ledger.list_job_events(caller, job_id, after=int(cursor or 0), limit=limit + 1)
    page = found[:limit]
    return EventList(
        items=[EventAnswer.of(event) for event in page],
        next_cursor=str(page[-1].seq) if len(found) > limit else None,
    )


@router.get("/jobs/<job_id>/partial", tags=["jobs"], summary="Shards that finished since the last look")
def partial(
    job_id: UUID,
    caller: Caller,
    wiring: Wiring,
    after: Annotated[str | None, Query(max_length=4096, description="`after` of the last answer.")] = None,
    limit: Limit = 100,
) -> PartialResults:
    found = job_results.issue_partial_links(
        caller, job_id, after=after, limit=limit, ledger=wiring.ledger, objects=wiring.objects
    )
    items = [PartialShard.of(shard) for shard in found.shards]
    return PartialResults(items=items, after=found.after, plan_url=found.plan_url, output=found.output)


@router.get("/jobs/<job_id>/results", tags=["jobs"], summary="Links to the result files")
def results(job_id: UUID, caller: Caller, wiring: Wiring) -> ResultList:
    links = job_results.issue_result_links(caller, job_id, ledger=wiring.ledger, objects=wiring.objects)
    return ResultList(items=[ResultAnswer.of(link) for link in links], next_cursor=None)


@router.get("/jobs/<job_id>/deliveries", tags=["jobs"], summary="What came of its mails and webhooks")
def deliveries(job_id: UUID, caller: Caller, wiring: Wiring) -> DeliveryList:
    job = wiring.ledger.get_job(caller, job_id)
    shows = may_see_receivers(caller, job.created_by, is_retry=job.retry_of is not None)
    found = wiring.ledger.list_deliveries(caller, job_id)
    return DeliveryList(items=[DeliveryAnswer.of(one, shows_receiver=shows) for one in found], next_cursor=None)


@router.post("/jobs/<job_id>/cancel", tags=["jobs"], summary="Cancel the job")
def cancel(job_id: UUID, caller: Caller, wiring: Wiring) -> JobAnswer:
    job = jobs.cancel_job(caller, job_id, ledger=wiring.ledger, queues=wiring.queues)
    return JobAnswer.of(job, read_job_context(job, caller=caller, wiring=wiring))


@router.post(
    "/jobs/<job_id>/retry",
    tags=["jobs"],
    summary="Try a failed or cancelled job again",
    status_code=HTTPStatus.ACCEPTED,
)
def retry(
    job_id: UUID, caller: Caller, trace: Trace, wiring: Wiring, idempotency_key: IdempotencyKey = None
) -> JobSubmitted:
    submission = jobs.retry_job(
        caller,
        job_id,
        idempotency_key=idempotency_key,
        traceparent=trace,
        ledger=wiring.ledger,
        queues=wiring.queues,
        dollars_per_gpu_hour=wiring.dollars_per_gpu_hour,
    )
    return JobSubmitted.of_submission(submission, read_job_context(submission.job, caller=caller, wiring=wiring))


@router.delete(
    "/jobs/<job_id>", tags=["jobs"], summary="Delete a job that has ended", status_code=HTTPStatus.NO_CONTENT
)
def delete(job_id: UUID, caller: Caller, wiring: Wiring) -> Response[None]:
    erasing.delete_job(caller, job_id, ledger=wiring.ledger, objects=wiring.objects, locks=wiring.locks)
    return Response(status_code=HTTPStatus.NO_CONTENT)


def read_job_context(*of: Job, caller: Actor, wiring: SubmitWiring) -> JobContext:
    """Return what the answers about these jobs say besides the jobs themselves."""
    shown = {job.created_by for job in of if may_see_name(caller, job.created_by)}
    names = wiring.ledger.list_names(caller, shown)
    price = wiring.dollars_per_gpu_hour
    return JobContext(now=wiring.clock(), names=names, caller=caller, dollars_per_gpu_hour=price)
