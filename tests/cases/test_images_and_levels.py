"""Which of a file's images is the slide, which are its levels, and which lie beside it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from tests.cases.case import Case, Read, Refused, check, parametrised
from tests.cases.pages import Page, change_entry, drawn, ome_text, smaller, svs_text, write_pages
from tests.slides import damage
from tests.slides.ome import rewrite_description, write_ome
from wsi.errors import RejectReason

WIDTH, HEIGHT = 640, 480
BASE = drawn(WIDTH, HEIGHT)
SIDES = [(640, 480), (320, 240), (160, 120)]
DENSITY = (40_000.0, 40_000.0)
TEXT = svs_text(WIDTH, HEIGHT)
LEVELS = [Page(pixels=smaller(BASE, step), description=TEXT) for step in (1, 2, 4)]
LABEL = Page(pixels=drawn(96, 112, 1), tile=None)
MACRO = Page(pixels=drawn(192, 64, 2), tile=None)
THUMBNAIL = Page(pixels=drawn(120, 80, 3), tile=None)


_ALL = '<view sizeX="256000" sizeY="256000" offsetX="0" offsetY="0"/>'


def _place(left: int, side: int) -> str:
    """Where an image of an SCN lies on the glass, in nm."""
    return f'<view sizeX="{side}" sizeY="{side}" offsetX="{left}" offsetY="0"/>'


def _svs(*pages: Page):
    return lambda folder: write_pages(folder / "slide.svs", *pages)


def _said(page: Page, name: str, **more: Any) -> Page:
    height, width = page.pixels.shape[:2]
    return replace(page, description=f"Aperio Image Library v12.0.15\r\n{name} {width}x{height}", **more)


def _ome_levels(folder: Path) -> Path:
    return write_ome(folder / "slide.ome.tif", [smaller(BASE, step) for step in (1, 2, 4)], tile=64)


def _long8(folder: Path) -> Path:
    """Places below a page as LONG8, where TIFF's extension has IFD8."""
    path = write_ome(folder / "slide.ome.tif", [smaller(BASE, step) for step in (1, 2, 4)], tile=64, big=True)
    return change_entry(path, 330, kind=16)


def _unlinked(folder: Path) -> Path:
    """A page behind those of the OME-XML that no image names."""
    text = ome_text(("slide", WIDTH, HEIGHT, 0, 0.5))
    below = [Page(pixels=smaller(BASE, step), flags=1) for step in (2, 4)]
    return write_pages(folder / "slide.ome.tif", Page(pixels=BASE, description=text, below=below), LABEL)


def _strips_below(folder: Path) -> Path:
    """Bio-Formats writes a level that is smaller than its tiles in strips."""
    below = [Page(pixels=smaller(BASE, 2)), Page(pixels=smaller(BASE, 4), tile=None)]
    return write_pages(folder / "slide.tif", Page(pixels=BASE, density=DENSITY, below=below))


def _label_below(folder: Path) -> Path:
    label = Page(pixels=drawn(387, 463, 1), tile=None)
    below = [Page(pixels=smaller(BASE, 2), flags=1), Page(pixels=smaller(BASE, 4), flags=1), label]
    return write_pages(folder / "slide.tif", Page(pixels=BASE, density=DENSITY, below=below))


def _companion(folder: Path) -> Path:
    path = _ome_levels(folder)
    with tifffile.TiffFile(path) as file:
        text = file.ome_metadata or ""
    mark = text[text.index("<Image") : text.index(">", text.index("<Image")) + 1]
    other = '<BinaryOnly MetadataFile="s.companion.ome" UUID="urn:uuid:1"/>'
    return rewrite_description(path, {mark: other + mark})


def _scn(folder: Path, *images: tuple[int, float, str]) -> Path:
    """A Leica SCN of one level each: page, objective, place on the glass."""
    listed = "".join(
        f'<image name="i{page}"><pixels sizeX="512" sizeY="512"><dimension sizeX="512" sizeY="512" r="0" ifd="{page}"/>'
        f"</pixels>{view}<scanSettings><objectiveSettings><objective>{objective}</objective></objectiveSettings>"
        "<illuminationSettings><illuminationSource>brightfield</illuminationSource></illuminationSettings>"
        "</scanSettings></image>"
        for page, objective, view in images
    )
    text = (
        '<?xml version="1.0" encoding="utf-8"?><scn xmlns="http://www.leica-microsystems.com/scn/2010/10/01">'
        f'<collection name="c" sizeX="256000" sizeY="256000">{listed}</collection></scn>'
    )
    page = Page(pixels=np.tile(drawn(256, 256), (2, 2, 1)), tile=512, density=DENSITY)
    first = replace(page, pixels=np.tile(drawn(256, 256, 1), (2, 2, 1)), description=text)
    return write_pages(folder / "slide.scn", first, *[page] * (len(images) - 1), big=True)


