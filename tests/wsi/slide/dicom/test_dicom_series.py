"""DICOM series as they come: with other objects among their files, remote, replaced, damaged, and what they cost."""

from __future__ import annotations

import logging
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.ranges import MemoryRangeSource
from tests.shared_slides import shared_slide
from tests.slides.dicoms import (
    EXPLICIT,
    IMPLICIT,
    JPEG,
    JPEG_2000,
    PATIENT,
    SERIES,
    Pixels,
    Writing,
    tissue,
    write_annotations,
    write_picture,
    write_pyramid,
)
from tests.wsi.slide.sources import CountingSource, read_level
from wsi.errors import RejectReason, SlideRejected, SourceChanged, SourceError, TileUnreadable
from wsi.records.slides import Choice
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.dicom.series import read_index
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.slide import SlideReader


@pytest.fixture(scope="module")
def picture() -> Pixels:
    return tissue(230, 150)


def series(folder: Path) -> SlideSource:
    """All files of the folder, as if they lay nowhere on this disk."""
    return SlideSource(files=tuple((path.name, CountingSource(path.read_bytes())) for path in sorted(folder.iterdir())))


def rejected(folder: Path) -> SlideRejected:
    with pytest.raises(SlideRejected) as caught:
        open_slide(series(folder))
    return caught.value


def whole(file: RangeSource) -> ByteRange:
    return ByteRange(0, file.size)


def asked(source: SlideSource) -> tuple[int, int]:
    """Requests and bytes."""
    ranges = [part for _, file in source.files if isinstance(file, CountingSource) for part in file.asked]
    return len(ranges), sum(part.size for part in ranges)


def sizes(reader: SlideReader) -> list[tuple[int, int]]:
    return [(info.width, info.height) for info in reader.inspection.levels]


def test_label_overview_and_thumbnail_are_not_levels(tmp_path: Path, picture: Pixels):
    write_pyramid(tmp_path, picture, 2)
    for kind in ("LABEL", "OVERVIEW", "THUMBNAIL"):
        write_picture(tmp_path / f"{kind}.dcm", picture[:64, :64].copy(), Writing(kind=kind, series=SERIES + ".3"))
    reader = open_slide(series(tmp_path))
    assert sizes(reader) == [(230, 150), (115, 75)]
    assert reader.inspection.warnings == ()


def test_what_clearly_is_something_else_is_left_out_and_told(tmp_path: Path, picture: Pixels):
    write_pyramid(tmp_path, picture, 2)
    write_annotations(tmp_path / "9.dcm")
    (tmp_path / "readme.txt").write_text("hello")
    (tmp_path / "._0.dcm").write_bytes(b"\0\5\x16\7")
    source = series(tmp_path)
    reader = open_slide(replace(source, files=tuple(reversed(source.files))[1:]))
    assert sizes(reader) == [(230, 150), (115, 75)]
    (warning,) = reader.inspection.warnings
    assert "2 hold something else" in warning


@pytest.mark.parametrize(
    "damage", [b"", b"no DICOM", b"\0" * 128 + b"DICM", b"\0" * 128 + b"DICM" + b"\2\0\x10\0UI\x14"]
)
def test_a_damaged_file_of_the_series_is_not_left_out(tmp_path: Path, picture: Pixels, damage: bytes):
    write_pyramid(tmp_path, picture, 2)
    (tmp_path / "7.dcm").write_bytes(damage)
    assert rejected(tmp_path).reason in (RejectReason.DAMAGED, RejectReason.TRUNCATED)
    with pytest.raises(SlideRejected):
        open_slide(open_local_source(tmp_path))


