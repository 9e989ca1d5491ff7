"""DICOM slides that hold several pictures at each place: optical paths, planes of focus, and which one is read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from pydicom import Dataset, dcmread

from tests.slides import write_svs
from tests.slides.dicoms import (
    EPIFLUORESCENCE,
    EXPLICIT,
    IMPLICIT,
    JPEG_2000,
    Pixels,
    Writing,
    frame_groups,
    tissue,
    write_picture,
)
from tests.wsi.slide.sources import CountingSource, read_level
from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import WHITE, SlideReader

NATIVE = Writing(syntax=EXPLICIT, photometric="RGB")
LOSSLESS = Writing(syntax=JPEG_2000, photometric="YBR_RCT")
SHUFFLED = [7, 3, 11, 0, 1, 2, 4, 5, 6, 8, 9, 10]


@pytest.fixture(scope="module")
def layers() -> list[Pixels]:
    """Six pictures: planes 1 to 3 of path 1, then those of path 2."""
    return [tissue(230, 150, seed) for seed in range(6)]


def opened(*paths: Path, choice: Choice | None = None) -> SlideReader:
    return open_slide(_source(paths), choice=choice)


def _source(paths: Sequence[Path]) -> SlideSource:
    return SlideSource(files=tuple((path.name, CountingSource(path.read_bytes())) for path in paths))


def rejected(*paths: Path, choice: Choice | None = None) -> SlideRejected:
    with pytest.raises(SlideRejected) as caught:
        opened(*paths, choice=choice)
    assert caught.value.sentence.endswith(".")
    return caught.value


@pytest.mark.parametrize(
    "how",
    [
        NATIVE,
        replace(LOSSLESS, fragments=2),
        replace(LOSSLESS, table="none"),
        replace(NATIVE, sparse=True, tiles=SHUFFLED),
        replace(NATIVE, sparse=True, syntax=IMPLICIT),
        replace(LOSSLESS, sparse=True, tiles=SHUFFLED, table="extended"),
    ],
    ids=str,
)
def test_the_chosen_plane_of_the_chosen_path_is_read(tmp_path: Path, layers: list[Pixels], how: Writing):
    path = write_picture(tmp_path / "a.dcm", layers[0], replace(how, paths=2, planes=3), *layers[1:])
    for number, (optical, plane) in enumerate(product("12", (1, 2, 3))):
        reader = opened(path, choice=Choice(optical_path=optical, focal_plane=plane))
        np.testing.assert_array_equal(read_level(reader, 0), layers[number])
        assert reader.inspection.warnings == ()
        travelled = open_slide(_source([path]), index=reader.serialize_index())
        np.testing.assert_array_equal(read_level(travelled, 0), layers[number])


@pytest.mark.parametrize("more", [{}, {"TotalPixelMatrixFocalPlanes": 1}], ids=["stated", "counted"])
def test_planes_are_chosen_where_there_is_one_path(tmp_path: Path, layers: list[Pixels], more: dict[str, object]):
    path = write_picture(tmp_path / "a.dcm", layers[0], replace(NATIVE, planes=2, more=more), layers[1])
    np.testing.assert_array_equal(read_level(opened(path, choice=Choice(focal_plane=2)), 0), layers[1])


def test_planes_are_counted_from_the_glass_upwards_however_they_lie_in_the_file(tmp_path: Path, layers: list[Pixels]):
    how = replace(NATIVE, sparse=True, planes=3, heights=(12.5, -3.0, 4.0))
    path = write_picture(tmp_path / "a.dcm", layers[0], how, *layers[1:3])
    for plane, layer in ((1, 1), (2, 2), (3, 0)):
        np.testing.assert_array_equal(read_level(opened(path, choice=Choice(focal_plane=plane)), 0), layers[layer])


def test_a_chosen_path_may_lie_in_files_of_its_own(tmp_path: Path, layers: list[Pixels]):
    paths = [
        write_picture(tmp_path / f"{number}{level}.dcm", np.ascontiguousarray(layers[number][::level, ::level]), how)
        for number in (0, 1)
        for level in (1, 2)
        for how in [replace(NATIVE, first_path=number + 1, spacing=(0.0005 * level, 0.0005 * level))]
    ]
    for number, optical in enumerate("12"):
        reader = opened(*paths, choice=Choice(optical_path=optical))
        assert len(reader.inspection.levels) == 2
        np.testing.assert_array_equal(read_level(reader, 0), layers[number])
    found = rejected(*paths)
    assert found.reason is RejectReason.OPTICAL_PATHS
    assert "optical paths 1, 2" in found.sentence


def test_the_parts_of_a_concatenation_hold_all_planes_together(tmp_path: Path, layers: list[Pixels]):
    """The second file begins inside of the second plane."""
    frames = [*((0, tile) for tile in range(12)), *((1, tile) for tile in range(12))]
    paths = []
    for number, (start, end) in enumerate([(0, 15), (15, 24)]):
        how = replace(NATIVE, sparse=True, part=(number + 1, 2, start))
        written = write_picture(tmp_path / f"{number}.dcm", layers[0], replace(how, tiles=range(12)))
        groups, pixels = [], b""
        for layer, tile in frames[start:end]:
            one = replace(how, tiles=[tile], heights=(float(layer),))
            single = write_picture(tmp_path / "one", layers[layer], one)
            data = dcmread(single)
            groups += list(data.PerFrameFunctionalGroupsSequence)
            pixels += data.PixelData
        whole = dcmread(written)
        whole.PerFrameFunctionalGroupsSequence, whole.PixelData = groups, pixels
        whole.NumberOfFrames = end - start
        whole.save_as(written)
        paths.append(written)
    for plane in (1, 2):
        reader = opened(*paths, choice=Choice(focal_plane=plane))
        np.testing.assert_array_equal(read_level(reader, 0), layers[plane - 1])


def test_a_level_of_one_plane_has_it_for_every_choice(tmp_path: Path, layers: list[Pixels]):
    base = write_picture(tmp_path / "a.dcm", layers[0], replace(NATIVE, planes=2), layers[1])
    small = np.ascontiguousarray(layers[0][::2, ::2])
    above = write_picture(tmp_path / "b.dcm", small, replace(NATIVE, spacing=(0.001, 0.001)))
    reader = opened(base, above, choice=Choice(focal_plane=2))
    np.testing.assert_array_equal(read_level(reader, 0), layers[1])
    np.testing.assert_array_equal(read_level(reader, 1), small)
    (warning,) = reader.inspection.warnings
    assert "1 of the slide's levels hold one plane" in warning


def test_tiles_at_heights_of_their_own_are_one_plane(tmp_path: Path, layers: list[Pixels]):
    """A scanner that focuses each tile anew: nothing is to be chosen."""
    how = replace(NATIVE, sparse=True)
    groups = []
    for tile in range(12):
        groups += frame_groups([(tile % 4 * 64, tile // 4 * 64)], replace(how, heights=(tile / 7,)))
    more = {"PerFrameFunctionalGroupsSequence": groups}
    path = write_picture(tmp_path / "a.dcm", layers[0], replace(how, more=more))
    np.testing.assert_array_equal(read_level(opened(path), 0), layers[0])
    assert rejected(path, choice=Choice(focal_plane=1)).reason is RejectReason.NO_SUCH_CHOICE


def test_what_only_other_planes_hold_is_glass_and_told(tmp_path: Path, layers: list[Pixels]):
    how = replace(NATIVE, sparse=True, tiles=[0, 1, 2, 0, 1])
    places = [(0, 0), (64, 0), (128, 0)]
    groups = frame_groups(places, how) + frame_groups(places[:2], replace(how, heights=(2.0,)))
    path = write_picture(tmp_path / "a.dcm", layers[0], replace(how, more={"PerFrameFunctionalGroupsSequence": groups}))
    reader = opened(path, choice=Choice(focal_plane=2))
    found = read_level(reader, 0)
    assert (found[:64, :128] == layers[0][:64, :128]).all()
    assert (found[:64, 128:192] == WHITE).all()
    assert reader.inspection.warnings == ("1 tiles were scanned in other planes of focus only and are shown as glass.",)


@pytest.mark.parametrize(
    ("how", "choice", "reason", "words"),
    [
        (Writing(), Choice(optical_path="1"), RejectReason.NO_SUCH_CHOICE, "holds one optical path"),
        (Writing(), Choice(focal_plane=1), RejectReason.NO_SUCH_CHOICE, "holds one plane of focus"),
        (Writing(sparse=True), Choice(focal_plane=1), RejectReason.NO_SUCH_CHOICE, "holds one plane of focus"),
        (Writing(paths=2), Choice(optical_path="3"), RejectReason.NO_SUCH_CHOICE, "one of optical paths 1, 2."),
        (Writing(planes=3), Choice(focal_plane=4), RejectReason.NO_SUCH_CHOICE, "planes of focus 1 to 3"),
        (Writing(paths=2, planes=2), Choice(optical_path="1"), RejectReason.OPTICAL_PATHS, "planes 1 to 2"),
        (Writing(paths=2, planes=2), Choice(focal_plane=1), RejectReason.OPTICAL_PATHS, "optical paths 1, 2"),
        (Writing(paths=3, dark=(2, 3)), None, RejectReason.OPTICAL_PATHS, "one of optical paths 1 ("),
        (Writing(paths=3, dark=(2, 3)), Choice(optical_path="2"), RejectReason.FLUORESCENCE, "in fluorescence"),
        (Writing(paths=2, dark=(1, 2)), Choice(optical_path="2"), RejectReason.FLUORESCENCE, "all in fluorescence"),
    ],
    ids=str,
)
def test_what_can_not_be_chosen_is_refused_with_what_can(
    tmp_path: Path, layers: list[Pixels], how: Writing, choice: Choice | None, reason: RejectReason, words: str
):
    found = rejected(write_picture(tmp_path / "a.dcm", layers[0], how), choice=choice)
    assert found.reason is reason
    assert words in found.sentence


def test_a_brightfield_path_among_others_is_read(tmp_path: Path, layers: list[Pixels]):
    path = write_picture(tmp_path / "a.dcm", layers[0], replace(NATIVE, paths=2, dark=(1,)), layers[1])
    np.testing.assert_array_equal(read_level(opened(path, choice=Choice(optical_path="2")), 0), layers[1])


def test_a_brightfield_path_in_files_of_its_own_is_named_and_read(tmp_path: Path, layers: list[Pixels]):
    bright = write_picture(tmp_path / "1.dcm", layers[0], NATIVE)
    dark = write_picture(tmp_path / "2.dcm", layers[1], replace(NATIVE, first_path=2, dark=(2,)))
    found = rejected(bright, dark)
    assert found.reason is RejectReason.OPTICAL_PATHS
    assert "one of optical paths 1 (" in found.sentence
    np.testing.assert_array_equal(read_level(opened(bright, dark, choice=Choice(optical_path="1")), 0), layers[0])
    assert rejected(bright, dark, choice=Choice(optical_path="2")).reason is RejectReason.FLUORESCENCE


def test_frames_of_a_fluorescent_path_alone_are_refused_whatever_else_the_header_lists(
    tmp_path: Path, layers: list[Pixels]
):
    how = replace(NATIVE, sparse=True, dark=(1,))
    bright, dark = Dataset(), Dataset()
    for path, identifier, code in ((dark, "1", EPIFLUORESCENCE), (bright, "2", "111744")):
        illumination = Dataset()
        illumination.CodeValue = code
        path.OpticalPathIdentifier, path.IlluminationTypeCodeSequence = identifier, [illumination]
    path = write_picture(tmp_path / "a.dcm", layers[0], replace(how, more={"OpticalPathSequence": [dark, bright]}))
    assert rejected(path).reason is RejectReason.FLUORESCENCE


def test_other_formats_offer_no_choice(tmp_path: Path):
    path = write_svs(tmp_path / "a.svs", width=500, height=400)
    with pytest.raises(SlideRejected, match="one plane of focus") as caught:
        open_slide(open_local_source(path), choice=Choice(focal_plane=1))
    assert caught.value.reason is RejectReason.NO_SUCH_CHOICE


def test_a_series_offers_no_choice_of_an_image(tmp_path: Path, layers: list[Pixels]):
    write_picture(tmp_path / "a.dcm", layers[0])
    with pytest.raises(SlideRejected, match="holds one image") as caught:
        open_slide(open_local_source(tmp_path), choice=Choice(picture=1))
    assert caught.value.reason is RejectReason.NO_SUCH_CHOICE


@pytest.mark.parametrize("frames", [12, 200_000])
def test_a_description_of_frames_that_is_too_long_is_refused_unread(tmp_path: Path, layers: list[Pixels], frames: int):
    """96 MB say where the first frame lies, by the length that the sequence states of itself and without one."""
    how = replace(NATIVE, sparse=True, more={"NumberOfFrames": frames})
    data = write_picture(tmp_path / "a.dcm", layers[0], how).read_bytes()
    tag = bytes.fromhex("00523092")
    at = data.index(tag)
    small = bytes.fromhex("02001000") + b"LO\0\0"  # an empty element, eight bytes
    for length, item in ((96 * 1024**2, 96 * 1024**2 - 8), (0xFFFFFFFF, 0xFFFFFFFF)):
        head = tag + b"SQ\0\0" + length.to_bytes(4, "little")
        head += bytes.fromhex("feff00e0") + item.to_bytes(4, "little")
        source = CountingSource(data[:at] + head + small * (12 * 1024**2) + data[at:])
        began = time.process_time()
        with pytest.raises(SlideRejected, match="more of their frames than can be read") as caught:
            open_slide(SlideSource(files=(("a.dcm", source),)))
        assert time.process_time() - began < 1
        assert caught.value.reason is RejectReason.DAMAGED
        assert sum(part.size for part in source.asked) < 1024**2
