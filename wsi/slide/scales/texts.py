"""The texts in which scanners, converters and viewers state a scale, one row for each kind.

A field counts from its beginning to its end: "MacroMPP = 5" is another field, and of "MPP = 0.25 furlongs" nothing is
read. What looks like a scale and is not read is quoted instead (`quotes`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from wsi.slide.mpp import is_possible
from wsi.slide.scales.numbers import MICRON, NUMBER, UNIT, find_microns, parse_positive

_BEGIN: Final = r"(?:^|[|;,{(<>\"'\r\n])[ \t]{0,8}"
#: " = ", ": ", and the marks of XML and JSON between a field's name and its value.
_IS: Final = r"[\"']?\s{0,4}[=:>]\s{0,4}[\"']?"
_PER_PIXEL: Final = r"\s{0,2}(?:/|per)\s{0,2}(?:pixels?|pix|px)"
_END: Final = r"[\"']?(?=[\s.]{0,8}(?:$|[|;\r\n\"'<>)\]}&]|,(?!\s{0,4}[\d.])))"
_VALUE: Final = rf"(?P<number>{NUMBER})(?:\s{{0,4}}(?P<unit>{UNIT})(?:{_PER_PIXEL})?)?{_END}"
_AXIS: Final = r"(?:[ _-]?(?P<axis>[xy]))?"
_QUOTE: Final = r"(?:\"|&quot;)?"


@dataclass(frozen=True, slots=True)
class ScaleText:
    """One kind of text. The pattern has the group `number`; it may have `unit`, `axis` (x or y), and `down`, a second
    number for the vertical axis."""

    source: str  #: the source's name in results
    writers: str  #: who writes it, for docs/reference/formats.md
    example: str  #: of 0.25 um per px, for docs/reference/formats.md
    pattern: re.Pattern[str]
    unit: float | None = 1.0  #: um in a number without a unit; None: such a number does not count
    inherited: bool = False  #: copied from the slide that the file was made from, which may have had another scale
    alone: bool = False  #: counts only where the text holds no other scale of this kind
    possible: bool = False  #: counts only where a scanner can have it, as the unit is not documented


def _field(name: str, begin: str = _BEGIN) -> re.Pattern[str]:
    return re.compile(rf"{begin}{name}{_IS}{_VALUE}", re.IGNORECASE)


SCALE_TEXTS: Final = (
    # Aperio, Grundium, Motic, Mikroscan, 3DHISTECH: github.com/imi-bigpicture/opentile/blob/main/tests/test_metadata.py
    ScaleText("aperio", "Aperio, Grundium, Motic, Mikroscan, KFBIO, 3DHISTECH", "MPP = 0.2500", _field(rf"MPP{_AXIS}")),
    # "3dh_PixelSizeX = 0.2325" beside "MPP = 0.2325": opentile/formats/histech/histech_tiff_metadata.py
    ScaleText(
        "3dhistech",
        "3DHISTECH",
        "3dh_PixelSizeX = 0.25; 3dh_PixelSizeY = 0.25",
        _field(rf"3dh_PixelSize{_AXIS}"),
        possible=True,
    ),
    # "Resolution = 0.40 um": opentile/formats/huron/huron_tiff_metadata.py; "Resolution = 300" are dots per inch.
    ScaleText("huron", "Huron", "Resolution = 0.25 um", _field("(?:scan )?resolution"), unit=None),
    # <iScan … ScanRes="0.25">: openslide.org/formats/ventana
    ScaleText("ventana", "Ventana, in XMP", 'ScanRes="0.25"', _field("ScanRes", begin=r"(?<![\w.-])")),
    # mm down, then across; the first entry is level 0's: openslide.org/formats/philips
    ScaleText(
        "philips",
        "Philips",
        'Name="DICOM_PIXEL_SPACING">"0.00025" "0.00025"<',
        re.compile(
            rf"DICOM_PIXEL_SPACING\"[^<>]{{0,200}}>\s{{0,8}}{_QUOTE}(?P<down>{NUMBER}){_QUOTE}[\s\\]{{1,8}}"
            rf"{_QUOTE}(?P<number>{NUMBER}){_QUOTE}\s{{0,8}}<"
        ),
        unit=1e3,
    ),
    # Scripts of users write "MicronsPerPixel: 0.25" and "um_per_px=0.25".
    ScaleText(
        "description", "scripts", "MicronsPerPixel: 0.25", _field(rf"{MICRON}[ _-]?per[ _-]?(?:pixel|px){_AXIS}")
    ),
    # Micro-Manager's "PixelSizeUm" and "PixelSize_um": micro-manager.org/Micro-Manager_File_Formats
    ScaleText(
        "description", "Micro-Manager", "PixelSizeUm: 0.25", _field(rf"pixel[ _-]?size[ _-]?um{_AXIS}"), alone=True
    ),
    ScaleText(
        "description",
        "scripts",
        "Pixel size = 250 nm",
        _field(rf"(?:physical[ _-]?)?pixel[ _-]?(?:size|width|spacing){_AXIS}"),
        unit=None,
    ),
    # Tecmed's "Scan resolution 0.274 \xb5m/Pix" in an Aperio header: opentile/tests/test_metadata.py
    ScaleText(
        "description",
        "Tecmed, in an Aperio header",
        "0.25 um/Pix",
        re.compile(rf"(?<![\w.,+-])(?P<number>{NUMBER})\s{{0,4}}(?P<unit>{UNIT}){_PER_PIXEL}{_END}", re.IGNORECASE),
        alone=True,
    ),
    # The nominal scale in Akoya's profile of a scan; the tags have the measured one (opentile/formats/qptiff).
    ScaleText(
        "akoya",
        "Akoya and PerkinElmer",
        "<ScanResolution><PixelSizeMicrons>0.25<",
        _field(r"ScanResolution[^<>]{0,80}>\s{0,80}<PixelSizeMicrons"),
        inherited=True,
    ),
    # What OpenSlide told libvips of the slide; the tags said 1 px/mm before libvips 8.10 (libvips#1856, pyvips#517).
    ScaleText(
        "libvips",
        "libvips, of the slide that it read",
        "".join(f"openslide.mpp-{axis}</name><value>0.25</value> " for axis in "xy").strip(),
        re.compile(rf"openslide\.mpp-(?P<axis>[xy])</name>\s{{0,80}}<value[^<>]{{0,80}}>(?P<number>{NUMBER})<"),
        inherited=True,
    ),
)


def read(row: ScaleText, text: str) -> tuple[tuple[float, float], ...]:
    """Return every different scale (across, down; um per px) that `text` states in this way, in the text's order."""
    both: list[tuple[float, float]] = []
    along: dict[str, list[float]] = {"x": [], "y": []}
    for match in row.pattern.finditer(text):
        groups = match.groupdict()
        um = find_microns(groups["unit"]) if groups.get("unit") else row.unit
        values = [parse_positive(groups[name]) for name in ("number", "down") if groups.get(name)]
        if um is None or None in values:
            continue
        scale = [value * um for value in values if value is not None]
        axis = (groups.get("axis") or "").lower()
        if axis:
            along[axis].append(scale[0])
        else:
            both.append((scale[0], scale[-1]))
    found = tuple(dict.fromkeys((*both, *zip(along["x"], along["y"], strict=False))))
    if row.possible:
        found = tuple(scale for scale in found if all(map(is_possible, scale)))
    return found if len(found) == 1 or not row.alone else ()