@pytest.mark.parametrize(
    "how",
    [Writing(), Writing(table="none"), Writing(table="extended"), Writing(syntax=EXPLICIT, photometric="RGB")],
    ids=str,
)
def test_a_file_that_was_cut_short_is_truncated_wherever_it_ends(tmp_path: Path, picture: Pixels, how: Writing):
    data = write_picture(tmp_path / "a.dcm", picture, how).read_bytes()
    for end in (*range(200, 1_500, 20), *range(1_500, len(data) - 16, 2_000)):
        (tmp_path / "a.dcm").write_bytes(data[:end])
        found = rejected(tmp_path)
        assert found.reason is RejectReason.TRUNCATED or (end < 500 and found.reason is RejectReason.DAMAGED), end


def test_two_scans_at_once_are_refused(tmp_path: Path, picture: Pixels):
    write_picture(tmp_path / "a.dcm", picture)
    write_picture(tmp_path / "b.dcm", picture[::2, ::2].copy(), Writing(series=SERIES + ".8"))
    found = rejected(tmp_path)
    assert found.reason is RejectReason.SEVERAL_SLIDES
    assert "2 slides" in found.sentence


def test_levels_of_one_series_open_whatever_frames_of_reference_they_name(tmp_path: Path, picture: Pixels):
    """Writers that put levels together number them (dicom-microscopy-viewer#94, slim#116)."""
    for level in range(3):
        how = Writing(spacing=(0.0005 * 2**level,) * 2, place=f"{SERIES}.9.{9 + level}")
        write_picture(tmp_path / f"{level}.dcm", picture[:: 2**level, :: 2**level].copy(), how)
    reader = open_slide(series(tmp_path))
    assert sizes(reader) == [(230, 150), (115, 75), (58, 38)]
    (warning,) = reader.inspection.warnings
    assert "3 frames of reference" in warning
    assert SERIES not in warning


@pytest.mark.parametrize("syntax", [JPEG, EXPLICIT])
def test_a_file_that_came_twice_is_one_file(tmp_path: Path, picture: Pixels, syntax: str):
    write_pyramid(tmp_path, picture, 2, Writing(syntax=syntax, photometric="RGB"))
    (tmp_path / "0 (1).dcm").write_bytes((tmp_path / "0.dcm").read_bytes())
    reader = open_slide(series(tmp_path))
    assert sizes(reader) == [(230, 150), (115, 75)]
    assert reader.inspection.warnings == ("Of the files sent, 1 are copies of another one and were left out.",)


@pytest.mark.parametrize("change", ["byte", "size"])
def test_two_files_of_the_same_identity_that_differ_are_refused(tmp_path: Path, picture: Pixels, change: str):
    path = write_picture(tmp_path / "a.dcm", picture)
    data = bytearray(path.read_bytes())
    if change == "byte":
        data[-50] ^= 1
    (tmp_path / "b.dcm").write_bytes(data if change == "byte" else data + b"\0\0")
    found = rejected(tmp_path)
    assert found.reason is RejectReason.DAMAGED
    assert "same SOPInstanceUID" in found.sentence


def test_the_same_level_twice_is_refused(tmp_path: Path, picture: Pixels):
    """Two files of one size that are not copies, as a converter and a rescan leave them (openslide#468)."""
    write_picture(tmp_path / "a.dcm", picture)
    write_picture(tmp_path / "b.dcm", picture, Writing(instance="1.2.3"))
    assert "the same level" in rejected(tmp_path).sentence


@pytest.mark.parametrize("how", [Writing(sparse=True), Writing(sparse=True, paths=2)], ids=str)
def test_a_level_in_several_files_without_concatenation_is_joined(tmp_path: Path, picture: Pixels, how: Writing):
    """Orthanc's converter cuts levels into files of 10 MB, of which each frame says where it is."""
    choice = Choice(optical_path="2") if how.paths == 2 else None
    write_picture(tmp_path / "whole.dcm", picture, how)
    whole = read_level(open_slide(series(tmp_path), choice=choice), 0)
    (tmp_path / "whole.dcm").unlink()
    for number, tiles in enumerate((range(5), range(5, 6), range(6, 12))):
        write_picture(tmp_path / f"{number}.dcm", picture, replace(how, tiles=tiles))
    write_picture(tmp_path / "half.dcm", picture[::2, ::2].copy(), replace(how, spacing=(0.001, 0.001)))
    reader = open_slide(series(tmp_path), choice=choice)
    assert sizes(reader) == [(230, 150), (115, 75)]
    np.testing.assert_array_equal(read_level(reader, 0), whole)


