"""What a deletion leaves behind when something dies in it, or writes after it: nothing."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.fakes.objects import KeepingObjects
from tests.installation import ADMIN, ALLOWED_BUCKET, ANALYST, Installation
from wsi import keys
from wsi.errors import Forbidden, SourceUnavailable
from wsi.jobs.jobs import JobRequest, cancel_job, submit_job
from wsi.ports.objects import Objects
from wsi.slides.erasing import LATE_SECONDS, PASS_SECONDS, Erased, delete_job, delete_slide, erase, set_legal_hold
from wsi.slides.slides import register_slide
from wsi.tracing import make_traceparent


@pytest.fixture
def installation() -> Installation:
    return Installation()


def ended_job(installation: Installation, slide_id: UUID) -> UUID:
    """A job of the slide with a result and a shard."""
    at = {"ledger": installation.ledger, "queues": installation.queues}
    request = JobRequest(slide_id=slide_id, model="stain-density", force=True)
    job = submit_job(ANALYST, request, idempotency_key=None, traceparent=make_traceparent(), **at).job
    cancel_job(ANALYST, job.id, **at)
    installation.objects.put(keys.of_result(job.tenant, job.id, "tiles.csv"), b"minx")
    installation.objects.put(keys.of_shard_result(job.tenant, job.id, 0, 1), b"npz")
    return job.id


def delete(installation: Installation, slide_id: UUID, objects: Objects | None = None) -> None:
    stores = {"slides": installation.slides, "objects": objects or installation.objects}
    delete_slide(ANALYST, slide_id, ledger=installation.ledger, **stores, locks=None)


def sweep(installation: Installation, *, after: float, objects: Objects | None = None) -> Erased:
    installation.clock.pass_seconds(after)
    return erase(ledger=installation.ledger, slides=installation.slides, objects=objects or installation.objects)


def test_a_deletion_that_dies_after_its_transaction_is_finished_by_the_sweep(installation: Installation) -> None:
    slide_id = installation.ready()
    ended_job(installation, slide_id)
    installation.ledger.delete_slide(ANALYST, slide_id)  # and the function dies
    assert installation.objects.held
    assert installation.slides.held
    assert sweep(installation, after=PASS_SECONDS + 1) == Erased()
    assert installation.objects.held == {}
    assert not installation.slides.held
    assert sweep(installation, after=LATE_SECONDS) == Erased(slides_erased=1, jobs_erased=1)


def test_what_is_written_after_a_deletion_goes_too(installation: Installation) -> None:
    """By a worker that did not hear of the end of its job, and by an inspection that was under way."""
    slide_id = installation.ready()
    job_id = ended_job(installation, slide_id)
    delete(installation, slide_id)
    sweep(installation, after=PASS_SECONDS + 1)
    tenant = ANALYST.tenant
    installation.objects.put(keys.of_checkpoint(tenant, job_id, 0, 1, 2), b"late")
    installation.objects.put(keys.of_thumbnail(keys.make_inspection_folder(tenant, slide_id, 7)), b"late")
    installation.slides.put_object(installation.slides.make_uri(keys.of_clean_file(tenant, slide_id, 0)), b"late")
    assert sweep(installation, after=LATE_SECONDS) == Erased(slides_erased=1, jobs_erased=1)
    assert installation.objects.held == {}
    assert not installation.slides.held
    assert sweep(installation, after=10 * LATE_SECONDS) == Erased()


def test_objects_that_the_store_keeps_are_tried_again_until_they_are_gone(installation: Installation) -> None:
    slide_id = installation.ready()
    ended_job(installation, slide_id)
    with pytest.raises(SourceUnavailable):
        delete(installation, slide_id, objects=KeepingObjects())
    for _ in range(3):
        failed = sweep(installation, after=LATE_SECONDS, objects=KeepingObjects())
        assert failed == Erased(erasures_failed=2)
    assert sweep(installation, after=PASS_SECONDS + 1) == Erased(slides_erased=1, jobs_erased=1)
    assert installation.objects.held == {}


def test_an_unfinished_upload_is_aborted(installation: Installation) -> None:
    slide = installation.opened(1000)
    installation.send_parts(slide)
    assert installation.slides.uploading
    delete(installation, slide.id)
    assert not installation.slides.uploading


def test_the_sweep_aborts_an_upload_that_nobody_finished(installation: Installation) -> None:
    installation.send_parts(installation.opened(1000))
    installation.clock.pass_seconds(4 * 86_400)
    installation.ledger.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=86_400)
    sweep(installation, after=PASS_SECONDS + 1)
    assert not installation.slides.uploading


def test_a_customers_object_stays_and_its_address_goes(installation: Installation) -> None:
    uri = f"s3://{ALLOWED_BUCKET}/Smith_John.svs"
    installation.slides.put_object(uri, b"slide")
    at = {"ledger": installation.ledger, "slides": installation.slides, "queues": installation.queues}
    slide = register_slide(ANALYST, uri, mpp=None, traceparent=make_traceparent(), **at)
    delete(installation, slide.id)
    sweep(installation, after=2 * LATE_SECONDS)
    assert installation.slides.held == {uri}
    assert "Smith" not in repr(installation.ledger.get_slide(ANALYST, slide.id))


def test_a_job_is_deleted_by_itself(installation: Installation) -> None:
    slide_id = installation.ready()
    job_id, other = ended_job(installation, slide_id), ended_job(installation, slide_id)
    delete_job(ANALYST, job_id, ledger=installation.ledger, objects=installation.objects, locks=None)
    assert installation.slides.held
    assert {str(other) in key for key in installation.objects.held} == {True}
    assert sweep(installation, after=2 * LATE_SECONDS) == Erased(jobs_erased=1)


def test_only_admins_hold(installation: Installation) -> None:
    slide_id = installation.ready()
    with pytest.raises(Forbidden):
        set_legal_hold(ANALYST, slide_id, held=True, ledger=installation.ledger, locks=None)
    assert set_legal_hold(ADMIN, slide_id, held=True, ledger=installation.ledger, locks=None).legal_hold
