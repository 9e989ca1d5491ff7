"""The ledger contract: de-identification."""

from __future__ import annotations

from uuid import uuid4

from tests.contracts.ledger_world import INSPECTION, LedgerWorld, files, topics, uploaded_slide
from wsi.errors import RejectReason
from wsi.records.slides import Choice, CleanCopy, Removed, Slide
from wsi.states import SlideState

REMOVED = Removed(images=2, tags=7, files=1)
CHOICE = Choice(focal_plane=2)


def identified_slide(world: LedgerWorld, *, count: int = 3) -> Slide:
    """UPLOADED, of `count` files."""
    slide_id = uuid4()
    asked = files(slide_id, count=count)
    world.tenants.create_slide(world.actor, slide_id, "Doe.svs", asked, mpp=None, deidentify=True)
    etags = {file.uri: f"etag-{number}" for number, file in enumerate(asked)}
    return world.tenants.complete_upload(world.actor, slide_id, digest="abc-1", etags=etags)


def copies_of(slide: Slide, *places: int, upload: str = "clean") -> dict[int, tuple[str, CleanCopy]]:
    return {
        place: (f"{place:05d}.dcm", CleanCopy(uri=f"{slide.files[place].uri}-clean", upload_id=f"{upload}-{place}"))
        for place in places
    }


def begun_slide(world: LedgerWorld) -> Slide:
    """Its second file is left out."""
    slide = identified_slide(world)
    begun = world.system.begin_deidentification(slide.id, f"{slide.id}.dcm", copies_of(slide, 0, 2), REMOVED)
    assert begun is not None
    return begun


def finish(world: LedgerWorld, slide: Slide) -> bool:
    copies = {file.clean.uri: (f"clean-{file.clean.uri}", 4_711) for file in slide.files if file.clean is not None}
    return world.system.finish_deidentification(slide.id, digest="def-1", copies=copies, choice=CHOICE)


class DeidentificationLedgerContract:
    def test_what_is_asked_for_is_kept_with_the_slide(self, world: LedgerWorld) -> None:
        slide = identified_slide(world)
        assert (slide.deidentify, slide.deidentified, slide.removed) == (True, False, None)
        assert not uploaded_slide(world).deidentify

    def test_a_slide_that_has_begun_has_no_names_but_of_what_is_left_out(self, world: LedgerWorld) -> None:
        begun = begun_slide(world)
        assert (begun.name, begun.removed, begun.deidentified) == (f"{begun.id}.dcm", REMOVED, False)
        assert [file.name for file in begun.files] == ["00000.dcm", "part1.svs", "00002.dcm"]
        assert [file.clean is not None for file in begun.files] == [True, False, True]
        assert begun == world.system.find_uninspected_slide(begun.id)

    def test_only_the_first_beginning_counts(self, world: LedgerWorld) -> None:
        begun = begun_slide(world)
        other = copies_of(begun, 0, 1, 2, upload="other")
        assert world.system.begin_deidentification(begun.id, "other", other, Removed()) == begun

    def test_the_clean_copies_become_the_slides_files(self, world: LedgerWorld) -> None:
        begun = begun_slide(world)
        assert finish(world, begun)
        slide = world.system.find_uninspected_slide(begun.id)
        assert slide is not None
        assert [file.uri for file in slide.files] == [f"{begun.files[place].uri}-clean" for place in (0, 2)]
        assert [file.etag for file in slide.files] == [f"clean-{file.uri}" for file in slide.files]
        assert all(file.clean is None and file.size == 4_711 for file in slide.files)
        assert (slide.digest, slide.deidentified, slide.removed) == ("def-1", True, REMOVED)
        assert slide.choice == CHOICE
        assert slide.version == begun.version + 1

    def test_it_ends_once_and_is_audited_once(self, world: LedgerWorld) -> None:
        begun = begun_slide(world)
        assert finish(world, begun)
        assert not finish(world, begun)
        line = (world.actor.subject, "slide.deidentify", str(begun.id))
        assert world.audit_lines(world.actor).count(line) == 1

    def test_it_does_not_end_before_it_has_begun(self, world: LedgerWorld) -> None:
        slide = identified_slide(world)
        assert not world.system.finish_deidentification(slide.id, digest="def-1", copies={}, choice=None)

    def test_a_slide_is_never_ready_with_its_identifiers(self, world: LedgerWorld) -> None:
        begun = begun_slide(world)
        assert not world.system.accept_slide(begun.id, INSPECTION, "thumbnail.jpeg", version=begun.version)
        assert finish(world, begun)
        assert not world.system.accept_slide(begun.id, INSPECTION, "thumbnail.jpeg", version=begun.version)
        assert world.system.accept_slide(begun.id, INSPECTION, "thumbnail.jpeg", version=begun.version + 1)
        assert world.tenants.get_slide(world.actor, begun.id).state is SlideState.READY

    def test_a_slide_refused_before_it_is_clean_loses_its_names_and_is_sent_to_lose_its_files(
        self, world: LedgerWorld
    ) -> None:
        slide = identified_slide(world)
        before = len(topics(world, "inspect"))
        assert world.system.reject_slide(slide.id, RejectReason.CAN_NOT_DEIDENTIFY, "It cannot be cleaned.")
        refused = world.tenants.get_slide(world.actor, slide.id)
        assert refused.name == str(slide.id)
        assert [file.name for file in refused.files] == ["00000", "00001", "00002"]
        assert world.system.find_identifiable_slide(slide.id) == refused
        assert len(topics(world, "inspect")) == before + 1

    def test_a_slide_refused_once_it_is_clean_keeps_its_files(self, world: LedgerWorld) -> None:
        begun = begun_slide(world)
        finish(world, begun)
        before = len(topics(world, "inspect"))
        assert world.system.reject_slide(begun.id, RejectReason.NO_MPP, "It has no scale.")
        assert world.system.find_identifiable_slide(begun.id) is None
        assert len(topics(world, "inspect")) == before

    def test_other_slides_are_refused_as_ever(self, world: LedgerWorld) -> None:
        slide = uploaded_slide(world, name="Case 8")
        before = len(topics(world, "inspect"))
        assert world.system.reject_slide(slide.id, RejectReason.NO_MPP, "It has no scale.")
        assert world.tenants.get_slide(world.actor, slide.id).name == "Case 8"
        assert world.system.find_identifiable_slide(slide.id) is None
        assert len(topics(world, "inspect")) == before

    def test_nothing_begins_on_a_slide_that_nobody_asked_it_for_or_that_is_gone(self, world: LedgerWorld) -> None:
        plain = uploaded_slide(world)
        assert world.system.begin_deidentification(plain.id, "x", copies_of(plain, 0), REMOVED) is None
        gone = identified_slide(world)
        world.tenants.delete_slide(world.actor, gone.id)
        assert world.system.begin_deidentification(gone.id, "x", copies_of(gone, 0), REMOVED) is None
        assert world.system.begin_deidentification(uuid4(), "x", {}, REMOVED) is None

    def test_a_slide_deleted_meanwhile_does_not_come_back(self, world: LedgerWorld) -> None:
        begun = begun_slide(world)
        deleted = world.tenants.delete_slide(world.actor, begun.id)
        assert [file.clean for file in deleted.files] == [file.clean for file in begun.files]
        assert not finish(world, begun)