@pytest.mark.parametrize("fragments", [1, 2])
def test_tiles_that_only_fill_up_a_level_are_left_out(tmp_path: Path, fragments: int):
    """Philips fills levels up to whole tiles, and to a column or row more (openslide PR#576)."""
    base = tissue(640, 384)
    how = Writing(syntax=JPEG_2000, photometric="YBR_RCT", fragments=fragments)
    write_picture(tmp_path / "0.dcm", base, how)
    for level, (columns, rows) in ((1, (6, 4)), (2, (3, 3))):
        image = base[:: 2**level, :: 2**level]
        fill = ((0, rows * 64 - image.shape[0]), (0, columns * 64 - image.shape[1]), (0, 0))
        spaced = replace(how, spacing=(0.0005 * 2**level,) * 2)
        write_picture(tmp_path / f"{level}.dcm", np.pad(image, fill, constant_values=7), spaced)
    reader = open_slide(series(tmp_path))
    assert sizes(reader) == [(640, 384), (320, 192), (160, 96)]
    assert [info.downsample for info in reader.inspection.levels] == [1, 2, 4]
    for level in range(3):
        np.testing.assert_array_equal(read_level(reader, level), base[:: 2**level, :: 2**level])


@pytest.mark.parametrize(("written", "named"), [(IMPLICIT, EXPLICIT), (EXPLICIT, IMPLICIT)])
def test_a_file_that_names_the_other_transfer_syntax_is_read_as_it_is(
    tmp_path: Path, picture: Pixels, written: str, named: str
):
    """pydicom and dcmtk look at the first element, too."""
    how = Writing(syntax=written, photometric="RGB", sparse=True)
    path = write_picture(tmp_path / "a.dcm", picture, how)
    (old,), (new,) = ([uid.encode() + b"\0" * (len(uid) % 2)] for uid in (written, named))
    data = path.read_bytes()
    place = data.index(old, data.index(b"UI", data.index(bytes.fromhex("020010005549"))))
    start = place - 2
    path.write_bytes(data[:start] + len(new).to_bytes(2, "little") + new + data[place + len(old) :])
    np.testing.assert_array_equal(read_level(open_slide(series(tmp_path)), 0), picture)
    file = clean(series(tmp_path), salt=b"salt").files[0].source
    assert PATIENT.encode() not in file.read(whole(file))


def test_files_of_frames_at_the_same_places_are_not_joined(tmp_path: Path, picture: Pixels):
    for number in range(2):
        write_picture(tmp_path / f"{number}.dcm", picture, Writing(sparse=True, instance=f"1.2.{number}"))
    assert "the same level" in rejected(tmp_path).sentence


def test_planes_of_focus_in_files_of_their_own_can_be_chosen(tmp_path: Path, picture: Pixels):
    images = [picture, picture[::-1].copy(), picture[:, ::-1].copy()]
    for number, image in enumerate(images):
        how = Writing(syntax=EXPLICIT, photometric="RGB", sparse=True, heights=(0.002 * (2 - number),))
        write_picture(tmp_path / f"{number}.dcm", image, how)
    assert rejected(tmp_path).reason is RejectReason.Z_STACK
    reader = open_slide(series(tmp_path), choice=Choice(focal_plane=1))
    np.testing.assert_array_equal(read_level(reader, 0), images[2])


