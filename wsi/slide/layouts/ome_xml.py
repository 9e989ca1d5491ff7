"""The images of a TIFF, as its OME-XML describes them. It is read as a stream, so that its size bounds its cost; one
with a document type (the only way to define entities) is refused.

Source: OME data model 2016-06 and the OME-TIFF specification (docs.openmicroscopy.org/ome-model).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from wsi.slide.tiff import make_damaged_error

MAX_IMAGES = 1_000
MAX_PLANES = 100_000  #: channels, or places of planes, of all images

#: um; what other units there are (pixel, reference frame) say nothing of a size. A byte that was no UTF-8 arrives as
#: U+FFFD: the micro sign of a writer that believed in Latin-1.
_UNITS: Final = {
    "pm": 1e-6, "Å": 1e-4, "\u212b": 1e-4, "nm": 1e-3,
    "µm": 1.0, "\u03bcm": 1.0, "um": 1.0, "\ufffdm": 1.0,
    "mm": 1e3, "cm": 1e4, "dm": 1e5, "m": 1e6, "in": 25_400.0, "thou": 25.4,
}  # fmt: skip
_DEEPEST: Final = 5  #: OME, Image, Pixels, TiffData, UUID; anything deeper is annotation
_FLUORESCENT: Final = ("EmissionWavelength", "ExcitationWavelength", "Fluor")


@dataclass(slots=True)
class OmeChannel:
    name: str
    samples: int
    colour: int | None  #: 0xRRGGBBAA
    fluorescent: bool  #: says the wavelength of a light or the name of a dye


@dataclass(slots=True)
class OmePlanes:
    """The place of planes that follow each other (TiffData)."""

    directory: int | None
    channel: int
    count: int | None
    uuid: str | None = None  #: of the file that holds them, if stated


@dataclass(slots=True)
class OmeImage:
    name: str
    width: int = 0
    height: int = 0
    depth: int = 1  #: focal planes
    times: int = 1
    samples: int = 1  #: a pixel, in all channels together
    type: str = ""  #: "uint8", ...
    mpp_x: float | None = None
    mpp_y: float | None = None
    channels: list[OmeChannel] = field(default_factory=list[OmeChannel])
    planes: list[OmePlanes] = field(default_factory=list[OmePlanes])


@dataclass(slots=True)
class Ome:
    uuid: str | None = None  #: of this file
    elsewhere: bool = False  #: the description itself is in another file (BinaryOnly)
    images: list[OmeImage] = field(default_factory=list[OmeImage])


def parse(text: str) -> Ome:
    """Parse an OME-XML. Raises SlideRejected DAMAGED."""
    reader = _Reader()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_document_type
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(text.lstrip("\ufeff \r\n\t").encode(), True)
    except (expat.ExpatError, ValueError) as error:  # ValueError: a number that is none
        raise make_damaged_error("The OME description in the file is damaged.") from error
    return reader.ome


def _refuse_document_type(*_: object) -> None:
    raise make_damaged_error("The OME description in the file has a document type, which no OME writer makes.")


class _Reader:
    def __init__(self) -> None:
        self.ome = Ome()
        self._path: list[str] = []
        self._planes = 0
        self._uuid: list[str] | None = None

    def start(self, tag: str, values: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        self._path.append(name)
        images = self.ome.images
        if len(self._path) > _DEEPEST:
            return
        match self._path[1:]:
            case []:
                self.ome.uuid = values.get("UUID")
            case ["BinaryOnly"]:
                self.ome.elsewhere = True
            case ["Image"]:
                if len(images) == MAX_IMAGES:
                    raise make_damaged_error(
                        f"The OME description in the file lists more than {MAX_IMAGES:,} pictures."
                    )
                images.append(OmeImage(name=values.get("Name", "")))
            case ["Image", "Pixels"]:
                _read_pixels(images[-1], values)
            case ["Image", "Pixels", "Channel"]:
                self._count()
                images[-1].channels.append(_channel(values))
            case ["Image", "Pixels", "TiffData"]:
                self._count()
                images[-1].planes.append(
                    OmePlanes(_number(values, "IFD"), _number(values, "FirstC") or 0, _number(values, "PlaneCount"))
                )
            case ["Image", "Pixels", "TiffData", "UUID"]:
                self._uuid = []
            case _:
                pass

    def end(self, tag: str) -> None:
        self._path.pop()
        if self._uuid is not None:
            self.ome.images[-1].planes[-1].uuid = "".join(self._uuid).strip()
            self._uuid = None

    def text(self, text: str) -> None:
        if self._uuid is not None:
            self._uuid.append(text)

    def _count(self) -> None:
        self._planes += 1
        if self._planes > MAX_PLANES:
            raise make_damaged_error(f"The OME description in the file lists more than {MAX_PLANES:,} planes.")


def _read_pixels(image: OmeImage, values: dict[str, str]) -> None:
    sizes = [_number(values, f"Size{axis}") for axis in "XYZTC"]
    image.width, image.height, image.depth, image.times, image.samples = (size or 0 for size in sizes)
    image.type = values.get("Type", values.get("PixelType", ""))
    image.mpp_x, image.mpp_y = (_microns(values, f"PhysicalSize{axis}") for axis in "XY")


def _channel(values: dict[str, str]) -> OmeChannel:
    colour = values.get("Color")
    return OmeChannel(
        name=values.get("Name", "").strip(),
        samples=_number(values, "SamplesPerPixel") or 1,
        colour=int(colour) & 0xFFFFFFFF if colour else None,
        fluorescent=any(values.get(said) for said in _FLUORESCENT) or values.get("ContrastMethod") == "Fluorescence",
    )


def _number(values: dict[str, str], name: str) -> int | None:
    """Return a whole number, None when absent. Raises ValueError or SlideRejected."""
    said = values.get(name)
    if said is None:
        return None
    number = int(said)
    if not 0 <= number < 2**31:
        raise make_damaged_error("The OME description in the file holds a number that no picture can have.")
    return number


def _microns(values: dict[str, str], name: str) -> float | None:
    said, unit = values.get(name), _UNITS.get(values.get(f"{name}Unit", "µm").strip())
    size = float(said) * unit if said and unit else 0.0
    return size if math.isfinite(size) and size > 0 else None
