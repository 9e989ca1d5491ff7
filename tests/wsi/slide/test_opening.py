from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.ranges import MemoryRangeSource
from tests.shared_slides import shared_slide
from tests.slides import write_pyramid_tiff, write_svs
from tests.slides.scn import write_scn
from tests.wsi.slide.sources import CountingSource, read_level, remote
from wsi.errors import RejectReason, SlideRejected, SourceChanged, SourceMissing
from wsi.records.slides import Choice
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.files.source import SlideSource
from wsi.slide.index import SlideIndex
from wsi.slide.opening import open_local_source, open_slide


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("broken/random-text.svs", RejectReason.NOT_A_SLIDE, "not a whole-slide image"),
        ("broken/html-error-page.svs", RejectReason.NOT_A_SLIDE, "web page"),
        ("broken/mrxs-without-data-folder.CMU-1-Saved-1_16.mrxs", RejectReason.MISSING_FILES, "folder of .dat files"),
        ("broken/mirax-dummy-data/Mirax2-Fluorescence-1.mrxs", RejectReason.FLUORESCENCE, "fluorescence"),
        ("broken/pillow.seek_too_large.tif", RejectReason.TRUNCATED, "cut short"),
        ("derived/cmu-small-region.truncated-1000000.svs", RejectReason.TRUNCATED, "cut short"),
        ("real/strips-packbits-224.kather1.tif", RejectReason.UNSUPPORTED_FORMAT, "without tiles"),
        ("odd-tiff/imagecodecs.rgb.tiled.jpeg.u2.tif", RejectReason.BIT_DEPTH, "12 bits"),
        ("odd-tiff/imagecodecs.gray.tiled.u2.tif", RejectReason.BIT_DEPTH, "16 bits"),
        ("dicom/highdicom-sm-image-jpegls", RejectReason.UNSUPPORTED_COMPRESSION, "JPEG-LS"),
        ("dicom/wrong-sop-nuclear-medicine", RejectReason.UNSUPPORTED_FORMAT, "scanner wrote"),
    ],
)
def test_what_is_no_readable_slide_is_rejected_with_a_sentence(name: str, reason: RejectReason, words: str):
    path = shared_slide(name)
    choice = Choice(picture=1) if "imagecodecs" in name else None  # these files hold their image twice
    with pytest.raises(SlideRejected) as caught:
        open_slide(open_local_source(path), choice=choice)
    assert caught.value.reason is reason
    assert words in caught.value.sentence
    assert caught.value.sentence.endswith(".")
    assert path.stem not in caught.value.sentence


def test_formats_without_an_index_of_ours_open_through_openslide(tmp_path: Path):
    reader = open_slide(open_local_source(write_scn(tmp_path / "a.scn")))
    assert (reader.inspection.format, reader.inspection.reading_path) == ("scn", "scratch")
    assert reader.serialize_index() is None
    reader.close()


def test_the_mpp_that_is_given_wins_on_both_paths(tmp_path: Path):
    native = open_slide(open_local_source(write_svs(tmp_path / "a.svs", width=500, height=500)), mpp=0.3)
    other = open_slide(open_local_source(write_scn(tmp_path / "a.scn")), mpp=0.3)
    for reader in (native, other):
        found = reader.inspection
        assert (found.mpp_x, found.mpp_y, found.mpp_source) == (0.3, 0.3, "override")
        reader.close()


def test_an_index_opens_the_slide_without_any_request(tmp_path: Path):
    data = write_svs(tmp_path / "a.svs", width=1300, height=900, levels=(1, 4)).read_bytes()
    first = open_slide(remote(CountingSource(data)))
    index = first.serialize_index()
    assert index is not None
    source = CountingSource(data)
    second = open_slide(remote(source), index=index)
    assert source.asked == []
    assert second.inspection == first.inspection
    for level in (0, 1):
        np.testing.assert_array_equal(read_level(second, level), read_level(first, level))
    assert second.serialize_index() == index


def test_an_index_of_another_version_of_the_file_is_refused(tmp_path: Path):
    data = write_svs(tmp_path / "a.svs", width=500, height=500).read_bytes()
    index = open_slide(remote(CountingSource(data))).serialize_index()
    other = MemoryRangeSource(lambda: (data, "etag-2"))
    with pytest.raises(SourceChanged):
        open_slide(remote(other), index=index)


