"""An inspection stays usable when its slide's files get other ETags."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from tests.fakes.objects import MemoryObjects
from tests.fakes.ranges import MemoryRangeSource
from tests.installation import ANALYST, Installation
from tests.slides import write_svs
from wsi import keys
from wsi.inspection.examination import examine
from wsi.inspection.stored_examination import find_stored_index, store_examination
from wsi.inspection.stored_mask import find_stored_mask
from wsi.records.slides import Slide
from wsi.recovery.examinations import move_examination
from wsi.recovery.verifying import ObjectProblem
from wsi.slide.files.scratch import NO_COPIES
from wsi.slide.files.source import SlideSource
from wsi.slide.index import SlideIndex
from wsi.slide.opening import open_slide


@pytest.fixture
def examined(tmp_path: Path) -> tuple[MemoryObjects, Slide]:
    """A slide with what inspection stored of it, under the ETag "old"."""
    data = write_svs(tmp_path / "a.svs", width=1024, height=768, tissue=(0, 0, 1024, 768)).read_bytes()
    source = SlideSource(files=(("a.svs", MemoryRangeSource(lambda: (data, "old"))),))
    objects = MemoryObjects()
    installation = Installation()
    slide = installation.ledger.get_slide(ANALYST, installation.ready())
    folder = keys.make_inspection_folder(slide.tenant, slide.id, slide.version)
    reader = open_slide(source, mpp=None, scratch=NO_COPIES)
    examination = examine(reader)
    store_examination(objects, folder, source, reader, examination)
    objects.put(keys.of_thumbnail(folder), b"jpeg")
    file = replace(slide.files[0], etag="old", size=len(data))
    return objects, replace(slide, files=(file,), thumbnail_key=keys.of_thumbnail(folder))


def under(slide: Slide, etag: str) -> Slide:
    return replace(slide, files=tuple(replace(file, etag=etag) for file in slide.files))


def test_index_and_mask_are_those_of_the_new_version(examined: tuple[MemoryObjects, Slide]) -> None:
    objects, slide = examined
    before = find_stored_mask(objects, slide)
    assert move_examination(objects, slide, ["new"]) == []
    moved = under(slide, "new")
    after = find_stored_mask(objects, moved)
    assert before is not None
    assert after is not None
    assert (after.inspection, after.mask.settings, after.current) == (before.inspection, before.mask.settings, True)
    assert find_stored_mask(objects, slide) is None
    index = SlideIndex.from_bytes(find_stored_index(objects, moved) or b"")
    assert index is not None
    assert [file.etag for file in index.files] == ["new"]


def test_nothing_is_written_where_nothing_changes(examined: tuple[MemoryObjects, Slide]) -> None:
    objects, slide = examined
    before = find_stored_index(objects, slide)
    move_examination(objects, slide, ["old"])
    assert find_stored_index(objects, slide) == before
    move_examination(objects, slide, ["new"])
    once = find_stored_index(objects, slide)
    move_examination(objects, slide, ["new"])  # a recovery that crashed before it told SQL
    assert find_stored_index(objects, slide) == once


def test_an_inspection_of_other_files_is_not_taken_for_the_slides(examined: tuple[MemoryObjects, Slide]) -> None:
    objects, slide = examined
    stranger = under(slide, "of another upload")
    before = find_stored_index(objects, stranger)
    move_examination(objects, stranger, ["new"])
    assert find_stored_index(objects, stranger) == before
    assert find_stored_mask(objects, under(slide, "new")) is None


def test_what_is_missing_is_reported(examined: tuple[MemoryObjects, Slide]) -> None:
    objects, slide = examined
    elsewhere = replace(slide, thumbnail_key=f"{uuid4()}/thumbnail.jpeg")
    lost = [(one.part, one.problem) for one in move_examination(objects, elsewhere, ["new"])]
    assert lost == [("tissue-mask.json", ObjectProblem.MISSING), ("thumbnail.jpeg", ObjectProblem.MISSING)]