def test_pictures_of_different_places_are_no_pyramid(tmp_path: Path, picture: Pixels):
    write_picture(tmp_path / "a.dcm", picture)
    write_picture(tmp_path / "b.dcm", picture[:, :75].copy())
    assert rejected(tmp_path).reason is RejectReason.UNSUPPORTED_FORMAT


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2", "1.2.840.10008.1.2.4.80", "1.2.3"])
def test_other_packings_are_refused_before_anything_is_unpacked(tmp_path: Path, picture: Pixels, syntax: str):
    path = write_picture(tmp_path / "a.dcm", picture)
    data = path.read_bytes()
    known = b"1.2.840.10008.1.2.4.50"
    assert data.count(known) == 1
    path.write_bytes(data.replace(known, syntax.encode().ljust(len(known), b"\0")))
    assert rejected(tmp_path).reason is RejectReason.UNSUPPORTED_COMPRESSION


@pytest.mark.parametrize(
    ("size", "syntax", "delimited"),
    [
        (160_000, EXPLICIT, False),
        (13_000_000, EXPLICIT, False),
        (13_000_000, EXPLICIT, True),
        (13_000_000, IMPLICIT, True),
        (50_000_000, IMPLICIT, False),
    ],
)
def test_colour_profiles_are_recorded_and_jumped_over(
    tmp_path: Path, picture: Pixels, size: int, syntax: str, delimited: bool
):
    how = Writing(syntax=syntax, photometric="RGB", icc=bytes(size), delimited=delimited)
    write_picture(tmp_path / "a.dcm", picture, how)
    source = series(tmp_path)
    reader = open_slide(source)
    assert reader.inspection.icc
    assert asked(source)[1] <= 3 * 65_536
    np.testing.assert_array_equal(read_level(reader, 0), picture)


def test_a_worker_opens_the_series_with_no_request_and_sees_any_file_replaced(tmp_path: Path, picture: Pixels):
    write_pyramid(tmp_path, picture, 3)
    index = open_slide(series(tmp_path)).serialize_index()
    source = series(tmp_path)
    reader = open_slide(source, index=index)
    assert asked(source) == (0, 0)
    for level in range(3):
        np.testing.assert_array_equal(read_level(reader, level), read_level(open_slide(series(tmp_path)), level))
    for number, (name, file) in enumerate(source.files):
        data = file.read(whole(file))
        files = list(source.files)
        files[number] = (name, MemoryRangeSource(lambda data=data: (data, "etag-2")))
        with pytest.raises(SourceChanged):
            open_slide(SlideSource(files=tuple(files)), index=index)


def test_frames_that_are_found_by_walking_are_those_of_the_tables(tmp_path: Path):
    picture = np.tile(tissue(512, 512), (3, 4, 1))
    levels = [
        read_level(open_slide(SlideSource(files=(("a.dcm", CountingSource(path.read_bytes())),))), 0)
        for table in ("none", "basic", "extended")
        for path in [write_picture(tmp_path / f"{table}.dcm", picture, Writing(tile=128, table=table))]
    ]
    np.testing.assert_array_equal(levels[0], levels[1])
    np.testing.assert_array_equal(levels[0], levels[2])


def test_sequences_within_sequences_end(tmp_path: Path, picture: Pixels):
    data = write_picture(tmp_path / "a.dcm", picture, Writing(sparse=True)).read_bytes()
    place = data.index(bytes.fromhex("00523092"))
    opened = bytes.fromhex("00523092") + b"SQ\0\0\xff\xff\xff\xff" + bytes.fromhex("feff00e0ffffffff")
    (tmp_path / "a.dcm").write_bytes(data[:place] + opened * 1_000 + data[place:])
    assert rejected(tmp_path).reason is RejectReason.DAMAGED


@pytest.mark.parametrize("table", ["basic", "extended", "none"])
def test_a_series_of_five_levels_and_three_other_pictures_opens_in_two_requests_a_file(tmp_path: Path, table: str):
    write_pyramid(tmp_path, np.tile(tissue(512, 512), (3, 4, 1)), 5, Writing(tile=128, table=table))
    for number, kind in enumerate(("LABEL", "OVERVIEW", "THUMBNAIL")):
        write_picture(tmp_path / f"{7 + number}.dcm", tissue(300, 200), Writing(kind=kind, tile=512))
    source = series(tmp_path)
    assert len(open_slide(source).inspection.levels) == 5
    requests, size = asked(source)
    assert requests <= {"basic": 12, "extended": 9, "none": 16}[table]
    assert size <= (1_000_000 if table != "none" else 2 * source.size)


