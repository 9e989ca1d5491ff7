"""The API and the sweep of an installation whose buckets have S3 Object Lock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from adapters.aws_clients import AwsClients
from adapters.settings.processes import SweepSettings
from lambdas.wiring import ApiWiring, make_slide_locks
from tests.installation import ADMIN, ANALYST, HOSPITAL, Installation
from tests.lambdas.rest import Caller, whole_handler
from tests.lambdas.test_queue_handlers import make_sweep
from wsi import keys
from wsi.records.quotas import Retention
from wsi.states import SlideState

END = datetime(2097, 1, 1, tzinfo=UTC)
SETTINGS = SweepSettings(region="eu-central-1", database_dsn="", slides_bucket="slides", results_bucket="results")


@pytest.fixture
def analyst(wiring: ApiWiring, installation: Installation) -> Caller:
    return Caller(whole_handler(replace(wiring, locks=installation.locks)), ANALYST)


@pytest.fixture
def admin(wiring: ApiWiring, installation: Installation) -> Caller:
    return Caller(whole_handler(replace(wiring, locks=installation.locks)), ADMIN)


@pytest.fixture
def job(installation: Installation, slide: UUID, analyst: Caller) -> UUID:
    job = UUID(analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density"}).body["job_id"])
    analyst("POST", f"/jobs/{job}/cancel")
    installation.objects.put(keys.of_result(HOSPITAL, job, "tiles.csv"), b"minx")
    return job


def test_what_s3_locks_answers_409_and_says_until_when(
    installation: Installation, analyst: Caller, slide: UUID, job: UUID
) -> None:
    installation.file_locks.retain(keys.of_slide_file(HOSPITAL, slide, 0), END)
    installation.result_locks.retain(keys.of_result(HOSPITAL, job, "tiles.csv"), END)
    for path, what in ((f"/slides/{slide}", "The slide's files are"), (f"/jobs/{job}", "The job's results are")):
        reply = analyst("DELETE", path)
        assert reply.status == 409
        assert reply.body["detail"] == f"{what} locked in S3 until 2097-01-01T00:00:00Z; delete it after that."
        assert analyst("GET", path).status == 200


def test_a_hold_of_an_admin_locks_objects_until_an_admin_ends_it(
    installation: Installation, analyst: Caller, admin: Caller, slide: UUID, job: UUID
) -> None:
    assert admin("PUT", f"/slides/{slide}/legal-hold", {"held": True}).body["legal_hold"] is True
    assert installation.file_locks.held
    assert installation.result_locks.held
    for path in (f"/slides/{slide}", f"/jobs/{job}"):
        reply = analyst("DELETE", path)
        assert (reply.status, "until an admin ends the hold" in reply.body["detail"]) == (409, True)
    assert admin("PUT", f"/slides/{slide}/legal-hold", {"held": False}).body["legal_hold"] is False
    assert analyst("DELETE", f"/jobs/{job}").status == analyst("DELETE", f"/slides/{slide}").status == 204


def test_the_sweep_passes_over_what_s3_locks(installation: Installation, slide: UUID) -> None:
    sweep = make_sweep(installation, locks=installation.locks)
    installation.ledger.books.retention[HOSPITAL] = Retention(slide_days=1)
    installation.clock.pass_seconds(2 * 86_400)
    installation.file_locks.retain(keys.of_slide_file(HOSPITAL, slide, 0), END)
    assert sweep({}, None)["slides_expired"] == 0
    assert installation.ledger.get_slide(ANALYST, slide).state is SlideState.READY


def test_only_the_setting_makes_functions_ask_s3() -> None:
    clients = AwsClients("eu-central-1")
    assert make_slide_locks(SETTINGS, clients) is None
    assert make_slide_locks(SETTINGS.model_copy(update={"object_lock": True}), clients) is not None
