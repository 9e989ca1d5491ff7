"""The ledger contract: slides, models, identities, audit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.contracts.ledger_world import (
    INSPECTION,
    ISSUER,
    KEY_PREFIX,
    KEY_SECRET,
    MODEL,
    SUBJECT,
    TRACE,
    LedgerWorld,
    completed_job,
    files,
    queued_job,
    ready_slide,
    sha256,
    topics,
    uploaded_slide,
    uploading_slide,
)
from wsi.errors import Conflict, Invalid, NotFound, RejectReason
from wsi.records.identity import Actor, Membership, Role
from wsi.records.models import ModelVersion
from wsi.records.slides import Choice
from wsi.states import SlideState
from wsi.tracing import is_traceparent


class SlideLedgerContract:
    def test_created_slide_keeps_its_files_in_order(self, world: LedgerWorld) -> None:
        slide_id = uuid4()
        asked = files(slide_id, count=3)
        slide = world.tenants.create_slide(world.actor, slide_id, "Ärztin.svs", asked, mpp=0.25)
        assert slide == world.tenants.get_slide(world.actor, slide_id)
        assert (slide.state, slide.files, slide.mpp, slide.name) == (SlideState.UPLOADING, asked, 0.25, "Ärztin.svs")
        assert slide.tenant == world.actor.tenant
        assert slide.created_by == world.actor.subject
        assert slide.created_at.utcoffset() is not None
        assert not topics(world, "inspect")

    def test_the_trace_of_the_request_that_created_a_slide_goes_on_in_its_inspection(self, world: LedgerWorld) -> None:
        uploaded, registered, untraced = uuid4(), uuid4(), uuid4()
        named = {"mpp": None, "traceparent": TRACE}
        created = world.tenants.create_slide(world.actor, uploaded, "x", files(uploaded), **named)
        assert created.traceparent == world.tenants.get_slide(world.actor, uploaded).traceparent == TRACE
        etags = {file.uri: "e" for file in created.files}
        world.tenants.complete_upload(world.actor, uploaded, digest="d", etags=etags)
        world.tenants.register_slide(world.actor, registered, "x", files(registered), digest="e", **named)
        world.tenants.register_slide(world.actor, untraced, "x", files(untraced), mpp=None, digest="f")
        rows = {
            row.body["slide_id"]: row
            for row in world.system.claim_outbox(limit=100, seconds=60)
            if row.topic == "inspect"
        }
        assert rows[str(uploaded)].traceparent == rows[str(registered)].traceparent == TRACE
        assert is_traceparent(rows[str(untraced)].traceparent)
        assert all(row.created_at is not None for row in rows.values())

    def test_the_chosen_picture_is_kept_with_the_slide(self, world: LedgerWorld) -> None:
        for choice in (
            Choice(optical_path="Ä 1"),
            Choice(focal_plane=3),
            Choice(optical_path="2", focal_plane=1),
            Choice(picture=2),
            None,
        ):
            one, other = uuid4(), uuid4()
            slide = world.tenants.create_slide(world.actor, one, "x", files(one), mpp=None, choice=choice)
            assert slide.choice == choice
            named = {"mpp": None, "choice": choice, "digest": "abc-1"}
            assert world.tenants.register_slide(world.actor, other, "x", files(other), **named).choice == choice
            found = world.system.find_uninspected_slide(other)
            assert found is not None
            assert found.choice == choice

    def test_completed_upload_is_inspected_once(self, world: LedgerWorld) -> None:
        slide = uploaded_slide(world)
        again = world.tenants.complete_upload(world.actor, slide.id, digest="other", etags={})
        assert again == slide
        assert (slide.state, slide.digest) == (SlideState.UPLOADED, "abc-1")
        assert (slide.files[0].etag, slide.files[0].upload_id) == ("etag-0", None)
        assert topics(world, "inspect") == [{"v": 1, "slide_id": str(slide.id)}]

    def test_registered_slide_is_inspected_at_once(self, world: LedgerWorld) -> None:
        slide_id = uuid4()
        slide = world.tenants.register_slide(world.actor, slide_id, "x", files(slide_id), mpp=None, digest="abc-1")
        assert slide.state is SlideState.UPLOADED
        assert topics(world, "inspect") == [{"v": 1, "slide_id": str(slide_id)}]

    def test_accepted_slide_is_ready_and_is_not_inspected_again(self, world: LedgerWorld) -> None:
        slide = uploaded_slide(world)
        found = world.system.find_uninspected_slide(slide.id)
        assert found == slide
        assert world.system.accept_slide(slide.id, INSPECTION, "thumbnail.jpeg", version=slide.version)
        assert world.system.find_uninspected_slide(slide.id) is None
        assert not world.system.accept_slide(slide.id, INSPECTION, "thumbnail.jpeg", version=slide.version)
        assert not world.system.reject_slide(slide.id, RejectReason.NO_MPP, "No scale.")
        ready = world.tenants.get_slide(world.actor, slide.id)
        assert (ready.state, ready.inspection) == (SlideState.READY, INSPECTION)
        assert ready.thumbnail_key == "thumbnail.jpeg"
        assert ready.version > slide.version

    def test_rejected_slide_says_why(self, world: LedgerWorld) -> None:
        slide = uploaded_slide(world)
        assert world.system.reject_slide(slide.id, RejectReason.NO_MPP, "The slide has no scale.")
        rejected = world.tenants.get_slide(world.actor, slide.id)
        assert rejected.state is SlideState.REJECTED
        assert (rejected.reason, rejected.sentence) == ("no_mpp", "The slide has no scale.")
        assert not world.system.accept_slide(slide.id, INSPECTION, "thumbnail.jpeg", version=slide.version)

    def test_the_names_of_files_come_in_their_order(self, world: LedgerWorld) -> None:
        slide_id = uuid4()
        world.tenants.create_slide(world.actor, slide_id, "a.mrxs", files(slide_id, 3), mpp=None)
        assert world.system.list_file_names(slide_id) == ("part0.svs", "part1.svs", "part2.svs")

    def test_unknown_slide_is_not_inspected(self, world: LedgerWorld) -> None:
        assert world.system.find_uninspected_slide(uuid4()) is None
        assert not world.system.accept_slide(uuid4(), INSPECTION, "thumbnail.jpeg", version=1)

    def test_upload_that_is_not_complete_can_not_be_accepted(self, world: LedgerWorld) -> None:
        slide = uploading_slide(world)
        assert not world.system.accept_slide(slide.id, INSPECTION, "thumbnail.jpeg", version=slide.version)

    def test_delete_is_idempotent_and_final(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        assert world.tenants.delete_slide(world.actor, slide.id).state is SlideState.DELETED
        assert world.tenants.delete_slide(world.actor, slide.id).state is SlideState.DELETED
        with pytest.raises(Conflict):
            world.tenants.complete_upload(world.actor, slide.id, digest="abc", etags={})

    def test_slide_is_not_deleted_under_a_live_job(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        with pytest.raises(Conflict, match="running"):
            world.tenants.delete_slide(world.actor, job.slide_id)
        world.tenants.cancel_job(world.actor, job.id)
        assert world.tenants.delete_slide(world.actor, job.slide_id).state is SlideState.DELETED

    def test_slides_are_found_by_name_and_state(self, world: LedgerWorld) -> None:
        ready, uploading = ready_slide(world, name="Lymph NODE 3"), uploading_slide(world, name="Ödem_50%")
        deleted = ready_slide(world, name="Lymph node 4")
        world.tenants.delete_slide(world.actor, deleted.id)

        def found(q: str | None, state: SlideState | None = None) -> list[object]:
            page = world.tenants.list_slides(world.actor, q=q, state=state, cursor=None, limit=10)
            assert page.next_cursor is None
            return [slide.id for slide in page.items]

        assert found(None) == [uploading.id, ready.id]
        assert found("node") == [ready.id]
        assert found("O\u0308DEM") == [uploading.id]  # a letter of its own and its dots, as macOS names files
        assert found("ödem_50%") == [uploading.id]
        assert found("_") == [uploading.id]
        assert found(None, SlideState.READY) == [ready.id]
        assert found(None, SlideState.DELETED) == [deleted.id]

    def test_pages_of_slides_are_complete_and_without_duplicates(self, world: LedgerWorld) -> None:
        made = [uploading_slide(world).id for _ in range(7)]
        seen: list[object] = []
        cursor = None
        while True:
            page = world.tenants.list_slides(world.actor, q=None, state=None, cursor=cursor, limit=3)
            seen += [slide.id for slide in page.items]
            if len(seen) == 3:
                uploading_slide(world)  # what is newer than the first page does not shift the next ones
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(seen) == len(set(seen))
        assert set(seen) == set(made)

    def test_cursor_of_somebody_else_is_refused(self, world: LedgerWorld) -> None:
        for cursor in ("nonsense", "bm90IGEgY3Vyc29y", "MjAyNi0wMS0wMSAx"):
            with pytest.raises(Invalid):
                world.tenants.list_slides(world.actor, q=None, state=None, cursor=cursor, limit=3)


class TenancyContract:
    def test_other_tenants_slides_do_not_exist(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        for act in (world.tenants.get_slide, world.tenants.delete_slide):
            with pytest.raises(NotFound):
                act(world.other, slide.id)
        with pytest.raises(NotFound):
            world.tenants.complete_upload(world.other, slide.id, digest="abc", etags={})
        page = world.tenants.list_slides(world.other, q=None, state=None, cursor=None, limit=10)
        assert page.items == ()

    def test_other_tenants_jobs_do_not_exist(self, world: LedgerWorld) -> None:
        job = completed_job(world)
        for act in (
            world.tenants.get_job,
            world.tenants.list_finished_shards,
            world.tenants.list_results,
            world.tenants.cancel_job,
            lambda actor, job_id: world.tenants.list_job_events(actor, job_id, after=0, limit=10),
        ):
            with pytest.raises(NotFound):
                act(world.other, job.id)

    def test_model_versions_never_change(self, world: LedgerWorld) -> None:
        world.system.register_model(MODEL)
        with pytest.raises(Conflict):
            world.system.register_model(
                ModelVersion(name=MODEL.name, version="1", digest="f" * 64, card={}, package_uri=None)
            )
        assert world.tenants.list_models(world.actor) == (MODEL,)

    def test_newest_default_is_what_a_name_alone_means(self, world: LedgerWorld) -> None:
        second = ModelVersion(name=MODEL.name, version="2", digest="2" * 64, card={"x": 1.5}, package_uri="s3://m/2/")
        trial = ModelVersion(name=MODEL.name, version="3", digest="3" * 64, card={}, package_uri=None, is_default=False)
        world.system.register_model(second)
        world.system.register_model(trial)
        assert world.tenants.get_model(world.actor, MODEL.name) == second
        assert world.tenants.get_model(world.actor, MODEL.name, "3") == trial
        assert [model.is_default for model in world.tenants.list_models(world.actor)] == [False, True, False]
        for name, version in ((MODEL.name, "9"), ("unknown", None)):
            with pytest.raises(NotFound):
                world.tenants.get_model(world.actor, name, version)

    def test_callers_are_known_by_token_and_by_key(self, world: LedgerWorld) -> None:
        assert world.identities.find_user(ISSUER, SUBJECT) == world.actor
        assert world.identities.find_user(ISSUER, "somebody") is None
        assert world.identities.find_user("https://other.example", SUBJECT) is None
        service = world.identities.find_api_key(KEY_PREFIX, sha256(KEY_SECRET))
        assert service is not None
        assert (service.tenant, service.role) == (world.actor.tenant, Role.ANALYST)
        assert service.subject.startswith("key:")
        assert world.identities.find_api_key(KEY_PREFIX, sha256("guess")) is None
        assert world.identities.find_api_key("zzz", sha256(KEY_SECRET)) is None

    def test_single_sign_on_adds_a_person_whose_newest_token_decides_the_role(self, world: LedgerWorld) -> None:
        def admit(role: Role, after: int, tenant: str = "one") -> Actor | None:
            issued_at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=after)
            said = Membership(tenant=tenant, role=role, email=None, issued_at=issued_at)
            return world.identities.admit_member(ISSUER, "new", said)

        world.add_admin(world.actor, "boss@hospital.example")  # who stays: the last admin remains one
        added = admit(Role.ADMIN, 0)
        assert added is not None
        assert (added.tenant, added.role) == (world.actor.tenant, Role.ADMIN)
        viewer = replace(added, role=Role.VIEWER)
        assert [admit(Role.VIEWER, 60), admit(Role.ADMIN, 30)] == [viewer, viewer]
        assert world.identities.find_user(ISSUER, "new") == viewer
        assert [admit(Role.ADMIN, 90, tenant) for tenant in ("two", "three")] == [None, None]

    def test_every_write_and_every_issued_link_is_audited(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        world.tenants.cancel_job(world.actor, job.id)
        world.tenants.cancel_job(world.actor, job.id)
        world.tenants.delete_slide(world.actor, job.slide_id)
        world.tenants.audit(world.actor, "result.link", str(job.id), {"name": "tiles.csv"})
        slide, made = str(job.slide_id), str(job.id)
        assert world.audit_lines(world.actor) == [
            (world.actor.subject, action, subject)
            for action, subject in (
                ("slide.create", slide),
                ("slide.complete", slide),
                ("job.submit", made),
                ("job.cancel", made),
                ("slide.delete", slide),
                ("result.link", made),
            )
        ]
        assert world.audit_lines(world.other) == []
