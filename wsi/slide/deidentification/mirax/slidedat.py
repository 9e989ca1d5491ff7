"""Slidedat.ini, the list of what a MIRAX slide holds: read as far as OpenSlide needs it, and written anew with that.

Source: openslide.org/formats/mirax and OpenSlide's reading of the keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from configparser import RawConfigParser
from dataclasses import dataclass
from typing import Final

from wsi.slide.tiff import make_damaged_error

ANONYMOUS_ID: Final = "0" * 32
_NUMBER: Final = re.compile(r"[-+]?\d{1,9}(\.\d{1,20})?([eE][-+]?\d{1,3})?")
_ZOOM: Final = "Slide zoom level"
#: Layers of where each photo is on the glass; of the two, OpenSlide takes the first. The second one is packed.
POSITIONS: Final = ("VIMSLIDE_POSITION_BUFFER", "StitchingIntensityLayer")
_GENERAL: Final = ("IMAGENUMBER_X", "IMAGENUMBER_Y", "OBJECTIVE_MAGNIFICATION", "CameraImageDivisionsPerSide")
_LEVEL: Final = (
    *("OVERLAP_X", "OVERLAP_Y", "MICROMETER_PER_PIXEL_X", "MICROMETER_PER_PIXEL_Y", "IMAGE_FILL_COLOR_BGR"),
    *("DIGITIZER_WIDTH", "DIGITIZER_HEIGHT", "IMAGE_CONCAT_FACTOR"),
)
_MOST_LEVELS: Final = 32
_MOST_FILES: Final = 2_000
_MOST_LAYERS: Final = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Slidedat:
    slide_id: str  #: which the index repeats
    general: dict[str, str]  #: numbers alone
    levels: tuple[dict[str, str], ...]  #: numbers of each zoom level, the largest first
    formats: tuple[str, ...]  #: of each level's tiles
    index: str  #: name of the index file
    files: tuple[str, ...]  #: names of the data files
    positions: tuple[str, int] | None  #: the layer of positions and the number of its record
    records: int  #: of layers beside the levels
    pictures: int  #: of these that are images
    keys: int  #: of the whole list

    def get_count(self, name: str) -> int:
        """Return a number of images or divisions, at least 1."""
        return max(int(float(self.general.get(name, "1"))), 1)


def parse_slidedat(contents: RawConfigParser) -> Slidedat:
    """Return the list as far as it is needed. Raises SlideRejected DAMAGED."""

    def get(section: str, key: str) -> str:
        return contents.get(section, key, fallback="").strip()

    def count(section: str, key: str, most: int) -> int:
        value = get(section, key)
        if not re.fullmatch(r"\d{1,6}", value) or int(value) > most:
            raise make_damaged_error("The list of the slide's layers (Slidedat.ini) is damaged.")
        return int(value)

    if get("HIERARCHICAL", "HIER_0_NAME") != _ZOOM:
        raise make_damaged_error("The slide's list names no zoom levels (Slidedat.ini).")
    sections = [
        get("HIERARCHICAL", f"HIER_0_VAL_{level}_SECTION")
        for level in range(count("HIERARCHICAL", "HIER_0_COUNT", _MOST_LEVELS))
    ]
    layers = list(_list_layers(contents, count("HIERARCHICAL", "NONHIER_COUNT", _MOST_LAYERS)))
    named = {name: first for name, first, _ in reversed(layers)}
    chosen = next((name for name in POSITIONS if name in named), None)
    shown = [section for _, _, values in layers for section in values if _is_picture(contents, section)]
    return Slidedat(
        slide_id=get("GENERAL", "SLIDE_ID"),
        general={key: value for key in _GENERAL if _NUMBER.fullmatch(value := get("GENERAL", key).rstrip("x"))},
        levels=tuple(
            {key: value for key in _LEVEL if _NUMBER.fullmatch(value := get(section, key))} for section in sections
        ),
        formats=tuple(get(section, "IMAGE_FORMAT") for section in sections),
        index=get("HIERARCHICAL", "INDEXFILE"),
        files=tuple(get("DATAFILE", f"FILE_{file}") for file in range(count("DATAFILE", "FILE_COUNT", _MOST_FILES))),
        positions=None if chosen is None else (chosen, named[chosen]),
        records=sum(len(values) for _, _, values in layers),
        pictures=len(shown),
        keys=sum(len(contents.items(section)) for section in contents.sections()),
    )


def _list_layers(contents: RawConfigParser, count: int) -> Iterator[tuple[str, int, Sequence[str]]]:
    """Yield (name, number of its first record, sections of its records) of each layer beside the levels."""
    first = 0
    for layer in range(count):
        stem = f"NONHIER_{layer}"
        records = contents.get("HIERARCHICAL", f"{stem}_COUNT", fallback="0").strip()
        if not re.fullmatch(r"\d{1,4}", records) or first > _MOST_LAYERS:
            raise make_damaged_error("The list of the slide's layers (Slidedat.ini) is damaged.")
        sections = [
            contents.get("HIERARCHICAL", f"{stem}_VAL_{record}_SECTION", fallback="").strip()
            for record in range(int(records))
        ]
        yield contents.get("HIERARCHICAL", f"{stem}_NAME", fallback="").strip(), first, sections
        first += int(records)


def _is_picture(contents: RawConfigParser, section: str) -> bool:
    return contents.has_section(section) and any(key.endswith("_image_type") for key, _ in contents.items(section))


def build_slidedat(slide: Slidedat) -> bytes:
    """Return the list without names, dates, serial numbers, and layers beside the levels but for positions."""
    kept = () if slide.positions is None else (slide.positions[0],)
    lines = ["[GENERAL]", f"SLIDE_ID = {ANONYMOUS_ID}", *(f"{key} = {value}" for key, value in slide.general.items())]
    lines += ["[HIERARCHICAL]", "HIER_COUNT = 1", f"NONHIER_COUNT = {len(kept)}", "INDEXFILE = Index.dat"]
    lines += [f"HIER_0_NAME = {_ZOOM}", f"HIER_0_COUNT = {len(slide.levels)}"]
    for level in range(len(slide.levels)):
        lines += [f"HIER_0_VAL_{level} = ZoomLevel_{level}", f"HIER_0_VAL_{level}_SECTION = {_name_section(level)}"]
    for name in kept:
        lines += [f"NONHIER_0_NAME = {name}", "NONHIER_0_COUNT = 1", "NONHIER_0_VAL_0 = default"]
        lines += ["NONHIER_0_VAL_0_SECTION = NONHIERLAYER_0_LEVEL_0_SECTION"]
    lines += ["[DATAFILE]", f"FILE_COUNT = {len(slide.files)}"]
    lines += [f"FILE_{file} = {name_data_file(file)}" for file in range(len(slide.files))]
    for level, values in enumerate(slide.levels):
        lines += [f"[{_name_section(level)}]", f"IMAGE_FORMAT = {slide.formats[level]}"]
        lines += [f"{key} = {value}" for key, value in values.items()]
    lines += ["[NONHIERLAYER_0_LEVEL_0_SECTION]"] if kept else []
    return "".join(f"{line}\r\n" for line in lines).encode("ascii")


def name_data_file(number: int) -> str:
    return f"Data{number:04d}.dat"


def _name_section(level: int) -> str:
    return f"LAYER_0_LEVEL_{level}_SECTION"
