"""The handlers behind queues and schedules, on SQS and EventBridge events."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from adapters.settings import metrics
from lambdas import inspect, plan, relay, stitch, sweep
from lambdas.metrics import publish
from local.lambda_context import LambdaContext
from tests.fakes.objects import KeepingObjects
from tests.installation import ANALYST, Installation
from tests.slides import write_svs
from wsi.digests import PART_SIZE
from wsi.jobs.jobs import JobRequest, submit_job
from wsi.ports.ledger import Swept
from wsi.records.audit.lines import AuditFilter
from wsi.records.jobs import Priority
from wsi.records.operations.vitals import Vitals
from wsi.records.slides import RestoreTier
from wsi.slide.files.scratch import ScratchSpace
from wsi.slides.archiving import LOOK_SECONDS, archive_slide, restore_slide
from wsi.slides.erasing import PASS_SECONDS, delete_slide
from wsi.states import JobState, SlideState
from wsi.tracing import make_traceparent


def sqs_event(*bodies: dict[str, Any], receives: int = 1) -> dict[str, Any]:
    return {
        "Records": [
            {
                "messageId": f"m{number}",
                "receiptHandle": f"r{number}",
                "body": json.dumps(body),
                "attributes": {"ApproximateReceiveCount": str(receives), "SentTimestamp": "0"},
                "messageAttributes": {"traceparent": {"stringValue": make_traceparent(), "dataType": "String"}},
                "md5OfBody": "",
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:tessera-plan",
                "awsRegion": "eu-central-1",
            }
            for number, body in enumerate(bodies)
        ]
    }


def failed(answer: dict[str, Any]) -> list[str]:
    return [item["itemIdentifier"] for item in answer["batchItemFailures"]]


@pytest.fixture
def stages(installation, tmp_path):
    """What the functions behind the queues of a slide's way are wired with."""
    parts = {"ledger": installation.ledger, "slides": installation.slides, "objects": installation.objects}
    return {**parts, "scratch": ScratchSpace(tmp_path)}


@pytest.fixture
def uploaded(installation, tmp_path):
    path = tmp_path / "written.svs"
    write_svs(path, width=2000, height=1500, mpp=0.5)
    data = path.read_bytes()
    assert len(data) <= PART_SIZE
    slide = installation.opened(len(data))
    installation.send_part(slide, 0, 1, data)
    return installation.complete(slide.id).id


def submitted(installation: Installation, slide_id: UUID) -> UUID:
    return submit_job(
        ANALYST,
        JobRequest(slide_id=slide_id, model="stain-density"),
        idempotency_key=None,
        traceparent=make_traceparent(),
        ledger=installation.ledger,
        queues=installation.queues,
    ).job.id


@dataclass
class BrokenSlides:
    """A slide store with a bug."""

    calls: list[str] = field(default_factory=list)

    def open(self, uri, *, tenant=None, etag=None):
        self.calls.append(uri)
        raise RuntimeError("a bug")


def test_inspect_then_plan_brings_a_job_to_its_workers(installation, stages, uploaded):
    body = {"v": 1, "slide_id": str(uploaded)}
    assert failed(inspect.make_handler(**stages)(sqs_event(body, body), None)) == []
    assert installation.ledger.get_slide(ANALYST, uploaded).state is SlideState.READY
    job = submitted(installation, uploaded)
    woken = installation.queues.depth("wake")
    assert (
        failed(plan.make_handler(**stages, queues=installation.queues)(sqs_event({"v": 1, "job_id": str(job)}), None))
        == []
    )
    running = installation.ledger.get_job(ANALYST, job)
    assert running.state is JobState.RUNNING
    assert running.tiles_planned > 0
    assert installation.queues.depth("wake") == woken + 1
    stitching = stitch.make_handler(
        ledger=installation.ledger, objects=installation.objects, queues=installation.queues
    )
    assert failed(stitching(sqs_event({"v": 1, "job_id": str(job)}), None)) == []
    assert installation.ledger.get_job(ANALYST, job).state is JobState.RUNNING


def test_only_the_failed_message_of_a_batch_comes_again(installation, stages, uploaded):
    good, bad = {"v": 1, "slide_id": str(uploaded)}, {"v": 1}
    assert failed(inspect.make_handler(**stages)(sqs_event(good, bad), None)) == ["m1"]
    assert installation.ledger.get_slide(ANALYST, uploaded).state is SlideState.READY


def test_a_batch_of_one_that_fails_is_no_error_of_the_function(installation, stages):
    job = submitted(installation, installation.ready())
    handle = plan.make_handler(**{**stages, "slides": BrokenSlides()}, queues=installation.queues)
    assert failed(handle(sqs_event({"v": 1, "job_id": str(job)}), None)) == ["m0"]
    assert installation.ledger.get_job(ANALYST, job).state is JobState.PLANNING


def test_the_last_try_fails_the_job_so_that_nobody_waits_for_it(installation, stages):
    job = submitted(installation, installation.ready())
    handle = plan.make_handler(**{**stages, "slides": BrokenSlides()}, queues=installation.queues)
    assert failed(handle(sqs_event({"v": 1, "job_id": str(job)}, receives=5), None)) == ["m0"]
    ended = installation.ledger.get_job(ANALYST, job)
    assert (ended.state, ended.reason) == (JobState.FAILED, "planning_failed")
    assert ended.sentence
    assert "bug" not in ended.sentence


