"""Identifiers in places of a TIFF that stay: letters as numbers, texts behind a value's end, comments in tiles."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import imagecodecs
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

from tests.shared_slides import shared_slide
from tests.slides import encode_tile, he_tissue, write_pyramid_tiff, write_svs
from tests.slides.identified import noise, write_level
from tests.slides.ndpi import ndpi_levels, write_ndpi
from tests.slides.ome import ome_pyramid, write_ome
from wsi.errors import RejectReason, SlideRejected
from wsi.slide.coding import Codec
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.deidentification.colour_profile import blank_profile
from wsi.slide.deidentification.tile_comments import locate_in_tile
from wsi.slide.opening import open_local_source
from wsi.slide.ranges import ByteRange

SALT = b"salt"
WORD: Final = b"ZQXJKVZQXJKV"
LEAK: Final = re.compile(rb"ZQXJ|QZJX|Z\0Q\0|\0Z\0Q")  # also in UTF-16


def bytes_of(path: Path) -> bytes:
    source = clean(open_local_source(path), salt=SALT).files[0].source
    return source.read(ByteRange(0, source.size))


def carries(path: Path) -> bool:
    """Whether the word comes through; what is refused does not."""
    assert LEAK.search(path.read_bytes()), "the test's own slide says nothing"
    try:
        return LEAK.search(bytes_of(path)) is not None
    except SlideRejected as rejected:
        return rejected.reason is not RejectReason.CAN_NOT_DEIDENTIFY


def add_tag(path: Path, tag: int, kind: int, count: int, data: bytes) -> None:
    """Give the first page of a classic TIFF in little endian one more tag, or another value for one."""
    file = bytearray(path.read_bytes())
    (at,) = struct.unpack_from("<I", file, 4)
    (entries,) = struct.unpack_from("<H", file, at)
    rows = {
        struct.unpack_from("<H", file, at + 2 + 12 * n)[0]: bytes(file[at + 2 + 12 * n :][:12]) for n in range(entries)
    }
    following = bytes(file[at + 2 + 12 * entries :][:4])
    file += b"\0" * (len(file) % 2)
    value = data.ljust(4, b"\0") if len(data) <= 4 else struct.pack("<I", len(file))
    rows[tag] = struct.pack("<HHI", tag, kind, count) + value
    file += data if len(data) > 4 else b""
    file += b"\0" * (len(file) % 2)
    struct.pack_into("<I", file, 4, len(file))
    file += struct.pack("<H", len(rows)) + b"".join(rows[key] for key in sorted(rows)) + following
    path.write_bytes(file)


@pytest.mark.parametrize(
    ("tag", "kind", "count"),
    [
        (274, 2, 12),  # Orientation as text
        (254, 2, 12),  # NewSubfileType as text
        (266, 7, 12),  # FillOrder as bytes
        (532, 4, 3),  # ReferenceBlackWhite as whole numbers of four letters
        (532, 2, 12),
        (529, 7, 12),  # YCbCrCoefficients
        (531, 3, 6),
        (338, 3, 6),
        (32997, 4, 3),  # ImageDepth
        (50674, 4, 3),  # LercParameters
        (282, 12, 1),
        (34675, 7, 12),  # a profile that is none
    ],
)
def test_a_tag_of_numbers_cannot_hold_letters(tmp_path: Path, tag: int, kind: int, count: int):
    path = write_pyramid_tiff(tmp_path / "a.tif", width=600, height=500, levels=(1,))
    size = {2: 1, 3: 2, 4: 4, 7: 1, 12: 8}[kind] * count
    add_tag(path, tag, kind, count, WORD[:size])
    assert not carries(path)


def test_more_offsets_than_tiles_cannot_hold_letters(tmp_path: Path):
    path = write_pyramid_tiff(tmp_path / "a.tif", width=600, height=500, levels=(1,))
    with tifffile.TiffFile(path) as file:
        page = file.pages.first
        starts, sizes = page.dataoffsets, page.databytecounts
    add_tag(path, 324, 4, len(starts) + 3, struct.pack(f"<{len(starts)}I", *starts) + WORD)
    add_tag(path, 325, 4, len(sizes) + 3, struct.pack(f"<{len(sizes)}I", *sizes) + bytes(12))
    assert not carries(path)


@pytest.mark.parametrize("tag", [65420, 65421, 65422, 65424, 65432, 65441])
def test_a_vendors_tag_of_numbers_cannot_hold_letters(tmp_path: Path, tag: int):
    levels = ndpi_levels()
    texts = ((tag, WORD),)
    path = write_ndpi(tmp_path / "a.ndpi", [replace(levels[0], texts=texts), *levels[1:]])
    if tag == 65421:  # then it is no level
        path = write_ndpi(tmp_path / "a.ndpi", [levels[0], replace(levels[1], texts=texts), *levels[2:]])
    assert not carries(path)


def test_nothing_stays_behind_the_makers_name(tmp_path: Path):
    levels = [replace(level, texts=((271, b"Hamamatsu\0" + WORD),)) for level in ndpi_levels()]
    path = write_ndpi(tmp_path / "a.ndpi", levels)
    assert not carries(path)
    with tifffile.TiffFile(io.BytesIO(bytes_of(path))) as file:
        assert file.pages.first.tags["Make"].value == "Hamamatsu"


def test_starts_that_are_no_places_cannot_hold_letters(tmp_path: Path):
    """Of a smaller level, which is then left out of the slide but not of the file."""
    levels = ndpi_levels()
    path = write_ndpi(tmp_path / "a.ndpi", [levels[0], replace(levels[1], texts=((65432, WORD * 2),)), *levels[2:]])
    assert not carries(path)


@pytest.mark.parametrize("number", [0, 2])
def test_nothing_stays_behind_the_end_of_an_ndpis_level(tmp_path: Path, number: int):
    """With a list of restart slices and without one."""
    levels = list(ndpi_levels())
    levels[number] = replace(levels[number], behind=WORD)
    assert not carries(write_ndpi(tmp_path / "a.ndpi", levels))


TILES: Final[dict[str, Callable[[bytes], bytes]]] = {
    "comment": lambda jpeg: jpeg[:2] + b"\xff\xfe\0\x0e" + WORD + jpeg[2:],
    "EXIF": lambda jpeg: jpeg[:2] + b"\xff\xe1\0\x14Exif\0\0" + WORD + jpeg[2:],
    "APP0 of another program": lambda jpeg: jpeg[:2] + b"\xff\xe0\0\x0e" + WORD + jpeg[2:],
    "APP14 of another program": lambda jpeg: jpeg[:2] + b"\xff\xee\0\x0e" + WORD + jpeg[2:],
    "profile": lambda jpeg: jpeg[:2] + b"\xff\xe2\0\x1cICC_PROFILE\0\1\1" + WORD + jpeg[2:],
    "behind the end": lambda jpeg: jpeg + WORD,
}


@pytest.mark.parametrize("place", TILES)
def test_what_a_jpeg_tile_says_goes_and_its_pixels_stay(tmp_path: Path, place: str):
    path = tmp_path / "a.tif"
    pixels = he_tissue(np.random.default_rng(0), 480, 480)
    corners = [(y, x) for y in (0, 240) for x in (0, 240)]
    tiles = [
        TILES[place](encode_tile(np.ascontiguousarray(pixels[y : y + 240, x : x + 240]), rgb=True)) for y, x in corners
    ]
    with tifffile.TiffWriter(path) as writer:
        writer.write(
            iter(tiles),
            shape=(480, 480, 3),
            dtype=np.uint8,
            tile=(240, 240),
            photometric="rgb",
            compression="jpeg",
            compressionargs={"outcolorspace": "RGB"},
            metadata=None,
            resolution=(20_000, 20_000),
            resolutionunit="CENTIMETER",
        )
    assert not carries(path)
    after = tmp_path / "after.tif"
    after.write_bytes(bytes_of(path))
    assert np.array_equal(tifffile.imread(path), tifffile.imread(after))


def test_a_comment_of_jpeg_2000_goes_unless_a_program_names_itself():
    plain = imagecodecs.jpeg2k_encode(noise(64, 64), level=0, reversible=True, codecformat="j2k", mct=True)
    assert locate_in_tile(plain, Codec.JPEG_2000) == []
    at = plain.index(b"\xff\x64")
    size = int.from_bytes(plain[at + 2 : at + 4], "big")
    said = plain[: at + 2] + (4 + len(WORD)).to_bytes(2, "big") + b"\0\1" + WORD + plain[at + 2 + size :]
    ((start, end),) = locate_in_tile(said, Codec.JPEG_2000)
    assert said[start:end] == WORD


def test_a_profile_keeps_its_colours_and_no_words(tmp_path: Path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    before = profile.replace(b"sRGB", b"ZQXJ").replace("sRGB".encode("utf-16-be"), "ZQXJ".encode("utf-16-be"))
    assert LEAK.search(before)
    after = blank_profile(before)
    assert after is not None
    assert len(after) == len(before)
    assert not LEAK.search(after)
    image = Image.fromarray(noise(32, 32))
    lab = ImageCms.createProfile("LAB")
    turned = [
        np.asarray(ImageCms.profileToProfile(image, ImageCms.ImageCmsProfile(io.BytesIO(each)), lab, outputMode="LAB"))
        for each in (before, after)
    ]
    assert np.array_equal(*turned)
    assert blank_profile(after) == after
    assert blank_profile(WORD * 40) is None


def test_a_real_profile_keeps_its_colours(tmp_path: Path):
    path = shared_slide("real/aperio-jp2k33005-frozen-nompp-icc.TCGA-CR-7395-01A-01-TS1.svs")
    with tifffile.TiffFile(path) as one, tifffile.TiffFile(io.BytesIO(bytes_of(path))) as other:
        profiles = [file.pages.first.tags[34675].value for file in (one, other)]
    image = Image.fromarray(noise(32, 32))
    srgb = ImageCms.createProfile("sRGB")
    turned = [
        np.asarray(ImageCms.profileToProfile(image, ImageCms.ImageCmsProfile(io.BytesIO(each)), srgb))
        for each in profiles
    ]
    assert np.array_equal(*turned)
    assert b"Copyright" in profiles[0]
    assert b"Copyright" not in profiles[1]


def test_a_tables_end_is_its_end(tmp_path: Path):
    path = write_svs(tmp_path / "a.svs", width=600, height=480)
    with tifffile.TiffFile(path) as file:
        tables = bytes(file.pages.first.tags[347].value)
    add_tag(path, 347, 7, len(tables) + len(WORD), tables + WORD)
    assert not carries(path)


# --- OME


def test_nothing_of_the_xml_comes_through(tmp_path: Path):
    path = write_ome(tmp_path / "a.ome.tif", ome_pyramid())
    word = WORD.decode()
    with tifffile.TiffFile(path) as file:
        text = file.pages.first.description
    more = (
        f'<Experimenter ID="Experimenter:0" FirstName="{word}"/><Instrument ID="Instrument:0"><Microscope '
        f'SerialNumber="{word}"/></Instrument>'
    )
    behind = (
        f'<StructuredAnnotations><XMLAnnotation ID="Annotation:0"><Value><a b="{word}">{word}</a></Value>'
        f"</XMLAnnotation></StructuredAnnotations><!-- {word} -->"
    )
    said = re.sub(r'\b(UUID|Creator|Name)="[^"]*"', rf'\1="{word}"', text)
    said = re.sub(r"(<OME[^>]*>)", rf"\1{more}", said, count=1).replace("</OME>", f"{behind}</OME>")
    data = said.encode() + b"\0" + WORD + b"\0" + word.encode("utf-16-le")
    add_tag(path, 270, 2, len(data), data)
    assert not carries(path)
    with tifffile.TiffFile(path) as one, tifffile.TiffFile(io.BytesIO(bytes_of(path))) as other:
        assert other.is_ome
        assert np.array_equal(one.series[0].asarray(), other.series[0].asarray())


def test_a_label_that_is_packed_goes(tmp_path: Path):
    """Its bytes are found in none of the result's streams either."""
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as writer:
        write_level(writer, noise(480, 500), None, resolution=(20_000, 20_000), resolutionunit="CENTIMETER")
        writer.write(noise(96, 128), photometric="rgb", compression="zlib", metadata=None, rowsperstrip=96)
    with tifffile.TiffFile(path) as file:
        label = list(file.pages)[1]
        packed = path.read_bytes()[label.dataoffsets[0] :][: label.databytecounts[0]]
    after = bytes_of(path)
    assert packed[:32] in path.read_bytes()
    assert not any(packed[at : at + 16] in after for at in range(0, len(packed) - 16, 16))
