"""S3 Object Lock: what it keeps keeps its name, and a legal hold reaches it."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from uuid import UUID

import pytest

from tests.fakes.erasure.locks import MemoryLocks
from tests.installation import ADMIN, ALLOWED_BUCKET, ANALYST, HOSPITAL, Installation
from wsi import keys
from wsi.errors import Conflict, NotFound, SourceUnavailable
from wsi.jobs.jobs import JobRequest, cancel_job, submit_job
from wsi.records.quotas import Expired, Retention
from wsi.slides.erasing import JOBS_A_PAGE, LOCKED_SECONDS, delete_job, delete_slide, expire, set_legal_hold
from wsi.slides.locking import SlideLocks
from wsi.slides.slides import register_slide
from wsi.states import SlideState
from wsi.tracing import make_traceparent

END = datetime(2097, 1, 1, tzinfo=UTC)
DAY = 86_400.0


class Unanswering(MemoryLocks):
    """S3 while it does not answer."""

    def find_lock(self, *prefixes: str) -> None:
        raise SourceUnavailable("The object store did not answer; try again in a minute.")

    def set_legal_hold(self, *prefixes: str, held: bool) -> None:
        raise SourceUnavailable("The object store did not answer; try again in a minute.")


@pytest.fixture
def installation() -> Installation:
    return Installation()


@pytest.fixture
def slide_id(installation: Installation) -> UUID:
    return installation.ready()


@pytest.fixture
def job_id(installation: Installation, slide_id: UUID) -> UUID:
    return ended_job(installation, slide_id)


def ended_job(installation: Installation, slide_id: UUID) -> UUID:
    """A job of the slide with a result and a shard."""
    at = {"ledger": installation.ledger, "queues": installation.queues}
    request = JobRequest(slide_id=slide_id, model="stain-density", force=True)
    job = submit_job(ANALYST, request, idempotency_key=None, traceparent=make_traceparent(), **at).job
    cancel_job(ANALYST, job.id, **at)
    installation.objects.put(result_of(job.id), b"minx")
    installation.objects.put(keys.of_shard_result(job.tenant, job.id, 0, 1), b"npz")
    return job.id


def file_of(slide_id: UUID) -> str:
    return keys.of_slide_file(HOSPITAL, slide_id, 0)


def result_of(job_id: UUID) -> str:
    return keys.of_result(HOSPITAL, job_id, "tiles.csv")


def delete(installation: Installation, slide_id: UUID) -> None:
    stores = {"slides": installation.slides, "objects": installation.objects}
    delete_slide(ANALYST, slide_id, ledger=installation.ledger, **stores, locks=installation.locks)


def remove_job(installation: Installation, job_id: UUID) -> None:
    delete_job(ANALYST, job_id, ledger=installation.ledger, objects=installation.objects, locks=installation.locks)


def hold(installation: Installation, slide_id: UUID, *, held: bool, locks: SlideLocks | None = None) -> None:
    set_legal_hold(ADMIN, slide_id, held=held, ledger=installation.ledger, locks=locks or installation.locks)


def is_held(installation: Installation, slide_id: UUID) -> bool:
    return installation.ledger.get_slide(ANALYST, slide_id).legal_hold


def test_a_slide_that_s3_locks_keeps_its_name_and_its_objects(
    installation: Installation, slide_id: UUID, job_id: UUID
) -> None:
    installation.file_locks.retain(file_of(slide_id), END)
    before = installation.ledger.get_slide(ANALYST, slide_id)
    stored = installation.slides.held, dict(installation.objects.held)
    with pytest.raises(Conflict) as refused:
        delete(installation, slide_id)
    assert refused.value.sentence == (
        "The slide's files are locked in S3 until 2097-01-01T00:00:00Z; delete it after that."
    )
    assert installation.ledger.get_slide(ANALYST, slide_id) == before
    assert (installation.slides.held, installation.objects.held) == stored
    installation.ledger.get_job(ANALYST, job_id)


def test_the_second_that_a_refusal_names_is_after_the_lock(installation: Installation, slide_id: UUID) -> None:
    installation.file_locks.retain(file_of(slide_id), END.replace(microsecond=1000))
    with pytest.raises(Conflict, match="until 2097-01-01T00:00:01Z"):
        delete(installation, slide_id)


def test_a_slide_is_deleted_once_its_lock_has_ended(installation: Installation, slide_id: UUID) -> None:
    installation.file_locks.retain(file_of(slide_id), END)
    installation.clock.now = END
    delete(installation, slide_id)
    assert installation.ledger.get_slide(ANALYST, slide_id).state is SlideState.DELETED
    assert not installation.slides.held


def test_a_locked_result_keeps_its_job_and_its_slide(installation: Installation, slide_id: UUID, job_id: UUID) -> None:
    free = ended_job(installation, slide_id)
    installation.result_locks.retain(result_of(job_id), END)
    with pytest.raises(Conflict, match=r"^Results of the slide are locked in S3 until 2097"):
        delete(installation, slide_id)
    with pytest.raises(Conflict, match=r"^The job's results are locked in S3 until 2097"):
        remove_job(installation, job_id)
    remove_job(installation, free)
    installation.ledger.get_job(ANALYST, job_id)


def test_what_inspection_stored_is_asked_about_too(installation: Installation, slide_id: UUID) -> None:
    thumbnail = keys.of_thumbnail(keys.make_inspection_folder(HOSPITAL, slide_id, 1))
    installation.objects.put(thumbnail, b"jpeg")
    installation.result_locks.retain(thumbnail, END)
    with pytest.raises(Conflict, match="Results of the slide are locked"):
        delete(installation, slide_id)


def test_a_hold_that_its_owner_put_into_s3_is_theirs_to_end(installation: Installation, slide_id: UUID) -> None:
    installation.file_locks.held.add(file_of(slide_id))
    with pytest.raises(Conflict, match="under a legal hold in S3; delete it once the administrator of the AWS account"):
        delete(installation, slide_id)
    hold(installation, slide_id, held=False)
    assert installation.file_locks.held == {file_of(slide_id)}


def test_a_legal_hold_locks_files_and_results_and_its_end_frees_them(
    installation: Installation, slide_id: UUID, job_id: UUID
) -> None:
    other = installation.ready(seed=1)
    for _ in range(2):
        hold(installation, slide_id, held=True)
        assert installation.file_locks.held == {file_of(slide_id)}
        assert installation.result_locks.held == {result_of(job_id)}  # and no shard: the bucket removes those
    for refused in (lambda: delete(installation, slide_id), lambda: remove_job(installation, job_id)):
        with pytest.raises(Conflict, match="until an admin ends the hold"):
            refused()
    delete(installation, other)
    hold(installation, slide_id, held=False)
    assert installation.file_locks.held == installation.result_locks.held == set()
    delete(installation, slide_id)


def test_results_that_came_after_a_hold_are_locked_when_it_is_set_again(
    installation: Installation, slide_id: UUID
) -> None:
    hold(installation, slide_id, held=True)
    job_id = ended_job(installation, slide_id)
    assert installation.result_locks.held == set()
    with pytest.raises(Conflict, match="legal hold"):
        remove_job(installation, job_id)
    hold(installation, slide_id, held=True)
    assert installation.result_locks.held == {result_of(job_id)}


def test_all_jobs_of_a_slide_are_held(installation: Installation, slide_id: UUID) -> None:
    jobs = [ended_job(installation, slide_id) for _ in range(JOBS_A_PAGE + 1)]
    hold(installation, slide_id, held=True)
    assert installation.result_locks.held == {result_of(job_id) for job_id in jobs}


@pytest.mark.parametrize("held", [True, False])
def test_whatever_dies_between_sql_and_s3_the_slide_is_held(
    installation: Installation, slide_id: UUID, held: bool
) -> None:
    if not held:
        hold(installation, slide_id, held=True)
    dead = Unanswering(list)
    with pytest.raises(SourceUnavailable):
        hold(installation, slide_id, held=held, locks=SlideLocks(slides=installation.file_locks, results=dead))
    assert is_held(installation, slide_id)
    hold(installation, slide_id, held=held)
    assert is_held(installation, slide_id) is held
    assert installation.file_locks.held == ({file_of(slide_id)} if held else set())


def test_files_by_reference_are_never_locked(installation: Installation) -> None:
    uri = f"s3://{ALLOWED_BUCKET}/Smith_John.svs"
    installation.slides.put_object(uri, b"slide")
    at = {"ledger": installation.ledger, "slides": installation.slides, "queues": installation.queues}
    slide = register_slide(ANALYST, uri, mpp=None, traceparent=make_traceparent(), **at)
    installation.ledger.accept_slide(slide.id, {}, "thumbnail", version=slide.version)
    hold(installation, slide.id, held=True)
    assert installation.file_locks.held == set()


def test_what_is_deleted_already_is_deleted_again_without_a_question(
    installation: Installation, slide_id: UUID, job_id: UUID
) -> None:
    remove_job(installation, job_id)
    delete(installation, slide_id)
    installation.file_locks.asked.clear()
    installation.result_locks.asked.clear()
    remove_job(installation, job_id)
    delete(installation, slide_id)
    assert installation.file_locks.asked == installation.result_locks.asked == []
    with pytest.raises(NotFound):
        remove_job(installation, UUID(int=7))


def test_without_an_answer_of_s3_nothing_is_deleted(installation: Installation, slide_id: UUID) -> None:
    installation.locks = SlideLocks(slides=Unanswering(list), results=installation.result_locks)
    with pytest.raises(SourceUnavailable):
        delete(installation, slide_id)
    assert installation.ledger.get_slide(ANALYST, slide_id).state is SlideState.READY


class TestExpiry:
    """Retention passes over what S3 keeps."""

    @pytest.fixture(autouse=True)
    def old(self, installation: Installation, job_id: UUID) -> None:
        installation.ledger.books.retention[HOSPITAL] = Retention(slide_days=1, result_days=1)
        installation.clock.pass_seconds(2 * DAY)

    @pytest.fixture(params=["locks", "no locks"])
    def locks(self, installation: Installation, request: pytest.FixtureRequest) -> SlideLocks | None:
        return installation.locks if request.param == "locks" else None

    def test_what_is_free_expires(self, installation: Installation, slide_id: UUID, locks: SlideLocks | None) -> None:
        assert expire(ledger=installation.ledger, locks=locks).slides_expired == 1
        assert installation.ledger.get_slide(ANALYST, slide_id).state is SlideState.DELETED

    def test_a_locked_slide_keeps_its_name_until_its_lock_ends_and_the_log_says_so(
        self, installation: Installation, slide_id: UUID, job_id: UUID, caplog: pytest.LogCaptureFixture
    ) -> None:
        free = installation.ready(seed=1)
        installation.clock.pass_seconds(2 * DAY)
        installation.file_locks.retain(file_of(slide_id), END)
        with caplog.at_level(logging.INFO):
            # The job by itself is free: its result is not locked.
            assert expire(ledger=installation.ledger, locks=installation.locks) == Expired(
                slides_expired=1, jobs_expired=1
            )
        assert installation.ledger.get_slide(ANALYST, slide_id).state is SlideState.READY
        assert installation.ledger.get_slide(ANALYST, free).state is SlideState.DELETED
        (line,) = [record for record in caplog.records if record.name == "wsi.slides.erasing"]
        assert line.slide_id == str(slide_id)
        assert "until 2097-01-01T00:00:00Z" in line.lock
        installation.clock.now = END
        assert expire(ledger=installation.ledger, locks=installation.locks).slides_expired == 1

    def test_a_locked_job_stays_with_its_slide(self, installation: Installation, job_id: UUID) -> None:
        installation.result_locks.retain(result_of(job_id), END)
        assert expire(ledger=installation.ledger, locks=installation.locks) == Expired()
        installation.ledger.get_job(ANALYST, job_id)

    def test_what_is_locked_is_asked_about_once_an_hour(self, installation: Installation, slide_id: UUID) -> None:
        installation.file_locks.retain(file_of(slide_id), END)
        expire(ledger=installation.ledger, locks=installation.locks)
        asked = len(installation.file_locks.asked)
        expire(ledger=installation.ledger, locks=installation.locks)
        assert len(installation.file_locks.asked) == asked
        installation.clock.pass_seconds(LOCKED_SECONDS + 1)
        expire(ledger=installation.ledger, locks=installation.locks)
        assert len(installation.file_locks.asked) > asked

    def test_without_an_answer_of_s3_nothing_expires(self, installation: Installation, slide_id: UUID) -> None:
        dead = Unanswering(list)
        assert expire(ledger=installation.ledger, locks=SlideLocks(slides=dead, results=dead)) == Expired()
        assert installation.ledger.get_slide(ANALYST, slide_id).state is SlideState.READY