def test_the_last_try_rejects_the_slide_so_that_nobody_waits_for_it(installation, stages, uploaded):
    handle = inspect.make_handler(**{**stages, "slides": BrokenSlides()})
    assert failed(handle(sqs_event({"v": 1, "slide_id": str(uploaded)}, receives=4), None)) == ["m0"]
    assert installation.ledger.get_slide(ANALYST, uploaded).state is SlideState.UPLOADED
    assert failed(handle(sqs_event({"v": 1, "slide_id": str(uploaded)}, receives=5), None)) == ["m0"]
    ended = installation.ledger.get_slide(ANALYST, uploaded)
    assert (ended.state, ended.reason) == (SlideState.REJECTED, "damaged")


@pytest.mark.parametrize("event", [sqs_event({}, {}), {"source": "aws.events", "detail-type": "Scheduled Event"}])
def test_a_wake_up_and_the_schedule_both_empty_the_outbox(installation, event):
    submitted(installation, installation.ready())
    handle = relay.make_handler(
        ledger=installation.ledger,
        queues=installation.queues,
        publisher=installation.publisher,
        shards_in_flight=12,
    )
    assert handle(event, LambdaContext("relay", 30.0)) == {"batchItemFailures": []}
    assert installation.queues.depth("plan") == 1
    assert len(installation.publisher.published) == 1


def make_sweep(installation, *, objects=None, locks=None):
    return sweep.make_handler(
        ledger=installation.ledger,
        slides=installation.slides,
        objects=objects or installation.objects,
        locks=locks,
        queues=installation.queues,
        upload_days=3,
        stuck_seconds=900,
        give_up_seconds=86_400,
        dollars_per_gpu_hour=1.0,
        metrics_namespace="tessera-test",
    )


@pytest.fixture
def swept(installation):
    return make_sweep(installation)


def test_the_sweep_tells_what_it_put_right(installation, swept):
    submitted(installation, installation.ready())
    answer = swept({}, None)
    assert set(answer) == {
        *("leases_expired", "stitches_woken", "messages_resent", "uploads_abandoned", "given_up", "notices_woken"),
        *("budgets_told", "dead_letters"),
        *("slides_restored", "slides_archived_again", "slides_unsettled"),
        *("slides_expired", "jobs_expired", "keys_expired", "slides_erased", "jobs_erased", "erasures_failed"),
    }
    json.dumps(answer)


def test_the_sweep_logs_the_heads_of_audit_logs_outside_of_the_database(installation, swept, caplog):
    installation.ready()
    with caplog.at_level(logging.INFO):
        swept({}, None)
        swept({}, None)
    page = installation.ledger.list_audit(ANALYST, AuditFilter(), cursor=None, limit=1)
    (logged,) = [record for record in caplog.records if record.message == "audit head"]
    assert (logged.chain, logged.number) == (str(ANALYST.tenant), page.items[0].number)
    assert logged.hash == page.items[0].hash


def test_the_sweep_brings_slides_back(installation, swept):
    slide = installation.ready()
    archive_slide(ANALYST, slide, ledger=installation.ledger, slides=installation.slides)
    tier = RestoreTier.STANDARD
    restore_slide(ANALYST, slide, tier=tier, ledger=installation.ledger, slides=installation.slides)
    installation.clock.pass_seconds(LOOK_SECONDS + 1)
    assert swept({}, None)["slides_restored"] == 1
    assert installation.ledger.get_slide(ANALYST, slide).state is SlideState.READY


def metric_lines(text):
    """The lines that CloudWatch makes metrics of."""
    return [line for line in map(json.loads, text.splitlines()) if "_aws" in line]


def test_the_sweep_tells_how_all_jobs_stand(installation, swept, capsys):
    submitted(installation, installation.ready())
    swept({}, None)
    line, erasures = metric_lines(capsys.readouterr().out)
    assert erasures[metrics.ERASURES_FAILED] == [0]
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert (directive["Namespace"], directive["Dimensions"]) == ("tessera-test", [["service"]])
    named = {metric["Name"]: line[metric["Name"]] for metric in directive["Metrics"]}
    assert set(named) == {
        *(metrics.name_jobs_metric(state) for state in JobState),
        *(metrics.JOBS_WAITING, metrics.JOBS_STALLED, metrics.TILES, metrics.OUTBOX_AGE),
        *(metrics.name_line_metric(priority) for priority in Priority),
        *(metrics.LEASES_EXPIRED, metrics.MESSAGES_RESENT, metrics.GIVEN_UP, metrics.DEAD_LETTERS),
    }
    assert named[metrics.name_jobs_metric("QUEUED")] == [1]
    assert named[metrics.name_jobs_metric("COMPLETED")] == [0]


def test_the_sweep_tells_of_what_could_not_be_erased(installation, capsys):
    slide = installation.ready()
    at = {"ledger": installation.ledger, "slides": installation.slides, "objects": installation.objects}
    delete_slide(ANALYST, slide, **at, locks=None)
    installation.clock.pass_seconds(PASS_SECONDS + 1)
    make_sweep(installation, objects=KeepingObjects())({}, None)
    assert metric_lines(capsys.readouterr().out)[-1][metrics.ERASURES_FAILED] == [1]


def test_each_job_that_ended_has_its_time_however_many_there_are(capsys):
    vitals = Vitals(
        live={},
        finished={},
        waiting=0,
        stalled=0,
        outbox_seconds=0,
        line_seconds={},
        tiles=0,
        first_lease_seconds=(),
        result_seconds=tuple(float(n) for n in range(250)),
    )
    publish(vitals, Swept(), namespace="tessera-test")
    lines = metric_lines(capsys.readouterr().out)
    assert sorted(value for line in lines for value in line.get(metrics.TIME_TO_RESULT, [])) == [*vitals.result_seconds]
    assert all(len(line.get(metrics.TIME_TO_RESULT, [])) <= 100 for line in lines)