def test_nothing_of_the_patient_is_told(tmp_path: Path, picture: Pixels, caplog: pytest.LogCaptureFixture):
    """pydicom warns of values that are not as they should be, with the values."""
    write_pyramid(tmp_path, picture, 2)
    name, number = PATIENT.encode(), b"0.0005\\0.0005"
    data = (tmp_path / "0.dcm").read_bytes()
    assert data.count(b"YBR_FULL_422") == data.count(number) == 1
    (tmp_path / "0.dcm").write_bytes(data.replace(b"PRIMARY", b"Doering"))
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader = open_slide(series(tmp_path))
        (tmp_path / "0.dcm").write_bytes(data.replace(number, name.ljust(len(number))))
        unscaled = open_slide(series(tmp_path))
        (tmp_path / "0.dcm").write_bytes(data.replace(b"YBR_FULL_422", name.ljust(12)))
        found = rejected(tmp_path)
    assert caught == []
    assert unscaled.inspection.mpp_x is None
    told = repr((reader.inspection, unscaled.inspection)) + found.sentence + caplog.text
    assert found.__cause__ is None
    assert "Doering" not in told
    assert SERIES not in told


VARIANTS = [
    Writing(),
    Writing(table="extended"),
    Writing(table="none", fragments=2),
    Writing(sparse=True, tiles=[3, 0, 5]),
    Writing(syntax=IMPLICIT, photometric="RGB", sparse=True),
    Writing(syntax=JPEG_2000, photometric="YBR_RCT", part=(1, 1, 0)),
    Writing(syntax=EXPLICIT, photometric="RGB", sparse=True, tiles=[3, 0], planes=2, paths=2),
]
CHOICES = [None, Choice(focal_plane=2), Choice(optical_path="2"), Choice(optical_path="2", focal_plane=1)]


#: No length, none, an item, the end of a sequence
TELLING = [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xfe\xff\0\xe0", b"\xfe\xff\xdd\xe0"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, picture: Pixels) -> list[bytes]:
    folder = tmp_path_factory.mktemp("written")
    return [write_picture(folder / "a.dcm", picture, how).read_bytes() for how in VARIANTS]


@settings(max_examples=400, deadline=5_000)
@given(data=st.data())
def test_whatever_bytes_are_changed_ends_in_a_reason_or_in_tiles(written: list[bytes], data: st.DataObject):
    changed = bytearray(data.draw(st.sampled_from(written)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(128, min(len(changed), 4_000) - 5))
        value = data.draw(
            st.one_of(
                st.sampled_from([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xfe\xff\0\xe0", b"\xfe\xff\xdd\xe0"]),
                st.binary(min_size=1, max_size=4),
            )
        )
        changed[at : at + len(value)] = value
    if data.draw(st.booleans()):
        del changed[data.draw(st.integers(0, len(changed))) :]
    source = SlideSource(files=(("a.dcm", CountingSource(bytes(changed))),))
    with suppress(SlideRejected, SourceError):
        index = read_index(source.files, data.draw(st.sampled_from(CHOICES)))
        reader = open_slide(source, index=index.to_bytes())
        for tile in reader.read_tiles(0, range(min(4, len(index.levels[0].pieces.first) - 1))):
            with suppress(TileUnreadable):
                reader.decode(tile)


def test_a_real_series_opens_in_two_requests_a_file():
    source = open_local_source(shared_slide("derived/cmu-small-region-dicom"))
    counted = SlideSource(files=tuple((name, CountingSource(file.read(whole(file)))) for name, file in source.files))
    open_slide(counted)
    assert asked(counted)[0] <= 2 * len(counted.files)
