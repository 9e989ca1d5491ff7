"""The scale of a TIFF's level 0, from its texts and its tags of every type, by the readers that users meet."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from tests.slides import GLASS
from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Inspection
from wsi.slide.mpp import get_valid_mpp
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import FileSource
from wsi.slide.scales.pages import read_resolution
from wsi.slide.tiff import parse

PIXELS = np.full((128, 192, 3), GLASS, np.uint8)
CENTIMETRES = {"resolution": (40_000, 40_000), "resolutionunit": "CENTIMETER"}
NO_UNIT = {"resolution": (4, 4), "resolutionunit": "NONE"}
X, Y, UNIT = 282, 283, 296
BYTE, SHORT, LONG, RATIONAL, SRATIONAL, FLOAT, DOUBLE, LONG8, SLONG8 = 1, 3, 4, 5, 10, 11, 12, 16, 17


def write(path: Path, *texts: str | bytes, sizes: tuple[int, ...] = (), **how: Any) -> Path:
    """A page for each text, each half as large as the one before unless `sizes` says how often smaller."""
    with tifffile.TiffWriter(path, bigtiff=how.pop("bigtiff", False)) as writer:
        for place, text in enumerate(texts):
            step = sizes[place] if sizes else 2**place
            writer.write(
                np.ascontiguousarray(PIXELS[::step, ::step]),
                **{"tile": (32, 32), "photometric": "rgb", "metadata": None, "software": False},
                description=text,
                **how,
            )
    return path


def write_entry(path: Path, tag: int, kind: int, value: bytes) -> None:
    """Give a tag of the first page another type and value; values that do not fit into the entry go to the end."""
    with tifffile.TiffFile(path) as file:
        found = file.pages.first.tags[tag]
        entry, big = found.offset, file.is_bigtiff
    data = bytearray(path.read_bytes())
    count, room = ("<Q", 8) if big else ("<I", 4)
    struct.pack_into("<H", data, entry + 2, kind)
    struct.pack_into(count, data, entry + 4, 1)
    if len(value) > room:
        value, data = struct.pack(count, len(data)), data + value
    data[entry + 4 + room : entry + 4 + 2 * room] = value.ljust(room, b"\0")
    path.write_bytes(data)


def inspected(path: Path) -> Inspection:
    reader = open_slide(open_local_source(path))
    assert reader.inspection.reading_path == "native", reader.inspection.path_reason
    return reader.inspection


def scale(path: Path) -> tuple[str | None, float, float]:
    found = inspected(path)
    return found.mpp_source, *get_valid_mpp(found)


def refusal(path: Path) -> str:
    with pytest.raises(SlideRejected) as caught:
        get_valid_mpp(inspected(path))
    assert caught.value.reason is RejectReason.NO_MPP
    return caught.value.sentence


@pytest.mark.parametrize(
    ("kind", "value", "big"),
    [
        (RATIONAL, struct.pack("<II", 40_000, 1), False),
        (SRATIONAL, struct.pack("<ii", 40_000, 1), False),
        (FLOAT, struct.pack("<f", 40_000), False),
        (DOUBLE, struct.pack("<d", 40_000), False),
        (LONG, struct.pack("<I", 40_000), False),
        (SHORT, struct.pack("<H", 40_000), False),
        (LONG8, struct.pack("<Q", 40_000), True),
        (SLONG8, struct.pack("<q", 40_000), True),
        (DOUBLE, struct.pack("<d", 40_000), True),
    ],
)
def test_resolution_tag_of_any_numeric_type_is_read(tmp_path: Path, kind: int, value: bytes, big: bool):
    path = write(tmp_path / "a.tif", "x", bigtiff=big, **CENTIMETRES)
    for tag in (X, Y):
        write_entry(path, tag, kind, value)
    assert scale(path) == ("tiff-resolution", 0.25, 0.25)


def test_resolution_tag_of_a_byte_is_read(tmp_path: Path):
    path = write(tmp_path / "a.tif", "x", **CENTIMETRES)
    for tag in (X, Y):
        write_entry(path, tag, BYTE, b"\x04")
    write_entry(path, UNIT, FLOAT, struct.pack("<f", 5))  # px a micrometre
    assert scale(path) == ("tiff-resolution", 0.25, 0.25)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (FLOAT, struct.pack("<f", float("nan"))),
        (FLOAT, struct.pack("<f", float("inf"))),
        (DOUBLE, struct.pack("<d", -40_000)),
        (SRATIONAL, struct.pack("<ii", -40_000, 1)),
        (SRATIONAL, struct.pack("<ii", 1, 0)),
        (SHORT, struct.pack("<H", 0)),
        (2, b"4\0"),
    ],
)
def test_resolution_that_is_no_positive_number_counts_as_missing(tmp_path: Path, kind: int, value: bytes):
    path = write(tmp_path / "a.tif", "x", **CENTIMETRES)
    write_entry(path, X, kind, value)
    assert read_resolution(parse(FileSource(path)).directories[0]).x is None
    refusal(path)


@pytest.mark.parametrize(
    ("unit", "density", "across"),
    [
        ("micron", 4, 0.25),
        ("microns", 4, 0.25),
        ("um", 4, 0.25),
        ("\\u00B5m", 4, 0.25),
        ("µm", 4, 0.25),
        (b"\xb5m", 4, 0.25),  # Latin-1
        ("mm", 4_000, 0.25),
        ("nm", 0.004, 0.25),
        ("cm", 40_000, 0.25),
        ("inch", 101_600, 0.25),
    ],
)
@pytest.mark.parametrize("program", ["ImageJ=1.53t", "SCIFIO=0.42.0"])
def test_unit_in_a_text_of_imagej_is_that_of_the_tags(
    tmp_path: Path, program: str, unit: str | bytes, density: float, across: float
):
    name = unit if isinstance(unit, bytes) else unit.encode()
    text = program.encode() + b"\nunit=" + name + b"\nspacing=1.0\n"
    path = write(tmp_path / "a.tif", text, resolution=(density, density / 2), resolutionunit="NONE")
    assert scale(path) == ("imagej", pytest.approx(across), pytest.approx(2 * across))


@pytest.mark.parametrize("unit", ["pixel", "pixels", "furlong", ""])
def test_unit_of_imagej_that_is_no_length_says_nothing(tmp_path: Path, unit: str):
    path = write(tmp_path / "a.tif", f"ImageJ=1.53t\nunit={unit}\n", **NO_UNIT)
    assert '"XResolution = 4 without a unit"' in refusal(path)


def test_resolution_of_1_without_a_unit_is_not_quoted(tmp_path: Path):
    assert '"' not in refusal(write(tmp_path / "a.tif", "x", resolution=(1, 1), resolutionunit="NONE"))


def test_text_of_imagej_beside_tags_with_a_unit_of_their_own_does_not_hide_them(tmp_path: Path):
    assert scale(write(tmp_path / "a.tif", "ImageJ=1.53t\nunit=micron\n", **CENTIMETRES)) == (
        "tiff-resolution",
        0.25,
        0.25,
    )


@pytest.mark.parametrize(
    ("text", "across"),
    [
        ("Motic V1.0.0 192x128 [0,0 192x128] [512x512] JPEG/RGB Q = 75|AppMag = 40|MPP = 0.257290", 0.25729),
        ("Source = Bright Field\r\nResolution = 0.4 um\r\nHuron TissueScope", 0.4),
        ("Mikroscan SLx\r\n|AppMag = 20|MPP = 0.36", 0.36),
        ("Aperio Image Library Grundium\r\n192x128 |AppMag=20|MPP=0.24;Title=x", 0.24),
        ("Aperio Image\r\n192x128|AppMag = 20|MPP = 0.24 um|Left = 1", 0.24),
        (b"Aperio Image\r\n192x128|AppMag=20|MPP=.2527\0\0", 0.2527),
        (b"\0Aperio Image\r\n192x128|AppMag = 20|MPP = 0,500000|Left = 25,69", 0.5),
        ("Aperio Image\r\n192x128|AppMag=20|mpp = 0.2527|x", 0.2527),
        (b"Aperio Image Library\r\n192x128;Scan resolution 0.274 \xb5m/Pix; Scan position", 0.274),
    ],
)
def test_scale_in_the_text_of_the_page_is_read(tmp_path: Path, text: str | bytes, across: float):
    assert scale(write(tmp_path / "a.tif", text))[1:] == (across, across)


def test_text_that_contradicts_the_tags_by_a_unit_is_a_conflict(tmp_path: Path):
    path = write(tmp_path / "a.tif", "Resolution = 2.5 um", **CENTIMETRES)
    with pytest.raises(SlideRejected) as caught:
        get_valid_mpp(inspected(path))
    assert caught.value.reason is RejectReason.MPP_CONFLICT


def test_two_scales_in_one_text_are_a_warning_and_the_first_one_is_read(tmp_path: Path):
    found = inspected(write(tmp_path / "a.svs", "Aperio x\r\n|MPP = 0.25|MPP = 0.5|"))
    assert (found.mpp_x, found.warnings) == (
        0.25,
        ("The file says both 0.25 (aperio) and 0.5 (aperio) microns per pixel.",),
    )


def vips(scale: float) -> str:
    names = "".join(f'<name>openslide.mpp-{axis}</name><value type="VipsRefString">{scale}</value>' for axis in "xy")
    return f'<?xml version="1.0"?><image xmlns="http://www.vips.ecs.soton.ac.uk/dzsave">{names}</image>'


def test_scale_that_libvips_copied_from_the_source_comes_behind_tags_that_a_scanner_can_have(tmp_path: Path):
    written = write(tmp_path / "shrunk.tif", vips(0.125), **CENTIMETRES)
    assert inspected(written).mpp_source == "tiff-resolution"
    older = write(tmp_path / "b.tif", vips(0.499), resolution=(10, 10), resolutionunit="CENTIMETER")  # libvips#1856
    assert scale(older) == ("libvips", 0.499, 0.499)


@pytest.mark.parametrize("tag", [700, 305, 271, 272])
def test_text_in_another_tag_of_the_page_is_read(tmp_path: Path, tag: int):
    path = write(tmp_path / "a.tif", "x", extratags=[(tag, 2, 0, "MPP = 0.25", True)])
    assert scale(path) == ("aperio", 0.25, 0.25)


def test_text_of_another_page_counts_where_it_names_the_size_of_level_0(tmp_path: Path):
    thumbnail = "Aperio Image Library v1\r\n192x128 -> 96x64|AppMag = 20|MPP = 0.25|"
    assert scale(write(tmp_path / "a.svs", "Aperio Image Library v1", thumbnail)) == ("aperio", 0.25, 0.25)
    assert scale(write(tmp_path / "b.tif", thumbnail, "x", sizes=(2, 1))) == ("aperio", 0.25, 0.25)


def test_text_of_another_page_that_may_be_its_own_scale_is_quoted(tmp_path: Path):
    assert '"Resolution = 0.8 um"' in refusal(write(tmp_path / "a.tif", "x", "Resolution = 0.8 um"))


def test_scale_in_the_text_of_an_ome_tiff_counts_where_its_xml_states_none(tmp_path: Path):
    path = tmp_path / "a.ome.tif"
    tifffile.imwrite(path, PIXELS, ome=True, tile=(32, 32), photometric="rgb", metadata={"Description": "MPP = 0.25"})
    assert scale(path) == ("aperio", 0.25, 0.25)
    tifffile.imwrite(path, PIXELS, ome=True, tile=(32, 32), photometric="rgb", metadata={"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5, "Description": "MPP = 0.25"})  # fmt: skip  # noqa: E501
    assert scale(path) == ("ome", 0.5, 0.5)


def test_scale_at_the_beginning_of_a_long_text_is_read(tmp_path: Path):
    assert scale(write(tmp_path / "a.tif", ("MPP = 0.25\n" + "µ" * 300_000).encode())) == ("aperio", 0.25, 0.25)


def test_text_longer_than_the_search_or_past_the_end_is_left_alone(tmp_path: Path):
    path = write(tmp_path / "a.tif", "x", extratags=[(271, 2, 0, "MPP = 0.25", True)], **CENTIMETRES)
    with tifffile.TiffFile(path) as file:
        entry = file.pages.first.tags[271].offset
    data = bytearray(path.read_bytes())
    for count, place in ((2**31, 8), (10, len(data))):
        struct.pack_into("<II", data, entry + 4, count, place)
        path.write_bytes(data)
        assert scale(path) == ("tiff-resolution", 0.25, 0.25)