def test_an_index_that_another_version_of_the_program_wrote_is_made_again(tmp_path: Path):
    data = write_svs(tmp_path / "a.svs", width=500, height=500).read_bytes()
    reader = open_slide(remote(CountingSource(data)), index=b"tessera-index-9\n...")
    assert reader.inspection.width == 500


def test_the_index_is_small(tmp_path: Path):
    path = write_svs(tmp_path / "a.svs", width=24_000, height=24_000, levels=(1,))
    index = open_slide(open_local_source(path)).serialize_index()
    assert index is not None
    assert len(index) < 4 * 10_000
    parsed = SlideIndex.from_bytes(index)
    assert parsed is not None
    assert len(parsed.levels[0].pieces.offsets) == 10_000


def test_a_remote_slide_is_copied_to_scratch_and_the_copy_dies_with_the_reader(tmp_path: Path):
    path, scratch = write_scn(tmp_path / "a.scn"), tmp_path / "scratch"
    scratch.mkdir()
    reader = open_slide(remote(CountingSource(path.read_bytes()), "folder/a.scn"), scratch=ScratchSpace(scratch))
    local = open_slide(open_local_source(path))
    np.testing.assert_array_equal(read_level(reader, 1), read_level(local, 1))
    assert len(list(scratch.iterdir())) == 1
    reader.close()
    local.close()
    assert list(scratch.iterdir()) == []


def test_a_remote_series_is_read_without_a_copy(tmp_path: Path):
    source = open_local_source(shared_slide("derived/cmu-small-region-dicom"))
    assert len(source.files) == 5
    reader = open_slide(replace(source, local_path=None), scratch=ScratchSpace(tmp_path))
    assert len(reader.inspection.levels) == 5
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_would_be_too_large_is_refused_before_it_begins(tmp_path: Path):
    source, scratch = CountingSource(write_scn(tmp_path / "a.scn").read_bytes()), tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(SlideRejected) as caught:
        open_slide(remote(source), scratch=ScratchSpace(scratch, 100_000))
    assert caught.value.reason is RejectReason.TOO_LARGE_FOR_FORMAT
    assert list(scratch.iterdir()) == []


def test_a_name_that_leads_out_of_the_scratch_folder_is_refused(tmp_path: Path):
    data, scratch = write_scn(tmp_path / "a.scn").read_bytes(), tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(SlideRejected, match="leads out"):
        open_slide(remote(CountingSource(data), "../../a.scn"), scratch=ScratchSpace(scratch))
    assert list(scratch.iterdir()) == []


def test_a_native_slide_is_never_copied(tmp_path: Path):
    data = write_pyramid_tiff(tmp_path / "a.tif", width=700, height=500).read_bytes()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    open_slide(remote(CountingSource(data)), scratch=ScratchSpace(scratch, 0))
    assert list(scratch.iterdir()) == []


def test_a_mirax_slide_brings_its_data_folder():
    source = open_local_source(shared_slide("broken/mirax-dummy-data/Mirax2-Fluorescence-1.mrxs"))
    assert source.files[0][0] == "Mirax2-Fluorescence-1.mrxs"
    assert "Mirax2-Fluorescence-1/Slidedat.ini" in dict(source.files)


def test_what_is_not_there_is_missing(tmp_path: Path):
    with pytest.raises(SourceMissing):
        open_local_source(tmp_path / "absent.svs")
    with pytest.raises(SourceMissing, match="no DICOM files"):
        open_local_source(tmp_path)


def test_an_empty_file_is_not_a_slide(tmp_path: Path):
    (tmp_path / "a.svs").write_bytes(b"")
    with pytest.raises(SlideRejected) as caught:
        open_slide(open_local_source(tmp_path / "a.svs"))
    assert caught.value.reason is RejectReason.NOT_A_SLIDE


def test_memory_sources_and_files_read_alike(tmp_path: Path):
    path = write_svs(tmp_path / "a.svs", width=500, height=500)
    source = SlideSource(files=(("a.svs", CountingSource(path.read_bytes())),))
    np.testing.assert_array_equal(read_level(open_slide(source), 0), read_level(open_slide(open_local_source(path)), 0))


def test_only_files_belong_to_a_slide_of_several_files(tmp_path):
    for name in ("slide.vms", "slide.opt", "slide(1,0).jpg", "other.jpg"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "slide-results").mkdir()
    found = [name for name, _ in open_local_source(tmp_path / "slide.vms").files]
    assert found == ["slide.vms", "slide(1,0).jpg", "slide.opt"]
