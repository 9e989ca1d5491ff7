"""The choice of the slide among the images of a file: images are grouped into pyramids, and the finest pyramid is
chosen.

A writer may store a thumbnail, a label or a macro first, leave out the flag that marks a smaller version, or store two
scans in one file. So neither the order nor the flag decides, but what each image says and measures. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice

_ROUNDING: Final = 2.0  #: px by which halving a side again and again, rounded each time, can miss
_LENIENT: Final = 0.02  #: of a side, for an image that the writer marks as a smaller version
_LEAST_STEP: Final = 1.4  #: between two levels of one pyramid that nothing but their shape joins; the least seen is 2
_SAME_SCALE: Final = 0.1  #: difference up to which two scales are the same
_COARSE: Final = 4.0  #: times the scale of the slide: what is coarser is an overview, not another scan
_SMALL: Final = 4  #: times shorter than the slide: what says no scale and is as small is no other scan …
_LARGE: Final = 2_048  #: … unless its longer side is longer, in px
_MOST_LISTED: Final = 10
_MOST_HALVINGS: Final = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredImage:
    """One image of a file, with what choosing needs of it."""

    number: int  #: in the file's order
    width: int  #: px
    height: int
    mpp: float | None = None  #: um per px of this image, where the file says it of this image alone
    is_tiled: bool = True
    is_reduced: bool = False  #: the file marks it as a smaller version of another image
    plane: float = 0.0  #: height of its focal plane in the file's unit; 0 is in focus
    tile: tuple[int, int] | None = None  #: width and height in px

    @property
    def area(self) -> int:
        return self.width * self.height

    @property
    def side(self) -> int:
        return max(self.width, self.height)


@dataclass(frozen=True, slots=True)
class ImagePyramid:
    """Images of one field of view, the largest first."""

    levels: tuple[StoredImage, ...]

    @property
    def base(self) -> StoredImage:
        return self.levels[0]

    def takes(self, image: StoredImage) -> bool:
        """Return whether `image` can be a level of it: same focal plane and field of view, and a size of its own."""
        base = self.base
        if image.plane != base.plane or not image.is_tiled or image.side >= base.side:
            return False
        if not shows_same_field(image, base) and len(_list_unpadded_sizes(image, base)) != 1:
            return False
        if image.is_reduced:
            return all(image.side != level.side for level in self.levels)
        apart = (max(image.side, level.side) / min(image.side, level.side) for level in self.levels)
        return min(apart) >= _LEAST_STEP and not _contradicts(image, base)


@dataclass(frozen=True, slots=True)
class ChosenPyramid:
    pyramid: ImagePyramid
    warnings: tuple[str, ...]


def shows_same_field(image: StoredImage, base: StoredImage) -> bool:
    """Return whether the proportions are equal within a rounded pixel of the smaller image; a marked one may miss by
    more, since scanners cut its last tiles."""
    wide = base.width >= base.height
    longer, shorter = (image.width, image.height) if wide else (image.height, image.width)
    expected = longer * min(base.width, base.height) / base.side
    allowed = max(_ROUNDING, _LENIENT * shorter) if image.is_reduced else _ROUNDING
    return abs(shorter - expected) <= allowed


def compute_unpadded_size(image: StoredImage, base: StoredImage) -> tuple[int, int]:
    """Return width and height in px of what `image` shows of `base`, without the padding of its last tiles.

    Some writers store whole tiles in every level (exports of Philips and Ventana: openslide#137, openslide#153), so
    that sizes say nothing of the scale between levels. Each of these is a power of two smaller than the base.
    """
    found = _list_unpadded_sizes(image, base)
    return found[0] if len(found) == 1 else (image.width, image.height)


def _list_unpadded_sizes(image: StoredImage, base: StoredImage) -> list[tuple[int, int]]:
    """Return every size that is padded to the tiles of `image`. There is none where its size is the scale's own, and
    several where it is so small that nothing tells the scale."""
    if image.tile is None or base.tile is None or base.width % base.tile[0] or base.height % base.tile[1]:
        return []
    found: list[tuple[int, int]] = []
    for halvings in range(1, _MOST_HALVINGS):
        size = -(-base.width // 2**halvings), -(-base.height // 2**halvings)
        filled = tuple(-(-side // tile) * tile for side, tile in zip(size, image.tile, strict=True))
        if max(abs(image.width - size[0]), abs(image.height - size[1])) <= _ROUNDING:
            return []
        if filled == (image.width, image.height):
            found.append(size)
    return found


def find_pyramids(images: Sequence[StoredImage]) -> tuple[ImagePyramid, ...]:
    """Return every image in exactly one pyramid, in the order in which the file stores their largest images.

    An image joins the pyramid whose base precedes it most closely, else one whose base follows it.
    """
    pyramids: list[ImagePyramid] = []
    for image in sorted(images, key=lambda one: (-one.side, -one.area, one.number)):
        fitting = [place for place, pyramid in enumerate(pyramids) if pyramid.takes(image)]
        if not fitting:
            pyramids.append(ImagePyramid((image,)))
            continue
        place = min(fitting, key=lambda each: _distance(image, pyramids[each].base))
        pyramids[place] = ImagePyramid((*pyramids[place].levels, image))
    return tuple(sorted(pyramids, key=lambda pyramid: pyramid.base.number))


def choose_plane(images: Sequence[StoredImage], choice: Choice | None) -> tuple[Sequence[StoredImage], tuple[str, ...]]:
    """Return the images of the focal plane that the user chose, counted upwards from 1, or else of the one at height 0;
    and warnings. Raises SlideRejected Z_STACK, NO_SUCH_CHOICE."""
    largest = max(image.side for image in images)
    planes = sorted({image.plane for image in images if image.side * _LEAST_STEP > largest})
    number = choice.focal_plane if choice is not None else None
    if len(planes) == 1:
        if number is not None:
            raise SlideRejected(
                RejectReason.NO_SUCH_CHOICE, "The slide holds one plane of focus: leave the choice of a plane out."
            )
        return images, ()
    if number is None and 0.0 not in planes:
        raise SlideRejected(
            RejectReason.Z_STACK,
            f"The slide holds {len(planes):,} planes of focus and none at height 0: with the slide, choose one of "
            f"planes 1 to {len(planes):,}, from the glass upwards (`focal_plane`).",
        )
    if number is not None and number > len(planes):
        raise SlideRejected(
            RejectReason.NO_SUCH_CHOICE, f"The slide holds planes of focus 1 to {len(planes):,}: choose one of them."
        )
    plane = 0.0 if number is None else planes[number - 1]
    told = (f"The file holds {len(planes):,} planes of focus; the one at height 0 is read.",) if number is None else ()
    return [image for image in images if image.plane == plane], told


def choose_pyramid(pyramids: Sequence[ImagePyramid], choice: Choice | None) -> ChosenPyramid:
    """Return the one that the user chose by its number, or the only fine one. All are of one focal plane. Raises
    SlideRejected SEVERAL_PICTURES with the list where several are fine, NO_SUCH_CHOICE."""
    if choice is not None and choice.picture is not None:
        if len(pyramids) == 1:
            raise make_one_image_error()
        if choice.picture > len(pyramids):
            raise SlideRejected(
                RejectReason.NO_SUCH_CHOICE,
                f"The file holds {_describe_pyramids(pyramids, range(len(pyramids)))}: choose one.",
            )
        chosen = choice.picture - 1
    else:
        finest = _finest(pyramids)
        fine = [place for place in range(len(pyramids)) if _is_fine(pyramids[place], pyramids[finest])]
        if len(fine) > 1:
            raise SlideRejected(
                RejectReason.SEVERAL_PICTURES,
                f"The file holds {len(fine)} scans, and models expect one: choose one of "
                f"{_describe_pyramids(pyramids, fine)} (`picture`).",
            )
        chosen = finest
    others = [place for place in range(len(pyramids)) if place != chosen]
    warnings = (f"The file also holds {_describe_pyramids(pyramids, others)}, which is not read.",) if others else ()
    return ChosenPyramid(pyramids[chosen], warnings)


def make_one_image_error() -> SlideRejected:
    """Return the refusal of a choice where there is none: the same question has one spelling (decision 53)."""
    return SlideRejected(RejectReason.NO_SUCH_CHOICE, "The file holds one image: leave the choice of an image out.")


def _contradicts(image: StoredImage, base: StoredImage) -> bool:
    """Return whether both scales are known and not in the ratio of the sizes: the image shows another area."""
    if image.mpp is None or base.mpp is None:
        return False
    return abs(math.log(image.mpp / base.mpp * image.side / base.side)) > _SAME_SCALE


def _distance(image: StoredImage, base: StoredImage) -> tuple[bool, int]:
    """Return a sort key: whether the base follows the image in the file, and the number of images between."""
    return base.number > image.number, abs(base.number - image.number)


def _finest(pyramids: Sequence[ImagePyramid]) -> int:
    """Return the place of the one with the finest scale, or of the largest where scales are equal or not all known."""
    scales = [pyramid.base.mpp for pyramid in pyramids if pyramid.base.mpp is not None]
    places = range(len(pyramids))
    if len(scales) == len(pyramids):
        finest = min(scales) * (1 + _SAME_SCALE)
        places = [place for place in places if (pyramids[place].base.mpp or math.inf) <= finest]
    return max(places, key=lambda place: pyramids[place].base.area)


def _is_fine(pyramid: ImagePyramid, finest: ImagePyramid) -> bool:
    """Return whether it may be another scan: no overview by its scale or size, and not one more image of the same
    field."""
    if pyramid is finest:
        return True
    image, base = pyramid.base, finest.base
    if image.is_reduced and not base.is_reduced:
        return False
    is_smaller = image.side * _LEAST_STEP <= base.side and (
        shows_same_field(image, base) or _list_unpadded_sizes(image, base)
    )
    if len(pyramid.levels) == 1 and is_smaller:
        return False
    if image.mpp is not None and base.mpp is not None:
        return image.mpp < _COARSE * base.mpp
    return image.side * _SMALL > base.side or image.side > _LARGE


def _describe_pyramids(pyramids: Sequence[ImagePyramid], places: Sequence[int]) -> str:
    told = [_describe_image(place + 1, pyramids[place].base) for place in places[:_MOST_LISTED]]
    more = len(places) - len(told)
    return ", ".join(told) + f" and {more:,} more" * (more > 0)


def _describe_image(number: int, image: StoredImage) -> str:
    scale = f", {image.mpp:.4g} um per pixel" if image.mpp is not None else ""
    tiles = "" if image.is_tiled else ", without tiles"
    return f"image {number} ({image.width:,} x {image.height:,} px{scale}{tiles})"
