"""Slides go to the archive and come back, whatever dies in between."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import pytest

from adapters.settings.functions import TIMEOUTS
from tests.fakes.slides import MemorySlideStore
from tests.installation import ALLOWED_BUCKET, ANALYST, INSPECTION, VIEWER, Installation
from wsi.errors import Conflict, Forbidden, SourceUnavailable
from wsi.jobs.jobs import JobRequest, submit_job
from wsi.records.slides import RestoreTier, Slide
from wsi.slides.archiving import LOOK_SECONDS, RESTORED_DAYS, Settled, archive_slide, restore_slide, settle
from wsi.slides.erasing import delete_slide
from wsi.slides.slides import register_slide
from wsi.states import SlideState
from wsi.tracing import make_traceparent

HOUR, DAY = 3600.0, 86_400.0


@pytest.fixture
def installation():
    return Installation()


@dataclass
class Failing:
    """The store, until its calls are used up."""

    store: MemorySlideStore
    calls: int

    def make_uri(self, key):
        return self.store.make_uri(key)

    def archive(self, uri):
        self._count()
        self.store.archive(uri)

    def restore(self, uri, *, days, tier):
        self._count()
        return self.store.restore(uri, days=days, tier=tier)

    def _count(self):
        if not self.calls:
            raise SourceUnavailable("The object store did not answer; try again in a minute.")
        self.calls -= 1


def ready(installation: Installation, *sizes: int) -> UUID:
    slide = installation.uploaded(*(sizes or (1000,)))
    assert installation.ledger.accept_slide(slide.id, INSPECTION.as_json(), "thumbnail.jpeg", version=slide.version)
    return slide.id


def archive(installation, slide_id: UUID, *, slides=None, actor=ANALYST) -> Slide:
    return archive_slide(actor, slide_id, ledger=installation.ledger, slides=slides or installation.slides)


def restore(installation, slide_id: UUID, *, slides=None, tier=RestoreTier.STANDARD, actor=ANALYST) -> Slide:
    store = slides or installation.slides
    return restore_slide(actor, slide_id, tier=tier, ledger=installation.ledger, slides=store)


def moved(installation: Installation, *sizes: int) -> UUID:
    """A slide whose files lie in Deep Archive."""
    slide = archive(installation, ready(installation, *sizes))
    installation.slides.move_archived()
    return slide.id


def swept(installation: Installation, *, slides=None) -> Settled:
    return settle(ledger=installation.ledger, slides=slides or installation.slides)


def state(installation: Installation, slide_id: UUID) -> SlideState:
    return installation.ledger.get_slide(ANALYST, slide_id).state


def marked(installation: Installation, slide_id: UUID) -> int:
    files = installation.ledger.get_slide(ANALYST, slide_id).files
    return len(installation.slides.marked & {file.uri for file in files})


def test_all_files_of_an_archived_slide_are_marked(installation):
    slide_id = ready(installation, 10, 20, 30)
    assert archive(installation, slide_id).state is SlideState.ARCHIVED
    assert marked(installation, slide_id) == 3


def test_archiving_again_marks_what_a_death_left_unmarked(installation):
    slide_id = ready(installation, 10, 20, 30)
    with pytest.raises(SourceUnavailable):
        archive(installation, slide_id, slides=Failing(installation.slides, calls=1))
    assert state(installation, slide_id) is SlideState.ARCHIVED  # SQL first: no job begins on it
    assert marked(installation, slide_id) < 3
    archive(installation, slide_id)
    assert marked(installation, slide_id) == 3


def test_no_file_is_marked_of_a_slide_that_a_job_reads(installation):
    slide_id = ready(installation)
    asked = JobRequest(slide_id=slide_id, model="stain-density")
    submit_job(
        ANALYST,
        asked,
        idempotency_key=None,
        traceparent=make_traceparent(),
        ledger=installation.ledger,
        queues=installation.queues,
    )
    with pytest.raises(Conflict, match="running"):
        archive(installation, slide_id)
    assert not installation.slides.marked


def test_a_slide_by_reference_is_not_archived(installation):
    uri = f"s3://{ALLOWED_BUCKET}/scan.svs"
    installation.slides.put_object(uri, b"slide")
    slide = register_slide(
        ANALYST,
        uri,
        mpp=None,
        ledger=installation.ledger,
        slides=installation.slides,
        queues=installation.queues,
        traceparent=make_traceparent(),
    )
    installation.ledger.accept_slide(slide.id, INSPECTION.as_json(), "thumbnail.jpeg", version=slide.version)
    with pytest.raises(Conflict, match="not ours"):
        archive(installation, slide.id)
    assert state(installation, slide.id) is SlideState.READY


def test_a_viewer_neither_archives_nor_restores(installation):
    slide_id = ready(installation)
    for act in (archive, restore):
        with pytest.raises(Forbidden):
            act(installation, slide_id, actor=VIEWER)


def test_what_had_not_moved_is_ready_at_the_first_look(installation):
    slide_id = archive(installation, ready(installation)).id
    assert restore(installation, slide_id).state is SlideState.RESTORING
    assert not installation.slides.marked
    installation.clock.pass_seconds(LOOK_SECONDS + 1)
    assert swept(installation) == Settled(slides_restored=1)
    slide = installation.ledger.get_slide(ANALYST, slide_id)
    assert (slide.state, slide.restored_until) == (SlideState.READY, None)


@pytest.mark.parametrize("tier", RestoreTier)
def test_a_slide_is_ready_when_the_last_of_its_files_has_come(installation, tier):
    slide_id = moved(installation, 10, 20)
    restore(installation, slide_id, tier=tier)
    installation.clock.pass_seconds((tier.hours - 1) * HOUR)
    assert swept(installation) == Settled()
    assert state(installation, slide_id) is SlideState.RESTORING
    installation.clock.pass_seconds(HOUR)
    assert swept(installation) == Settled(slides_restored=1)
    slide = installation.ledger.get_slide(ANALYST, slide_id)
    left = slide.restored_until - installation.clock()
    assert timedelta(days=RESTORED_DAYS - 1) < left <= timedelta(days=RESTORED_DAYS)


def test_the_sweep_asks_for_the_files_that_a_death_did_not_ask_for(installation):
    slide_id = moved(installation, 10, 20, 30)
    with pytest.raises(SourceUnavailable):
        restore(installation, slide_id, slides=Failing(installation.slides, calls=1))
    assert state(installation, slide_id) is SlideState.RESTORING
    installation.clock.pass_seconds(LOOK_SECONDS + 1)
    assert swept(installation) == Settled()
    installation.clock.pass_seconds(RestoreTier.STANDARD.hours * HOUR)
    assert swept(installation) == Settled(slides_restored=1)


def test_a_file_that_is_marked_late_does_not_leave_a_ready_slide(installation):
    """An `archive` that still marked files while the slide was wanted back."""
    slide_id = archive(installation, ready(installation, 10, 20)).id
    restore(installation, slide_id)
    installation.slides.archive(installation.ledger.get_slide(ANALYST, slide_id).files[1].uri)
    installation.clock.pass_seconds(LOOK_SECONDS + 1)
    assert swept(installation) == Settled(slides_restored=1)
    assert not installation.slides.marked


def test_no_function_that_marks_files_runs_for_as_long_as_a_look_waits():
    assert max(TIMEOUTS["api"], TIMEOUTS["sweep"]) < LOOK_SECONDS


def test_a_slide_whose_files_fail_does_not_hold_up_the_others(installation, caplog):
    first, second = moved(installation), moved(installation)
    for slide_id in (first, second):
        restore(installation, slide_id)
    installation.clock.pass_seconds(RestoreTier.STANDARD.hours * HOUR + LOOK_SECONDS)
    gone = installation.ledger.get_slide(ANALYST, first).files[0].uri
    installation.slides.delete(gone)
    assert swept(installation) == Settled(slides_restored=1, slides_unsettled=1)
    assert (state(installation, first), state(installation, second)) == (SlideState.RESTORING, SlideState.READY)
    assert [record.slide_id for record in caplog.records if record.levelname == "ERROR"] == [str(first)]


def test_a_restored_slide_goes_back_a_day_before_its_copies_do(installation):
    slide_id = moved(installation)
    restore(installation, slide_id)
    installation.clock.pass_seconds(RestoreTier.STANDARD.hours * HOUR)
    swept(installation)
    installation.clock.pass_seconds((RESTORED_DAYS - 2) * DAY)
    assert swept(installation) == Settled()
    installation.clock.pass_seconds(DAY)
    assert swept(installation) == Settled(slides_archived_again=1)
    assert state(installation, slide_id) is SlideState.ARCHIVED
    assert marked(installation, slide_id) == 1


def test_a_slide_wanted_back_while_its_old_copy_goes_gets_all_its_days(installation):
    slide_id = moved(installation)
    restore(installation, slide_id)
    installation.clock.pass_seconds(RestoreTier.STANDARD.hours * HOUR)
    swept(installation)
    installation.clock.pass_seconds((RESTORED_DAYS - 1) * DAY)
    swept(installation)
    restore(installation, slide_id)
    installation.clock.pass_seconds(LOOK_SECONDS + 1)
    assert swept(installation) == Settled(slides_restored=1)  # the copy stands, S3 only keeps it longer
    until = installation.ledger.get_slide(ANALYST, slide_id).restored_until
    assert until - installation.clock() > timedelta(days=RESTORED_DAYS - 1)
    assert swept(installation) == Settled()


def test_a_file_that_can_not_be_marked_again_costs_money_and_no_slide(installation):
    slide_id = moved(installation)
    restore(installation, slide_id)
    installation.clock.pass_seconds(RestoreTier.STANDARD.hours * HOUR)
    swept(installation)
    installation.clock.pass_seconds((RESTORED_DAYS - 0.5) * DAY)
    failing = Failing(installation.slides, calls=0)
    assert swept(installation, slides=failing) == Settled(slides_archived_again=1, slides_unsettled=1)
    assert state(installation, slide_id) is SlideState.ARCHIVED
    restore(installation, slide_id)


def test_restoring_a_ready_slide_asks_for_nothing(installation):
    slide_id = ready(installation)
    assert restore(installation, slide_id, slides=Failing(installation.slides, calls=0)).state is SlideState.READY


def test_an_archived_slide_is_deleted_with_its_files(installation):
    slide_id = moved(installation)
    at = {"ledger": installation.ledger, "slides": installation.slides, "objects": installation.objects}
    delete_slide(ANALYST, slide_id, **at, locks=None)
    assert state(installation, slide_id) is SlideState.DELETED
    assert not installation.slides.marked