def _overview_first(folder: Path) -> Path:
    return _scn(folder, (0, 1.25, _ALL), (1, 20, _place(0, 128_000)))


def _without_offsets(folder: Path) -> Path:
    """The second page's TileOffsets becomes a tag that nobody knows."""
    path = write_pages(folder / "slide.tif", Page(pixels=BASE, density=DENSITY), Page(pixels=smaller(BASE, 2), flags=1))
    with tifffile.TiffFile(path) as file:
        entry = file.pages[1].tags[324].offset  # pyright: ignore[reportAttributeAccessIssue]
    return damage(path, lambda data: data.__setitem__(slice(entry, entry + 2), (60_000).to_bytes(2, "little")))


WHOLE = np.tile(drawn(256, 256), (2, 3, 1))


def _whole_tiles(folder: Path, flags: int) -> Path:
    """Levels that are filled up to whole tiles of 128 px: 768 x 512, 384 x 256, 256 x 128, 128 x 128."""
    quarter = np.pad(smaller(WHOLE, 4), ((0, 0), (0, 64), (0, 0)), constant_values=255)
    eighth = np.pad(smaller(WHOLE, 8), ((0, 64), (0, 32), (0, 0)), constant_values=255)
    levels = [Page(pixels=level, tile=128, flags=flags) for level in (smaller(WHOLE, 2), quarter, eighth)]
    return write_pages(folder / "slide.tif", Page(pixels=WHOLE, tile=128, density=DENSITY), *levels)


def _argos(folder: Path) -> Path:
    xml = b"<Argos.Scan.Metadata><MinZ>0</MinZ><MaxZ>2</MaxZ></Argos.Scan.Metadata>"
    text = ((65_000, 2, len(xml) + 1, xml + b"\0", False),)
    blurred = [np.roll(BASE, 40, axis=1), BASE, np.roll(BASE, 80, axis=1)]
    pages = [
        Page(pixels=smaller(plane, step), density=DENSITY, more=text if (number, step) == (0, 1) else ())
        for number, plane in enumerate(blurred)
        for step in (1, 2)
    ]
    return write_pages(folder / "slide.avs", *pages, THUMBNAIL, MACRO)


def _two_regions(folder: Path) -> Path:
    """Two main images that were scanned with different objectives."""
    return _scn(folder, (0, 1.25, _ALL), (1, 20, _place(0, 128_000)), (2, 40, _place(128_000, 64_000)))


