"""Start a job, or estimate what it would take: the route of `lambdas.submit`."""

# Annotations are no strings here: Powertools evaluates those of a route and of what it depends on at each request.

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Caller, IdempotencyKey, Submitting, Trace
from lambdas.routes.jobs import read_job_context
from lambdas.schemas.jobs import EstimateAnswer, JobSubmitted, NewJobBody
from wsi.jobs import jobs
from wsi.spans import describe_span

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
    wiring: Submitting,
    dry_run: Annotated[bool, Query(description="Only estimate tiles, shards, seconds and dollars.")] = False,
    idempotency_key: IdempotencyKey = None,
) -> Response[JobSubmitted | EstimateAnswer]:
    request = body.to_request()
    if dry_run:
        # Imported here, since the API's function describes this route and has no numpy.
        from wsi.jobs.estimating import estimate_job

        estimate = estimate_job(
            caller,
            request,
            ledger=wiring.ledger,
            objects=wiring.objects,
            dollars_per_gpu_hour=wiring.dollars_per_gpu_hour,
        )
        priced = EstimateAnswer.of(estimate, request.warnings)
        return Response(status_code=HTTPStatus.OK, content_type=JSON, body=priced)
    describe_span("start job", slide_id=str(request.slide_id))
    submission = jobs.submit_job(
        caller,
        request,
        idempotency_key=idempotency_key,
        traceparent=trace,
        ledger=wiring.ledger,
        queues=wiring.queues,
        dollars_per_gpu_hour=wiring.dollars_per_gpu_hour,
    )
    describe_span(job_id=str(submission.job.id), model=submission.job.model)
    context = read_job_context(submission.job, caller=caller, wiring=wiring)
    answer = JobSubmitted.of_submission(submission, context, request.warnings)
    return Response(status_code=HTTPStatus.ACCEPTED, content_type=JSON, body=answer)
