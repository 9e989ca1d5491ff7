"""The ledger contract: model packages that an admin adds and a worker tries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import pytest

from tests.contracts.ledger_world import MODEL, LedgerWorld, new_job, queued_job, ready_slide, submit, topics
from wsi.errors import Conflict, FailReason, Forbidden, NotFound
from wsi.models.registration_rules import QUEUE, SILENT_TRIES
from wsi.records.identity import Actor
from wsi.records.jobs import JobFilter
from wsi.records.models import ModelVersion
from wsi.records.registrations import ModelMeasurements, NewRegistration, PackageFile, Registration
from wsi.states import RegistrationState

DAY = 86_400.0
MEASURED = ModelMeasurements(
    device="CPU, 2 threads",
    tiles_per_second=31.5,
    load_seconds=1.25,
    memory_bytes=10**9,
    device_bytes=None,
    golden=True,
    doubts=("mean is strange",),
)


def wanted(version: str = "1", *, content: str = "a", default: bool = False, name: str = "net") -> NewRegistration:
    registration_id = uuid4()
    files = tuple(
        PackageFile(
            name=file, size=10, sha256=content * 64, uri=f"s3://models/{registration_id}/{file}", upload_id=f"up-{file}"
        )
        for file in ("card.json", "model.onnx")
    )
    return NewRegistration(id=registration_id, name=name, version=version, files=files, becomes_default=default)


def opened(world: LedgerWorld, asked: NewRegistration | None = None, actor: Actor | None = None) -> Registration:
    return world.tenants.open_registration(actor or world.actor, asked or wanted())[0]


def checking(world: LedgerWorld, asked: NewRegistration | None = None, actor: Actor | None = None) -> Registration:
    completed = world.tenants.complete_registration(actor or world.actor, opened(world, asked, actor).id)
    assert completed is not None
    return completed


def version_of(registration: Registration, digest: str = "e") -> ModelVersion:
    name, version = registration.name, registration.version
    card = {"name": name}
    return ModelVersion(name=name, version=version, digest=digest * 64, card=card, package_uri="s3://models/p/")


def ready(
    world: LedgerWorld, asked: NewRegistration | None = None, *, actor: Actor | None = None, digest: str = "e"
) -> ModelVersion:
    registration = checking(world, asked, actor)
    assert world.system.accept_model(registration.id, version_of(registration, digest), MEASURED)
    return world.tenants.get_model(actor or world.actor, registration.name, registration.version)


def pinned(model: ModelVersion) -> dict[str, str]:
    return {"model": model.name, "model_version": model.version, "model_digest": model.digest}


def state(world: LedgerWorld, version: str = "1") -> RegistrationState:
    return world.tenants.get_registration(world.actor, "net", version).state


def sweep(world: LedgerWorld):
    return world.system.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=5 * DAY)


class RegistrationLedgerContract:
    def test_a_package_comes_in_is_tried_and_takes_jobs(self, world: LedgerWorld) -> None:
        asked = wanted()
        first, replaced = world.tenants.open_registration(world.actor, asked)
        assert replaced is None
        assert (first.id, first.files, first.state) == (asked.id, asked.files, RegistrationState.UPLOADING)
        assert (first.tenant, first.created_by) == (world.actor.tenant, world.actor.subject)
        with pytest.raises(NotFound):
            world.tenants.get_model(world.actor, "net", "1")
        completed = world.tenants.complete_registration(world.actor, first.id)
        assert completed is not None
        assert completed.state is RegistrationState.CHECKING
        message = {"v": 1, "package": str(first.id), "model": "net", "version": "1"}
        assert topics(world, QUEUE) == [message]
        tried = world.system.find_registration_to_try(first.id)
        assert tried is not None
        assert tried.files == asked.files
        assert world.system.begin_trial(first.id)
        assert world.system.accept_model(first.id, version_of(first), MEASURED)
        known = world.tenants.get_registration(world.actor, "net", "1")
        assert (known.state, known.measured) == (RegistrationState.READY, MEASURED)
        assert queued_job(world, model="net", model_version="1", model_digest="e" * 64).model == "net"

    def test_a_refused_package_takes_no_jobs_and_says_why(self, world: LedgerWorld) -> None:
        registration = checking(world)
        assert world.system.reject_model(registration.id, FailReason.MODEL_FAILED, "Its values are not finite.")
        known = world.tenants.get_registration(world.actor, "net", "1")
        found = (known.state, known.reason, known.sentence)
        assert found == (RegistrationState.REJECTED, "model_failed", "Its values are not finite.")
        assert world.system.find_registration_to_try(registration.id) is None
        assert not world.system.begin_trial(registration.id)
        with pytest.raises(NotFound):
            world.tenants.get_model(world.actor, "net", "1")

    def test_completing_twice_asks_for_one_trial(self, world: LedgerWorld) -> None:
        registration = checking(world)
        again = world.tenants.complete_registration(world.actor, registration.id)
        assert again == registration
        assert len(topics(world, QUEUE)) == 1

    def test_the_first_verdict_counts(self, world: LedgerWorld) -> None:
        registration = checking(world)
        assert world.system.accept_model(registration.id, version_of(registration), MEASURED)
        assert not world.system.reject_model(registration.id, FailReason.MODEL_FAILED, "No.")
        assert not world.system.accept_model(registration.id, version_of(registration), MEASURED)
        assert state(world) is RegistrationState.READY

    def test_a_package_that_is_still_uploaded_is_not_tried(self, world: LedgerWorld) -> None:
        registration = opened(world)
        assert world.system.find_registration_to_try(registration.id) is None
        assert not world.system.begin_trial(registration.id)
        assert not world.system.accept_model(registration.id, version_of(registration), MEASURED)
        assert not world.system.reject_model(registration.id, FailReason.MODEL_FAILED, "No.")
        assert state(world) is RegistrationState.UPLOADING

    def test_the_same_package_goes_on_where_it_is(self, world: LedgerWorld) -> None:
        first = opened(world)
        assert world.tenants.open_registration(world.actor, wanted()) == (first, None)
        tried = checking(world)
        assert world.tenants.open_registration(world.actor, wanted()) == (tried, None)
        world.system.accept_model(tried.id, version_of(tried), MEASURED)
        again, replaced = world.tenants.open_registration(world.actor, wanted())
        assert (again.state, replaced) == (RegistrationState.READY, None)

    def test_another_package_takes_the_place_of_an_unfinished_one(self, world: LedgerWorld) -> None:
        first = opened(world)
        other, replaced = world.tenants.open_registration(world.actor, wanted(content="b"))
        assert replaced == first
        assert world.tenants.get_registration(world.actor, "net", "1") == other
        assert world.tenants.complete_registration(world.actor, first.id) is None

    def test_a_refused_package_is_added_again_from_the_start(self, world: LedgerWorld) -> None:
        first = checking(world)
        world.system.reject_model(first.id, FailReason.MODEL_FAILED, "No.")
        again, replaced = world.tenants.open_registration(world.actor, wanted())
        assert replaced is not None
        assert (replaced.id, again.state) == (first.id, RegistrationState.UPLOADING)
        assert (again.reason, again.sentence, again.measured) == (None, None, None)
        assert not world.system.reject_model(first.id, FailReason.MODEL_FAILED, "Late.")

    @pytest.mark.parametrize("step", [checking, ready])
    def test_what_is_tried_or_ready_never_changes(self, world: LedgerWorld, step) -> None:
        step(world)
        with pytest.raises(Conflict, match="another version"):
            world.tenants.open_registration(world.actor, wanted(content="b"))

    def test_a_version_that_exists_otherwise_is_taken(self, world: LedgerWorld) -> None:
        version = ModelVersion(
            name="own", version="1", digest="f" * 64, card={}, package_uri=None, owner=world.actor.tenant
        )
        world.system.register_model(version)
        with pytest.raises(Conflict, match="another name or version"):
            world.tenants.open_registration(world.actor, wanted("1", name="own"))
        assert opened(world, wanted("2", name="own")).version == "2"

    @pytest.mark.parametrize("version", [MODEL.version, "9"])
    def test_a_name_of_the_installation_stays_the_installations(self, world: LedgerWorld, version: str) -> None:
        with pytest.raises(Conflict, match="belongs to the installation"):
            world.tenants.open_registration(world.actor, wanted(version, name=MODEL.name))

    @pytest.mark.parametrize("step", [opened, checking, ready])
    def test_another_tenants_model_exists_for_nobody_else(self, world: LedgerWorld, step) -> None:
        step(world)
        before = world.tenants.get_registration(world.actor, "net", "1")
        with pytest.raises(NotFound):
            world.tenants.get_registration(world.other, "net", "1")
        assert world.tenants.complete_registration(world.other, before.id) is None
        with pytest.raises(NotFound):
            world.tenants.get_model(world.other, "net", "1")
        with pytest.raises(NotFound):
            world.tenants.get_model(world.other, "net")
        with pytest.raises(NotFound):
            world.tenants.choose_default(world.other, "net", "1")
        assert world.tenants.list_models(world.other) == (MODEL,)
        # Nor is a name, a version or a package taken: the answer is that of a free one.
        for asked in (wanted(), wanted("2", content="c")):
            mine, replaced = world.tenants.open_registration(world.other, asked)
            assert (mine.id, mine.tenant, replaced) == (asked.id, world.other.tenant, None)
        assert world.tenants.get_registration(world.actor, "net", "1") == before

    def test_two_tenants_have_models_of_one_name_and_each_job_gets_its_own(self, world: LedgerWorld) -> None:
        mine, theirs = ready(world), ready(world, actor=world.other, digest="f")
        assert (mine.owner, theirs.owner) == (world.actor.tenant, world.other.tenant)
        assert (mine.is_default, theirs.is_default) == (True, True)
        for actor, model in ((world.actor, mine), (world.other, theirs)):
            assert world.tenants.get_model(actor, "net") == model
            assert model in world.tenants.list_models(actor)
            slide = ready_slide(world, actor=actor)
            job = submit(world, new_job(slide, **pinned(model)), reuse=False, actor=actor).job
            assert job.model == "net"
            brief = world.system.begin_planning(job.id)
            assert brief is not None
            assert (brief.model, brief.job.model) == (model, "net")
            found = world.tenants.list_jobs(actor, JobFilter(model="net"), cursor=None, limit=9).items
            assert [one.id for one in found] == [job.id]

    def test_a_jobs_slide_and_model_are_those_of_the_tenant_that_asks(self, world: LedgerWorld) -> None:
        mine, theirs = ready(world), ready(world, actor=world.other, digest="f")
        for actor, model in ((world.actor, mine), (world.other, theirs)):
            slide = ready_slide(world, actor=actor)
            assert world.tenants.find_inputs(actor, slide.id, "net", None) == (slide, model)
            assert world.tenants.find_inputs(actor, slide.id, "net", "1") == (slide, model)
            assert world.tenants.find_inputs(actor, slide.id, "net", "9") == (slide, None)
            assert world.tenants.find_inputs(actor, slide.id, "unknown", None) == (slide, None)
        with pytest.raises(NotFound, match="slide"):
            world.tenants.find_inputs(world.actor, slide.id, "net", None)

    def test_a_job_with_another_tenants_model_is_refused(self, world: LedgerWorld) -> None:
        model = ready(world)
        slide = ready_slide(world, actor=world.other)
        with pytest.raises(NotFound, match="no model with this name"):
            submit(world, new_job(slide, **pinned(model)), actor=world.other)

    def test_a_tenants_own_version_comes_before_the_installations(self, world: LedgerWorld) -> None:
        own = ready(world)
        for version in ("1", "2"):
            world.system.register_model(replace(MODEL, name="net", version=version, digest=version * 64))
        assert world.tenants.get_model(world.actor, "net") == own
        assert world.tenants.get_model(world.actor, "net", "1") == own
        assert world.tenants.get_model(world.actor, "net", "2").owner is None
        listed = world.tenants.list_models(world.actor)
        assert [(one.version, one.owner, one.is_default) for one in listed if one.name == "net"] == [
            ("1", world.actor.tenant, True),
            ("2", None, False),
        ]
        assert world.tenants.get_model(world.actor, "net", "1", digest="1" * 64).owner is None, "a job that pinned it"
        assert world.tenants.get_model(world.other, "net").version == "2"
        assert world.tenants.get_model(world.other, "net", "1").owner is None

    def test_the_installations_default_is_not_a_tenants_to_choose(self, world: LedgerWorld) -> None:
        world.system.register_model(replace(MODEL, version="2", digest="f" * 64, is_default=False))
        with pytest.raises(Forbidden, match="belongs to the installation"):
            world.tenants.choose_default(world.actor, MODEL.name, "2")
        assert world.tenants.get_model(world.other, MODEL.name).version == MODEL.version

    def test_two_admins_at_once_open_one_registration(self, world: LedgerWorld) -> None:
        def add(content: str) -> Registration | None:
            try:
                return world.tenants.open_registration(world.actor, wanted(content=content))[0]
            except Conflict:
                return None

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(add, "aaaa"))
        known = world.tenants.get_registration(world.actor, "net", "1")
        assert world.tenants.complete_registration(world.actor, known.id) is not None

    def test_the_first_version_is_the_default_and_a_newer_one_only_when_asked(self, world: LedgerWorld) -> None:
        assert ready(world).is_default
        assert not ready(world, wanted("2")).is_default
        assert world.tenants.get_model(world.actor, "net").version == "1"
        assert ready(world, wanted("3", default=True)).is_default
        assert world.tenants.get_model(world.actor, "net").version == "3"
        assert not world.tenants.get_model(world.actor, "net", "1").is_default

    def test_the_default_is_chosen(self, world: LedgerWorld) -> None:
        ready(world)
        ready(world, wanted("2"))
        assert world.tenants.choose_default(world.actor, "net", "2").is_default
        assert world.tenants.get_model(world.actor, "net").version == "2"
        assert world.tenants.choose_default(world.actor, "net", "2").version == "2"
        with pytest.raises(NotFound):
            world.tenants.choose_default(world.actor, "net", "9")
        assert world.tenants.get_model(world.actor, "net").version == "2"

    def test_a_model_that_an_operator_registers_replaces_the_default_only_when_asked(self, world: LedgerWorld) -> None:
        newer = replace(MODEL, version="2", digest="f" * 64, is_default=False)
        world.system.register_model(newer)
        assert world.tenants.get_model(world.actor, MODEL.name).version == MODEL.version
        first = replace(newer, name="other")
        world.system.register_model(first)
        assert world.tenants.get_model(world.actor, "other").version == "2"

    def test_a_package_that_ends_every_worker_is_refused(self, world: LedgerWorld) -> None:
        registration = checking(world)
        for _ in range(SILENT_TRIES):
            assert world.system.begin_trial(registration.id)
        assert not world.system.begin_trial(registration.id)
        known = world.tenants.get_registration(world.actor, "net", "1")
        assert known.state is RegistrationState.REJECTED
        assert "memory" in (known.sentence or "")

    def test_a_trial_that_nobody_takes_is_asked_for_again_and_given_up_at_last(self, world: LedgerWorld) -> None:
        checking(world)
        assert sweep(world).messages_resent == 0
        world.pass_time(901)
        assert sweep(world).messages_resent == 1
        assert sweep(world).messages_resent == 0
        assert len(topics(world, QUEUE)) == 2
        world.pass_time(5 * DAY)
        assert sweep(world).given_up == 1
        assert state(world) is RegistrationState.REJECTED

    def test_an_upload_that_nobody_finishes_is_given_up(self, world: LedgerWorld) -> None:
        opened(world)
        world.pass_time(2 * DAY)
        assert sweep(world).uploads_abandoned == 0
        world.pass_time(2 * DAY)
        assert sweep(world).uploads_abandoned == 1
        known = world.tenants.get_registration(world.actor, "net", "1")
        assert (known.state, known.reason) == (RegistrationState.REJECTED, "model_unavailable")

    def test_adding_completing_and_choosing_are_audited_once(self, world: LedgerWorld) -> None:
        ready(world)
        opened(world)
        world.tenants.choose_default(world.actor, "net", "1")
        lines = [line for line in world.audit_lines(world.actor) if line[1].startswith("model.")]
        ours = world.actor.subject
        made = (("add", ours), ("complete", ours), ("accept", "system"), ("default", ours))
        assert lines == [(actor, f"model.{done}", "net@1") for done, actor in made]

    def test_a_refused_model_is_audited(self, world: LedgerWorld) -> None:
        opened(world)
        world.pass_time(4 * DAY)
        sweep(world)
        assert world.audit_lines(world.actor)[-1] == ("system", "model.reject", "net@1")
