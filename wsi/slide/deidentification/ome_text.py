"""An OME description that names one image, its size and its scale, and nothing else. It is rebuilt from what was parsed
of the file's own, so that nothing else can come along. Source: OME data model 2016-06."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from xml.sax.saxutils import quoteattr

from wsi.slide.layouts.ome_xml import OmeChannel, OmeImage

_NAMESPACE: Final = "http://www.openmicroscopy.org/Schemas/OME/2016-06"
#: Names of channels that say a colour. Any other may be somebody's.
_COLOURS: Final = frozenset({"red", "r", "green", "g", "blue", "b", "grey", "gray", "brightfield", "bf"})


def build_description(image: OmeImage, places: Sequence[int]) -> bytes:
    """Build the OME-XML of `image`. `places` are the numbers of its pages: one that holds all samples, or one a
    channel."""
    pixels = {
        "ID": "Pixels:0",
        "DimensionOrder": "XYCZT",
        "Type": "uint8",
        "SizeX": image.width,
        "SizeY": image.height,
        "SizeC": image.samples,
        "SizeZ": 1,
        "SizeT": 1,
        **({"PhysicalSizeX": repr(image.mpp_x)} if image.mpp_x is not None else {}),
        **({"PhysicalSizeY": repr(image.mpp_y)} if image.mpp_y is not None else {}),
    }
    inside = [_tag("Channel", _channel(number, each)) for number, each in enumerate(_channels(image, len(places)))]
    inside += [
        _tag("TiffData", {"IFD": place, "FirstC": number, "PlaneCount": 1}) for number, place in enumerate(places)
    ]
    body = "".join(inside)
    return (
        f'<OME xmlns="{_NAMESPACE}"><Image ID="Image:0"><Pixels{_attributes(pixels)}>{body}</Pixels></Image></OME>'
    ).encode("ascii")


def _channels(image: OmeImage, pages: int) -> Sequence[OmeChannel]:
    """Return the channels of `image`. Writers that list none mean one for all samples of a page."""
    if image.channels:
        return image.channels
    return [OmeChannel("", image.samples // pages, None, fluorescent=False)] * pages


def _channel(number: int, channel: OmeChannel) -> dict[str, object]:
    named = {"Name": channel.name} if channel.name.lower() in _COLOURS else {}
    # OME writes 0xRRGGBBAA as a signed whole number.
    coloured = {} if channel.colour is None else {"Color": channel.colour - (channel.colour >> 31 << 32)}
    return {"ID": f"Channel:0:{number}", **named, "SamplesPerPixel": channel.samples, **coloured}


def _tag(name: str, values: Mapping[str, object]) -> str:
    return f"<{name}{_attributes(values)}/>"


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in values.items())