CASES = [
    Case(
        source="ImageDePHI#141, wsidicomizer#148",
        met="label and macro of an SVS have no description and are JPEGs, not LZW",
        write=_svs(
            *LEVELS,
            *(
                replace(page, compression="jpeg", options=(("photometric", "ycbcr"), ("subsampling", (1, 1))))
                for page in (LABEL, MACRO)
            ),
        ),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="bioformats#3986",
        met="macro before label: each was called the other",
        write=_svs(*LEVELS, _said(MACRO, "macro", flags=9), _said(LABEL, "label", flags=1)),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="bioformats#3682",
        met="an SVS without label and macro lost its last levels to them",
        write=_svs(*LEVELS),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="bioformats#3682",
        met="an SVS with a macro and no label",
        write=_svs(*LEVELS, _said(MACRO, "macro", flags=9)),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="bioformats#3757",
        met="the thumbnail of another shape became a level between others",
        write=_svs(LEVELS[0], THUMBNAIL, *LEVELS[1:], LABEL, MACRO),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="bioformats#3757",
        met="the thumbnail of another shape is tiled",
        write=_svs(LEVELS[0], _said(THUMBNAIL, "-> thumbnail", tile=64), *LEVELS[1:]),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE, warns=None),
    ),
    Case(
        source="large_image PR#119",
        met="several small images in strips lie before the slide",
        write=lambda folder: write_pages(
            folder / "slide.tif",
            LABEL,
            MACRO,
            Page(pixels=BASE, density=DENSITY),
            Page(pixels=smaller(BASE, 2), flags=1),
        ),
        expect=Read(levels=SIDES[:2], mpp=0.25, pixels=BASE),
    ),
    Case(
        source="cucim#103, bioformats#3612",
        met="levels without the flag of smaller versions: more than one image of SubfileType 0",
        write=lambda folder: write_pages(
            folder / "slide.tif", *(Page(pixels=smaller(BASE, step), density=DENSITY) for step in (1, 2, 4))
        ),
        expect=Read(levels=SIDES, mpp=0.25, pixels=BASE),
    ),
    Case(
        source="bioformats#3374, large_image PR#469",
        met="of an OME-TIFF whose levels hang below its page, only the first was seen",
        write=_ome_levels,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="bioformats#3399",
        met="places of levels in 64 bits were not understood",
        write=_long8,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="bioformats PR#4317",
        met="a page that no image of the OME-XML names ended in an error",
        write=_unlinked,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE, warns=None),
    ),
    Case(
        source="slideflow#347",
        met="bfconvert wrote the smallest levels without tiles, and reading ended there",
        write=_strips_below,
        expect=Read(levels=SIDES[:2], mpp=0.25, pixels=BASE, warns=None),
    ),
    Case(
        source="bio-formats-examples PR#136",
        met="the label hangs below the slide, behind its levels",
        write=_label_below,
        expect=Read(levels=SIDES, mpp=0.25, pixels=BASE, warns=None),
    ),
    Case(
        source="libvips#1532",
        met="of an SCN whose overview comes first, the overview was converted",
        write=_overview_first,
        expect=Read(mpp=0.25, path="scratch"),
    ),
    *(
        Case(
            source="openslide#153, openslide#137",
            met=f"every level has whole tiles, and images shifted between levels ({how})",
            write=partial(_whole_tiles, flags=flags),
            # 192 x 128 px are stored as 256 x 128. Of the last level, of one tile, nothing tells the scale.
            expect=Read(levels=[(768, 512), (384, 256), (192, 128)], mpp=0.25, pixels=WHOLE, warns="is not read"),
        )
        for how, flags in (("marked as smaller", 1), ("not marked", 0))
    ),
    Case(
        source="iipsrv#206, HistoQC#304",
        met="levels are pages of a document (NewSubfileType 2) in dots an inch",
        write=lambda folder: write_pages(
            folder / "slide.tif",
            *(
                Page(pixels=smaller(BASE, step), flags=2, density=(300 / step, 300 / step), unit="INCH")
                for step in (1, 2, 4)
            ),
        ),
        mpp=0.5,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="openslide#188",
        met="after conversion a page has tiles and no list of where they are",
        write=_without_offsets,
        expect=Read(levels=SIDES[:1], mpp=0.25, pixels=BASE, warns=None),  # libtiff leaves the page out
    ),
    Case(
        source="openslide 4.0.1 (Argos AVS)",
        met="three focal planes of one size follow each other; which one is the middle stands in XML",
        write=_argos,
        expect=Read(levels=SIDES[:2], mpp=0.25, path="scratch", pixels=BASE),
    ),
    Case(
        source="openslide#202, openslide#189",
        met="an SCN with two unlike main images",
        write=_two_regions,
        expect=Refused(reason=RejectReason.UNSUPPORTED_FORMAT, says="SCN.*export"),
    ),
    Case(
        source="opentile PR#108",
        met="an OME-TIFF in strips",
        write=lambda folder: write_pages(
            folder / "slide.ome.tif",
            Page(pixels=BASE, tile=None, description=ome_text(("slide", WIDTH, HEIGHT, 0, 0.5))),
        ),
        expect=Refused(reason=RejectReason.UNSUPPORTED_FORMAT, says="without tiles"),
    ),
    Case(
        source="tifffile#72, tifffile#112",
        met="an OME-TIFF that is one file of a set",
        write=_companion,
        expect=Refused(reason=RejectReason.MISSING_FILES, says="one OME-TIFF"),
    ),
    Case(
        source="openslide#67",
        met="a pyramid of libvips was not recognised: here with its XML",
        write=lambda folder: write_pages(
            folder / "slide.tif",
            Page(
                pixels=BASE,
                density=DENSITY,
                description='<?xml version="1.0"?><image xmlns="http://www.vips.ecs.soton.ac.uk//dzsave" version="8.9">'
                "</image>",
            ),
            Page(pixels=smaller(BASE, 2), flags=1),
        ),
        expect=Read(levels=SIDES[:2], mpp=0.25, pixels=BASE),
    ),
    Case(
        source="openslide#656",
        met="a TIFF that Olympus software exported was not recognised: here without tiles",
        write=lambda folder: write_pages(folder / "slide.tif", Page(pixels=BASE, density=DENSITY, tile=None)),
        expect=Refused(reason=RejectReason.UNSUPPORTED_FORMAT, says="without tiles"),
    ),
]


@parametrised(CASES)
def test_case(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
