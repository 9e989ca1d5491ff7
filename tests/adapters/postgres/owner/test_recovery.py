"""What a recovery does to the rows of a restored database, and with whose rights."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from adapters.postgres.owner.recovery import PostgresRecovery
from local.postgres import OWNER
from tests.adapters.postgres.conftest import world
from tests.adapters.postgres.world import PostgresWorld
from tests.contracts import ledger_world as given
from tests.fakes.objects import MemoryObjects
from tests.postgres import Database
from wsi import keys
from wsi.errors import FailReason, SourceMissing
from wsi.ports.objects import StoredObject
from wsi.ports.recovery import ModelMove
from wsi.records.models import ModelVersion
from wsi.records.registrations import NewRegistration, PackageFile
from wsi.records.slides import CleanCopy, Removed, Slide, SlideFile
from wsi.recovery.jobs import recover_jobs
from wsi.recovery.models import recover_models
from wsi.recovery.slides import SlidesPage, recover_slides
from wsi.recovery.verifying import ObjectProblem
from wsi.states import JobState, RegistrationState, SlideState

__all__ = ["world"]

DAY = 86_400.0


class Replica:
    """The bucket that took over: objects by key."""

    def __init__(self, bucket: str = "replica") -> None:
        self._bucket = bucket
        self.objects: dict[str, StoredObject] = {}

    def make_uri(self, key: str) -> str:
        return f"s3://{self._bucket}/{key}"

    def head(self, uri: str) -> StoredObject:
        found = self.objects.get(uri.removeprefix(f"s3://{self._bucket}/"))
        if found is None:
            raise SourceMissing("It is not there.")
        return found


@pytest.fixture
def recovery(database: Database) -> PostgresRecovery:
    return PostgresRecovery(lambda: database.server.make_dsn(OWNER, database.name))


@pytest.fixture
def replica() -> Replica:
    return Replica()


def recover_all(recovery: PostgresRecovery, replica: Replica, **page: object) -> SlidesPage:
    inspections = MemoryObjects()
    for name in ("thumbnail.jpeg", "tissue-mask.json"):  # of the slides of `given`
        inspections.put(name, b"of another version of the code")
    asked = {"after": None, "limit": 100, **page}
    return recover_slides(ledger=recovery, slides=replica, inspections=inspections, **asked)


def key_of(slide: Slide) -> str:
    return keys.of_slide_file(slide.tenant, slide.id, 0)


def uploading(world: PostgresWorld) -> Slide:
    """A slide under the keys that uploads have, in the bucket that will be lost."""
    slide_id = uuid4()
    uri = f"s3://lost/{keys.of_slide_file(world.actor.tenant, slide_id, 0)}"
    file = SlideFile(name="a.svs", uri=uri, size=1000, upload_id="upload")
    return world.tenants.create_slide(world.actor, slide_id, "Case 7", (file,), mpp=None)


def uploaded(world: PostgresWorld) -> Slide:
    slide = uploading(world)
    etags = {slide.files[0].uri: "etag-0"}
    return world.tenants.complete_upload(world.actor, slide.id, digest="abc-1", etags=etags)


def ready(world: PostgresWorld) -> Slide:
    slide = uploaded(world)
    assert world.system.accept_slide(slide.id, given.INSPECTION, "thumbnail.jpeg", version=slide.version)
    return world.tenants.get_slide(world.actor, slide.id)


def restart(recovery: PostgresRecovery) -> int:
    heads, objects = Replica("results"), MemoryObjects()
    page = recover_jobs(ledger=recovery, heads=heads, objects=objects, reads_results=False, after=None, limit=100)
    return page.restarted


# --- rights


def test_the_owner_reads_no_tenants_rows_before_and_after(
    world: PostgresWorld, database: Database, recovery: PostgresRecovery
) -> None:
    given.ready_slide(world)
    assert recovery.count_records()["slides"] == {"READY": 1}
    with psycopg.connect(database.server.make_dsn(OWNER, database.name)) as owner:
        assert owner.execute("SELECT count(*) FROM slides").fetchone() == (0,)
        with pytest.raises(errors.InsufficientPrivilege):
            owner.execute("SET ROLE tessera_system")


def test_rights_are_gone_when_a_recovery_fails(
    world: PostgresWorld, database: Database, recovery: PostgresRecovery
) -> None:
    with pytest.raises(errors.DataError):
        recovery.move_models([ModelMove(owner=None, name="x", version="\0", package_uri="s3://a/b/", files=None)])
    owner_dsn = database.server.make_dsn(OWNER, database.name)
    with psycopg.connect(owner_dsn) as owner, pytest.raises(errors.InsufficientPrivilege):
        owner.execute("SET ROLE tessera_system")
    with world.worker.begin_transaction() as cursor, pytest.raises(errors.InsufficientPrivilege):
        cursor.execute("DELETE FROM shards")


# --- slides


def test_files_are_recorded_in_their_new_bucket_with_the_etags_there(
    world: PostgresWorld, recovery: PostgresRecovery, replica: Replica
) -> None:
    slide = ready(world)
    key = key_of(slide)
    replica.objects[key] = StoredObject(size=1000, etag="another")
    page = recover_all(recovery, replica)
    assert (page.slides, page.files, page.etags_changed, page.next) == (1, 1, 1, None)
    assert [(one.kind, one.part) for one in page.findings] == []
    [file] = world.tenants.get_slide(world.actor, slide.id).files
    assert (file.uri, file.etag) == (f"s3://replica/{key}", "another")
    assert ("owner", "slide.recover", str(slide.id)) in world.audit_lines(world.actor)


def test_a_second_recovery_changes_nothing(world: PostgresWorld, recovery: PostgresRecovery, replica: Replica) -> None:
    slide = ready(world)
    replica.objects[key_of(slide)] = StoredObject(size=1000, etag="another")
    recover_all(recovery, replica)
    before, lines = world.tenants.get_slide(world.actor, slide.id), world.audit_lines(world.actor)
    assert recover_all(recovery, replica).etags_changed == 0
    assert world.tenants.get_slide(world.actor, slide.id) == before
    assert world.audit_lines(world.actor) == lines


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        (None, ObjectProblem.MISSING),
        (StoredObject(size=999, etag="another"), ObjectProblem.DIFFERS),
        (StoredObject(size=1000, etag="another", sha256="0" * 64 + "-1"), ObjectProblem.DIFFERS),
    ],
)
def test_what_is_missing_or_differs_is_reported_and_never_taken_for_the_slide(
    world: PostgresWorld,
    recovery: PostgresRecovery,
    replica: Replica,
    stored: StoredObject | None,
    problem: ObjectProblem,
) -> None:
    slide = ready(world)
    if stored is not None:
        replica.objects[key_of(slide)] = stored
    [finding] = recover_all(recovery, replica).findings
    assert (finding.kind, finding.subject, finding.part, finding.problem) == ("slide", str(slide.id), "0", problem)
    [file] = world.tenants.get_slide(world.actor, slide.id).files
    assert file.etag == "etag-0"  # so that other bytes are refused as a replaced slide


def test_pages_cover_all_slides(world: PostgresWorld, recovery: PostgresRecovery, replica: Replica) -> None:
    slides = [ready(world) for _ in range(5)]
    replica.objects = {key_of(one): StoredObject(size=1000, etag="e") for one in slides}
    seen, after = 0, None
    while True:
        page = recover_all(recovery, replica, after=after, limit=2)
        seen += page.slides
        if (after := page.next) is None:
            break
    assert seen == 5
    assert {world.tenants.get_slide(world.actor, one.id).files[0].etag for one in slides} == {"e"}


def test_slides_that_were_registered_by_reference_stay_where_the_customer_has_them(
    world: PostgresWorld, recovery: PostgresRecovery, replica: Replica
) -> None:
    slide = given.ready_slide(world)  # under a key of its own
    page = recover_all(recovery, replica)
    assert (page.slides, page.files, page.findings) == (1, 0, ())
    assert world.tenants.get_slide(world.actor, slide.id).files == slide.files


def test_half_made_clean_copies_are_made_again_and_whole_ones_kept(
    world: PostgresWorld, recovery: PostgresRecovery, replica: Replica
) -> None:
    def begun() -> Slide:
        slide_id = uuid4()
        uri = f"s3://lost/{keys.of_slide_file(world.actor.tenant, slide_id, 0)}"
        file = SlideFile(name="Jane.svs", uri=uri, size=1000, upload_id="upload")
        world.tenants.create_slide(world.actor, slide_id, "Jane", (file,), mpp=None, deidentify=True)
        world.tenants.complete_upload(world.actor, slide_id, digest="abc-1", etags={uri: "etag-0"})
        copy = CleanCopy(uri=f"{uri}-clean", upload_id="gone with the region")
        slide = world.system.begin_deidentification(slide_id, "x", {0: ("00000", copy)}, Removed(images=1))
        assert slide is not None
        return slide

    half, whole = begun(), begun()
    replica.objects = {
        key_of(half): StoredObject(size=1000, etag="etag-0"),
        f"{key_of(whole)}-clean": StoredObject(size=1000, etag="clean"),  # and the original is deleted already
    }
    assert recover_all(recovery, replica).findings == ()
    half, whole = (world.tenants.get_slide(world.actor, one.id) for one in (half, whole))
    assert (half.files[0].clean, half.removed) == (None, None)
    assert whole.files[0].clean is not None
    assert whole.files[0].clean.uri == f"s3://replica/{key_of(whole)}-clean"
    assert whole.removed == Removed(images=1)


def test_an_upload_that_was_under_way_is_dropped_and_counted(
    world: PostgresWorld, recovery: PostgresRecovery, replica: Replica
) -> None:
    slide = uploading(world)
    assert recover_all(recovery, replica).uploads_lost == 1
    assert world.tenants.get_slide(world.actor, slide.id).state is SlideState.DELETED


def test_a_slide_that_waited_for_inspection_is_inspected_however_long_the_outage_was(
    world: PostgresWorld, recovery: PostgresRecovery, replica: Replica
) -> None:
    slide = uploaded(world)
    replica.objects[key_of(slide)] = StoredObject(size=1000, etag="etag-0")
    world.pass_time(3 * DAY)
    recover_all(recovery, replica)
    sent = len(given.topics(world, "inspect"))
    swept = world.system.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=DAY)
    assert (swept.given_up, swept.messages_resent) == (0, 1)
    assert len(given.topics(world, "inspect")) == sent + 1


# --- jobs


@pytest.mark.parametrize("halfway", ["QUEUED", "PLANNING", "RUNNING", "STITCHING"])
def test_a_live_job_is_planned_again_and_ends_as_ever(
    world: PostgresWorld, recovery: PostgresRecovery, halfway: str
) -> None:
    if halfway == "STITCHING":
        job = given.stitching_job(world)
    elif halfway == "RUNNING":
        job = given.running_job(world)
        given.commit(world, given.lease(world, job, 0))
        given.checkpoint(world, given.lease(world, job, 1), done=5)
    else:
        job = given.queued_job(world)
        if halfway == "PLANNING":
            world.system.begin_planning(job.id)
    job = world.tenants.get_job(world.actor, job.id)
    assert job.state is JobState(halfway)
    world.pass_time(3 * DAY)
    sent = len(given.topics(world, "plan"))
    assert restart(recovery) == 1
    again = world.tenants.get_job(world.actor, job.id)
    assert (again.state, again.version, again.plan_key) == (JobState.QUEUED, job.version + 1, None)
    assert (again.tiles_inferred, again.tiles_planned, again.shards_total) == (0, 0, 0)
    assert len(given.topics(world, "plan")) == sent + 1
    assert world.system.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=DAY).given_up == 0
    planned = given.plan(world, job.id, (10, 5))
    for index in range(2):
        assert given.commit(world, given.lease(world, planned, index))
    assert world.system.commit_results(job.id, (given.RESULT,))
    assert world.tenants.get_job(world.actor, job.id).tiles_inferred == 15


def test_a_worker_of_the_lost_region_can_commit_nothing(world: PostgresWorld, recovery: PostgresRecovery) -> None:
    job = given.running_job(world)
    held = given.lease(world, job, 0)
    restart(recovery)
    given.plan(world, job.id, (10, 10, 5))
    assert not given.commit(world, held)


def test_jobs_that_ended_stay_as_they_are(world: PostgresWorld, recovery: PostgresRecovery) -> None:
    job = given.completed_job(world)
    assert restart(recovery) == 0
    assert world.tenants.get_job(world.actor, job.id) == job


def test_a_retry_takes_over_no_shard_whose_result_was_not_saved(
    world: PostgresWorld, recovery: PostgresRecovery
) -> None:
    job = given.running_job(world)
    given.commit(world, given.lease(world, job, 0))
    world.system.fail_job(job.id, FailReason.MODEL_FAILED, "The network raised an error.")
    restart(recovery)
    retry = given.submit(
        world, given.new_job(world.tenants.get_slide(world.actor, job.slide_id), retry_of=job.id), reuse=False
    ).job
    assert given.plan(world, retry.id, (10, 10, 5)).shards_remaining == 3


def test_results_are_compared_by_size_or_by_their_bytes(world: PostgresWorld, recovery: PostgresRecovery) -> None:
    job = given.completed_job(world)
    heads, objects = Replica("results"), MemoryObjects()
    heads.objects[given.RESULT.key] = StoredObject(size=given.RESULT.size, etag="e")
    objects.put(given.RESULT.key, b"x" * given.RESULT.size)

    def look(reads: bool) -> list[tuple[str, str, ObjectProblem]]:
        page = recover_jobs(ledger=recovery, heads=heads, objects=objects, reads_results=reads, after=None, limit=9)
        return [(one.subject, one.part, one.problem) for one in page.findings]

    assert look(False) == []
    assert look(True) == [(str(job.id), "tiles.csv", ObjectProblem.DIFFERS)]
    heads.objects.clear()
    assert look(False) == [(str(job.id), "tiles.csv", ObjectProblem.MISSING)]


# --- models


def test_packages_are_recorded_in_their_new_bucket(world: PostgresWorld, recovery: PostgresRecovery) -> None:
    replica = Replica("new-models")
    world.system.register_model(
        ModelVersion(name="by-hand", version="1", digest="a" * 64, card={}, package_uri="s3://models/by-hand/1/")
    )
    file = PackageFile(name="card.json", size=5, sha256="0" * 64, uri="s3://models/packages/x/card.json", upload_id="u")
    registered = NewRegistration(id=uuid4(), name="net", version="1", files=(file,), becomes_default=False)
    opened, _ = world.tenants.open_registration(world.actor, registered)
    assert world.tenants.complete_registration(world.actor, opened.id) is not None
    replica.objects["by-hand/1/card.json"] = StoredObject(size=9, etag="e")
    done = recover_models(ledger=recovery, packages=replica)
    assert (done.models, [(one.subject, one.part, one.problem) for one in done.findings]) == (
        2,
        [("net@1", "card.json", ObjectProblem.MISSING)],
    )
    assert world.tenants.get_model(world.actor, "by-hand", "1").package_uri == "s3://new-models/by-hand/1/"
    registration = world.tenants.get_registration(world.actor, "net", "1")
    assert registration.files[0].uri == "s3://new-models/packages/x/card.json"
    assert registration.state is RegistrationState.CHECKING
    sent = len(given.topics(world, "shards-high"))
    world.system.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=DAY)
    assert len(given.topics(world, "shards-high")) == sent + 1


def test_an_unfinished_upload_of_a_package_is_refused_with_a_message(
    world: PostgresWorld, recovery: PostgresRecovery
) -> None:
    file = PackageFile(name="card.json", size=5, sha256="0" * 64, uri="s3://models/packages/x/card.json", upload_id="u")
    wanted = NewRegistration(id=uuid4(), name="net", version="1", files=(file,), becomes_default=False)
    world.tenants.open_registration(world.actor, wanted)
    recover_models(ledger=recovery, packages=Replica("new-models"))
    assert world.tenants.get_registration(world.actor, "net", "1").state is RegistrationState.REJECTED


# --- counting


def test_counts_are_those_of_all_tenants_and_the_digest_knows_what_must_not_change(
    world: PostgresWorld, database: Database, recovery: PostgresRecovery, replica: Replica
) -> None:
    slide = ready(world)
    given.ready_slide(world, actor=world.other)
    given.completed_job(world, slide=slide)
    given.running_job(world, slide=slide)
    before = recovery.count_records()
    assert before["slides"] == {"READY": 2}
    assert before["jobs"] == {"COMPLETED": 1, "LIVE": 1}
    assert (before["slide_files"], before["results"], before["result_bytes"]) == (2, 1, 12)
    replica.objects = {key_of(slide): StoredObject(size=1000, etag="another")}
    recover_all(recovery, replica)
    restart(recovery)
    assert recovery.count_records() == before
    with psycopg.connect(database.system_dsn) as connection:
        connection.execute("UPDATE jobs SET identity = repeat('0', 64) WHERE state = 'COMPLETED'")
    assert recovery.count_records()["digest"] != before["digest"]
