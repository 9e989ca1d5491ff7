"""What goes and what stays, case by case; and what is refused, since it cannot be cleaned where it lies."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import openslide
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.ranges import MemoryRangeSource
from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.slides.identified import (
    FORMATS,
    SAID,
    noise,
    write_identified_svs,
    write_level,
)
from tests.slides.ndpi import FOUR_GIB, ndpi_levels, write_ndpi
from wsi.errors import RejectReason, SlideRejected, TesseraError
from wsi.records.slides import Choice
from wsi.slide.deidentification.aperio_text import keep_measures
from wsi.slide.deidentification.clean_slide import CleanSlide
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source
from wsi.slide.ranges import ByteRange

SALT = b"salt"


def cleaned(path: Path, choice: Choice | None = None) -> CleanSlide:
    return clean(open_local_source(path), choice=choice, salt=SALT)


def bytes_of(slide: CleanSlide, file: int = 0) -> bytes:
    source = slide.files[file].source
    return source.read(ByteRange(0, source.size))


def refused(path: Path, choice: Choice | None = None) -> RejectReason:
    with pytest.raises(SlideRejected) as caught:
        cleaned(path, choice)
    return caught.value.reason


# --- Aperio's description


def test_of_aperios_description_only_measures_stay():
    text = (
        "Aperio Image Library v10.0.51 for Dr Doe\r\n46920x33014 [0,100 46000x32893] (256x256) -> 2000x1430 J2K/YUV16 "
        "Q=70;Doe 17;Aperio Image Library v9\r\n1x1|AppMag = 20|MPP = 0.4990|User = Doe|MPP = Doe 0.5|Top = -2.5e1"
        "|Patient = 5|Left = 1 Doe"
    )
    kept, lost = keep_measures(text)
    assert kept == (
        b"Aperio Image Library v10.0.51\r\n46920x33014 [0,100 46000x32893] (256x256) -> 2000x1430 J2K/YUV16 Q=70"
        b"|AppMag = 20|MPP = 0.4990|Top = -2.5e1"
    )
    assert lost == 5
    assert keep_measures(kept.decode()) == (kept, 0)


def test_a_gt450_is_known_too():
    text = (
        "Aperio Leica Biosystems GT450 v1.0.1 \r\n152855x79623 [0,0,152855x79623] (256x256) JPEG/YCbCr Q=91|AppMag=40"
        "|Date=04/29/2020|MPP=0.263|ScanScope ID=SS12345|Barcode=S20-1"
    )
    assert keep_measures(text)[0] == (
        b"Aperio Leica Biosystems GT450 v1.0.1\r\n152855x79623 [0,0,152855x79623] (256x256) JPEG/YCbCr Q=91"
        b"|AppMag = 40|MPP = 0.263"
    )
    assert keep_measures("Aperio Doe scanner\r\nS20-1")[0] == b"Aperio Image Library\r\n"


@given(st.text(max_size=200))
def test_words_never_stay_in_aperios_description(words):
    kept = keep_measures(f"Aperio {words}\n{words}|Note = {words}|MPP = {words}|{words} = 5")[0].decode()
    assert set(kept.split("\r\n", 1)[1]) <= set("0123456789x[]()-,>/ |=.+eEMPQJAGOR2KN") | set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    ) | set("AppMag StripeWidth Left Top LineCameraSkew LineAreaXOffset Focus Original Filtered Exposure Scale Display")


# --- TIFF


def test_what_lies_between_and_behind_the_pictures_is_blanked(tmp_path):
    path = write_identified_svs(tmp_path).path
    with path.open("ab") as file:
        file.write(b"\0" * 3 + b"of Doeringer, 1950")
    after = bytes_of(cleaned(path))
    assert after[-18:] == bytes(18)
    assert len(after) == path.stat().st_size


def test_a_text_as_short_as_padding_goes_too(tmp_path):
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as writer:
        for name, side in (("J.Doe", 480), ("A.Doe", 100)):  # the second page is no scan and goes as a whole
            said = {"extratags": [(315, 2, 0, name, True)], "resolution": (20_000, 20_000)}
            write_level(writer, noise(side, side + 20), None, **said)
    assert path.read_bytes().count(b".Doe\0") == 2
    assert b".Doe" not in bytes_of(cleaned(path))


def test_comments_in_the_tables_that_tiles_share_go(tmp_path):
    path = write_svs(tmp_path / "a.svs", width=600, height=480)
    data = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as file:
        tag = file.pages.first.tags[347]
        tables, place = bytes(tag.value), tag.valueoffset
    comment = b"\xff\xfe\x00\x0bDoeringer"
    with path.open("r+b") as file:  # longer tables, at the file's end
        file.seek(0, 2)
        where = file.tell()
        file.write(tables[:2] + comment + tables[2:])
        file.seek(tag.offset + 4)
        file.write(struct.pack("<II", len(tables) + len(comment), where))
    assert place > 0
    assert b"Doeringer" not in data
    after = bytes_of(cleaned(path))
    assert b"Doeringer" not in after
    assert b"\xff\xfe\x00\x0b" + bytes(9) in after


def test_a_label_that_shares_its_bytes_with_the_slide_is_refused(tmp_path):
    path = write_identified_svs(tmp_path, levels=(1,)).path
    with tifffile.TiffFile(path) as file:
        tile = file.pages.first.dataoffsets[0]
        offsets = list(file.pages)[-1].tags["StripOffsets"].valueoffset
    with path.open("r+b") as file:
        file.seek(offsets)
        file.write(struct.pack("<I", tile))
    assert refused(path) is RejectReason.CAN_NOT_DEIDENTIFY


def test_a_tile_that_lies_where_a_name_stands_is_refused(tmp_path):
    path = write_identified_svs(tmp_path, levels=(1,)).path
    with tifffile.TiffFile(path) as file:
        name = file.pages.first.tags["Artist"].valueoffset
        offsets = file.pages.first.tags["TileOffsets"].valueoffset
    with path.open("r+b") as file:
        file.seek(offsets)
        file.write(struct.pack("<I", name))
    assert refused(path) is RejectReason.CAN_NOT_DEIDENTIFY


def test_a_tile_that_claims_the_bytes_of_the_label_does_not_keep_them(tmp_path):
    """Its length is more than its pixels can need, so that no reader asks for it."""
    slide = write_identified_svs(tmp_path, levels=(1,))
    with tifffile.TiffFile(slide.path) as file:
        counts = file.pages.first.tags["TileByteCounts"].valueoffset
        first = file.pages.first.dataoffsets[0]
    with slide.path.open("r+b") as file:
        file.seek(counts)
        file.write(struct.pack("<I", slide.path.stat().st_size - first + 1_000_000))
        file.seek(1_000_000, 2)
        file.truncate()
    after = bytes_of(cleaned(slide.path))
    assert not any(picture[:32] in after for picture in slide.pictures)


def test_a_picture_of_the_whole_glass_is_no_thumbnail(tmp_path):
    """Behind the first page, without a word about what it is, and with other proportions."""
    path = tmp_path / "a.svs"
    text = "Aperio Image Library v12.0.15\r\n"
    with tifffile.TiffWriter(path) as writer:
        write_level(writer, noise(900, 1200), f"{text}1200x900|MPP = 0.5")
        writer.write(noise(96, 300), photometric="rgb", description=text, metadata=None)
    slide = cleaned(path)
    assert slide.removed.images == 1
    assert noise(96, 300).tobytes()[:64] not in bytes_of(slide)


@pytest.mark.parametrize(
    "name",
    [
        "real/strips-packbits-224.kather1.tif",
        "odd-tiff/libvips.ojpeg-tile.tif",
        "odd-tiff/imagecodecs.rgb.tiled.jpegxr.u1.tif",
    ],
)
def test_what_only_another_reader_takes_is_refused(name):
    path = shared_slide(name)
    choice = Choice(picture=1) if "imagecodecs" in name else None  # it holds its image twice
    assert refused(path, choice) is RejectReason.CAN_NOT_DEIDENTIFY


def test_formats_of_other_readers_are_refused():
    vms = SlideSource(files=(("a.vms", MemoryRangeSource(lambda: (b"[Virtual Microscope Specimen]\r\n", "e"))),))
    with pytest.raises(SlideRejected) as caught:
        clean(vms, salt=SALT)
    assert caught.value.reason is RejectReason.CAN_NOT_DEIDENTIFY
    assert "without de-identification" in caught.value.sentence


def test_what_is_no_slide_is_refused_as_ever():
    assert refused(shared_slide("broken/html-error-page.svs")) is RejectReason.NOT_A_SLIDE
    assert refused(shared_slide("derived/cmu-small-region.truncated-1000000.svs")) is RejectReason.TRUNCATED


def test_an_original_without_label_opens_as_before(tmp_path):
    path = write_svs(tmp_path / "a.svs", width=1200, height=900, associated=False)
    after = tmp_path / "b.svs"
    after.write_bytes(bytes_of(cleaned(path)))
    with openslide.OpenSlide(path) as one, openslide.OpenSlide(after) as other:
        assert one.level_dimensions == other.level_dimensions


def test_an_ndpi_beyond_4_gib_is_cleaned_where_it_lies(tmp_path):
    """Sparse: its pictures begin at 4 GiB, and 4 of 260 parts would be written."""
    path = tmp_path / "a.ndpi"
    texts = ((305, SAID.encode()), (65442, b"SS1302"))
    levels = [replace(level, texts=texts) for level in ndpi_levels()]
    write_ndpi(path, levels, first_byte=FOUR_GIB + 5_000_000)
    slide = cleaned(path)
    assert (slide.removed.images, slide.removed.tags) == (2, 9)
    source = slide.files[0].source
    tail = source.read(ByteRange(FOUR_GIB, source.size))
    assert SAID.encode() not in tail
    assert len(tail) == path.stat().st_size - FOUR_GIB


# --- damage


@pytest.fixture(scope="module", params=["svs", "ome", "ndpi", "dicom"])
def whole(request, tmp_path_factory):
    """Names and bytes of a slide's files."""
    slide = FORMATS[request.param](tmp_path_factory.mktemp("whole"))
    files = open_local_source(slide.path).files
    return [(name, source.read(ByteRange(0, source.size))) for name, source in files]


@settings(max_examples=120, deadline=None, derandomize=True)  # one byte can make an institution a manufacturer
@given(data=st.data())
def test_damage_leaves_no_name_behind_and_is_refused_in_words(whole, data):
    """Bytes of directories and headers, which lie at both ends, may be any."""
    files: list[tuple[str, MemoryRangeSource]] = []
    for name, before in whole:
        damaged = bytearray(before)
        for _ in range(data.draw(st.integers(0, 4))):
            near = data.draw(st.integers(0, min(4_000, len(before)) - 1))
            damaged[near if data.draw(st.booleans()) else len(before) - 1 - near] = data.draw(st.integers(0, 255))
        files.append((name, MemoryRangeSource(lambda held=bytes(damaged): (held, "etag"))))
    said, slide = "", None
    try:
        slide = clean(SlideSource(files=tuple(files)), salt=SALT)
    except TesseraError as error:
        said = error.sentence
    assert SAID not in said
    assert slide is None or not any(SAID.encode() in bytes_of(slide, number) for number in range(len(slide.files)))
