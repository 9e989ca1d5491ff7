"""Inspection of real and broken files on the in-memory ports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from tests.installation import ANALYST, Installation
from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.slides.dicoms import Writing, tissue, write_picture
from wsi import keys
from wsi.digests import PART_SIZE
from wsi.errors import SourceUnavailable
from wsi.inspection.inspecting import inspect_slide
from wsi.records.slides import Choice
from wsi.slide.files.scratch import ScratchSpace
from wsi.states import SlideState


@pytest.fixture
def installation():
    return Installation()


@dataclass
class Unavailable:
    """A store that does not answer."""

    def open(self, uri, *, tenant=None, etag=None):
        raise SourceUnavailable("The object store did not answer.")


def take_in(installation: Installation, path: Path, *, mpp: float | None = None, choice: Choice | None = None) -> UUID:
    data = path.read_bytes()
    slide = installation.opened(len(data), mpp=mpp, choice=choice)
    for n, start in enumerate(range(0, len(data), PART_SIZE), 1):
        installation.send_part(slide, 0, n, data[start : start + PART_SIZE])
    return installation.complete(slide.id).id


def inspect(installation: Installation, slide_id: UUID, tmp_path: Path, slides=None) -> SlideState | None:
    return inspect_slide(
        slide_id,
        ledger=installation.ledger,
        slides=slides or installation.slides,
        objects=installation.objects,
        scratch=ScratchSpace(tmp_path),
    )


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "written.svs"
    write_svs(path, width=2000, height=1500, mpp=0.5)
    return path


def test_a_good_slide_is_ready_with_thumbnail_and_tissue(installation, written, tmp_path):
    slide_id = take_in(installation, written)
    assert inspect(installation, slide_id, tmp_path) is SlideState.READY
    slide = installation.ledger.get_slide(ANALYST, slide_id)
    assert slide.inspection is not None
    assert (slide.inspection["width"], slide.inspection["mpp_x"]) == (2000, 0.5)
    assert slide.inspection["tissue_um2"] > 0
    assert slide.thumbnail_key == keys.of_thumbnail(
        keys.make_inspection_folder(slide.tenant, slide.id, slide.version - 1)
    )
    assert installation.objects.get(slide.thumbnail_key)[:2] == b"\xff\xd8"


def test_a_message_that_comes_twice_changes_nothing(installation, written, tmp_path):
    slide_id = take_in(installation, written)
    inspect(installation, slide_id, tmp_path)
    before = installation.ledger.get_slide(ANALYST, slide_id)
    assert inspect(installation, slide_id, tmp_path) is None
    assert installation.ledger.get_slide(ANALYST, slide_id) == before


@pytest.mark.parametrize("name", ["broken/random-text.svs", "broken/html-error-page.svs"])
def test_what_is_no_slide_is_rejected_with_a_sentence(installation, tmp_path, name):
    slide_id = take_in(installation, shared_slide(name))
    assert inspect(installation, slide_id, tmp_path) is SlideState.REJECTED
    slide = installation.ledger.get_slide(ANALYST, slide_id)
    assert slide.reason == "not_a_slide"
    assert slide.sentence


def test_a_slide_that_was_replaced_since_is_rejected(installation, written, tmp_path):
    slide_id = take_in(installation, written)
    uri = installation.ledger.get_slide(ANALYST, slide_id).files[0].uri
    installation.slides.put_object(uri, written.read_bytes() + b"x")
    assert inspect(installation, slide_id, tmp_path) is SlideState.REJECTED
    assert "replaced" in (installation.ledger.get_slide(ANALYST, slide_id).sentence or "")


def test_a_slide_whose_file_is_gone_is_rejected(installation, written, tmp_path):
    slide_id = take_in(installation, written)
    installation.slides.delete(installation.ledger.get_slide(ANALYST, slide_id).files[0].uri)
    assert inspect(installation, slide_id, tmp_path) is SlideState.REJECTED
    assert installation.ledger.get_slide(ANALYST, slide_id).reason == "missing_files"


def test_a_store_that_does_not_answer_is_tried_again(installation, written, tmp_path):
    slide_id = take_in(installation, written)
    with pytest.raises(SourceUnavailable):
        inspect(installation, slide_id, tmp_path, slides=Unavailable())
    assert installation.ledger.get_slide(ANALYST, slide_id).state is SlideState.UPLOADED


def test_a_slide_of_several_pictures_is_ready_once_one_is_chosen(installation, tmp_path):
    path = write_picture(tmp_path / "a.dcm", tissue(300, 200), Writing(planes=2), tissue(300, 200, 1))
    without, chosen = take_in(installation, path), take_in(installation, path, choice=Choice(focal_plane=2))
    wrong = take_in(installation, path, choice=Choice(focal_plane=3))
    for slide in (without, chosen, wrong):
        inspect(installation, slide, tmp_path)
    assert installation.ledger.get_slide(ANALYST, without).reason == "z_stack"
    assert "(`focal_plane`)" in installation.ledger.get_slide(ANALYST, without).sentence
    assert installation.ledger.get_slide(ANALYST, wrong).reason == "no_such_choice"
    assert installation.ledger.get_slide(ANALYST, chosen).state is SlideState.READY


def test_the_mpp_that_the_user_states_wins(installation, tmp_path):
    path = tmp_path / "no-mpp.svs"
    write_svs(path, width=600, height=500, mpp=None)
    without, stated = take_in(installation, path), take_in(installation, path, mpp=0.25)
    assert inspect(installation, without, tmp_path) is SlideState.REJECTED
    assert installation.ledger.get_slide(ANALYST, without).reason == "no_mpp"
    assert inspect(installation, stated, tmp_path) is SlideState.READY
