"""Jobs: ask, estimate, list, watch, results, cancel, try again."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.requests import Caller, Cursor, IdempotencyKey, Limit, Search, Trace, Wiring
from lambdas.schemas.common import STORABLE
from lambdas.schemas.jobs import (
    Beside,
    DeliveryAnswer,
    DeliveryList,
    EstimateAnswer,
    EventAnswer,
    EventList,
    JobAnswer,
    JobList,
    JobSubmitted,
    NewJobBody,
    PartialResults,
    PartialShard,
    ResultAnswer,
    ResultList,
)
from lambdas.wiring import ApiWiring
from wsi import job_results, jobs
from wsi.errors import Invalid
from wsi.records.identity import Actor
from wsi.records.jobs import Job, JobFilter
from wsi.states import JobState

router = APIGatewayRouter()

JSON = "application/json"


@router.post(
    "/jobs",
    tags=["jobs"],
    summary="Analyse a slide",
    responses={
        200: {"description": "A dry run's estimate", "content": {"application/json": {"model": EstimateAnswer}}},
        202: {"description": "The job", "content": {"application/json": {"model": JobSubmitted}}},
    },
)
def submit(
    body: NewJobBody,
    caller: Caller,
    trace: Trace,
    wiring: Wiring,
    dry_run: Annotated[bool, Query(description="Only estimate tiles, shards, seconds and dollars.")] = False,
    idempotency_key: IdempotencyKey = None,
) -> Response[JobSubmitted | EstimateAnswer]:
    request = body.asked()
    if dry_run:
        estimate = jobs.estimate_job(
            caller,
            request,
            ledger=wiring.ledger,
            objects=wiring.objects,
            dollars_per_gpu_hour=wiring.dollars_per_gpu_hour,
        )
        priced = EstimateAnswer.of(estimate, request.warnings)
        return Response(status_code=HTTPStatus.OK, content_type=JSON, body=priced)
    submission = jobs.submit_job(
        caller,
        request,
        idempotency_key=idempotency_key,
        traceparent=trace,
        ledger=wiring.ledger,
        queues=wiring.queues,
    )
    beside = _beside(submission.job, caller=caller, wiring=wiring)
    answer = JobSubmitted.of_submission(submission, beside, request.warnings)
    return Response(status_code=HTTPStatus.ACCEPTED, content_type=JSON, body=answer)


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
    page = wiring.ledger.jobs(caller, wanted, cursor=cursor, limit=limit)
    return JobList.of(page, _beside(*page.items, caller=caller, wiring=wiring))


@router.get("/jobs/<job_id>", tags=["jobs"], summary="One job with its progress")
def get(job_id: UUID, caller: Caller, wiring: Wiring) -> JobAnswer:
    job = wiring.ledger.job(caller, job_id)
    return JobAnswer.of(job, _beside(job, caller=caller, wiring=wiring))


@router.get("/jobs/<job_id>/events", tags=["jobs"], summary="The job's history, oldest first")
def events(job_id: UUID, caller: Caller, wiring: Wiring, cursor: Cursor = None, limit: Limit = 100) -> EventList:
    if cursor is not None and not cursor.isdecimal():
        raise Invalid("The cursor is not one that this API gave.")
    found = wiring.ledger.job_events(caller, job_id, after=int(cursor or 0), limit=limit + 1)
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
    found = job_results.partial_results(
        caller, job_id, after=after, limit=limit, ledger=wiring.ledger, objects=wiring.objects
    )
    items = [PartialShard.of(shard) for shard in found.shards]
    return PartialResults(items=items, after=found.after, plan_url=found.plan_url)


@router.get("/jobs/<job_id>/results", tags=["jobs"], summary="Links to the result files")
def results(job_id: UUID, caller: Caller, wiring: Wiring) -> ResultList:
    links = job_results.result_links(caller, job_id, ledger=wiring.ledger, objects=wiring.objects)
    return ResultList(items=[ResultAnswer.of(link) for link in links], next_cursor=None)


@router.get("/jobs/<job_id>/deliveries", tags=["jobs"], summary="What came of its mails and webhooks")
def deliveries(job_id: UUID, caller: Caller, wiring: Wiring) -> DeliveryList:
    found = wiring.ledger.deliveries(caller, job_id)
    return DeliveryList(items=[DeliveryAnswer.of(delivery) for delivery in found], next_cursor=None)


@router.post("/jobs/<job_id>/cancel", tags=["jobs"], summary="Cancel the job")
def cancel(job_id: UUID, caller: Caller, wiring: Wiring) -> JobAnswer:
    job = jobs.cancel_job(caller, job_id, ledger=wiring.ledger, queues=wiring.queues)
    return JobAnswer.of(job, _beside(job, caller=caller, wiring=wiring))


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
    )
    return JobSubmitted.of_submission(submission, _beside(submission.job, caller=caller, wiring=wiring))


def _beside(*of: Job, caller: Actor, wiring: ApiWiring) -> Beside:
    names = wiring.ledger.names(caller, {job.created_by for job in of})
    return Beside(now=wiring.clock(), names=names, dollars_per_gpu_hour=wiring.dollars_per_gpu_hour)
