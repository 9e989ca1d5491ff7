"""Slides of a watched place that may be complete, and files that are left out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tessera.local_run.inputs.kinds import CLAIMING
from tessera.local_run.inputs.slide_input import Found, LeftOut, LeftOutReason, SlideInput
from tessera.local_run.inputs.temporary_names import is_temporary
from tessera.watching.arrivals import FileVersion, Sighting, hash_version

#: Files that may only be early: what they lack can still arrive.
_EARLY = frozenset(
    {
        LeftOutReason.EMPTY,
        LeftOutReason.MISSING_FILES,
        LeftOutReason.LABEL_OR_OVERVIEW,
        LeftOutReason.UNREADABLE,
        LeftOutReason.BROKEN_LINK,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrivedSlide:
    sighting: Sighting
    slide: SlideInput | None = None
    left_out: LeftOut | None = None  #: when it is no slide
    lacks: str | None = None  #: why it cannot be complete yet

    @property
    def location(self) -> str:
        return self.slide.location if self.slide is not None else self.left_out.location if self.left_out else ""


def find_candidates(found: Found, root: str, key_of: Callable[[SlideInput], str]) -> Mapping[str, ArrivedSlide]:
    """Return the slides that were found below `root` by their keys, and the left-out files by location. Files with a
    temporary name, and those in a folder with one, are not among them."""
    chosen: dict[str, ArrivedSlide] = {}
    for one in found.left_out:
        if not _is_being_written(one.location, root):
            chosen[one.location] = _other(one)
    for slide in found.slides:
        copying = sum(_is_being_written(file, root) for file in slide.files)
        if copying < len(slide.files):
            chosen[key_of(slide)] = _slide(slide, found, copying)
    return chosen


def count_being_written(found: Found, root: str) -> int:
    """Return the number of files that have a temporary name or are in a folder with one."""
    places = [*(file for slide in found.slides for file in slide.files), *(one.location for one in found.left_out)]
    return sum(_is_being_written(place, root) for place in places)


def _slide(slide: SlideInput, found: Found, copying: int) -> ArrivedSlide:
    entries = [(file, found.entries[file]) for file in slide.files]
    version = hash_version(FileVersion(name=name, size=entry.size, stamp=entry.stamp) for name, entry in entries)
    # Of a format of one file nothing arrives later, and S3 shows an object when all of it is there.
    whole = slide.is_remote and len(entries) == 1 and entries[0][1].suffix in CLAIMING
    lacks = f"{copying} of its {len(entries)} files have temporary names, as copies in progress do."
    return ArrivedSlide(
        slide=slide, sighting=Sighting(version=version, appears_whole=whole), lacks=lacks if copying else None
    )


def _other(one: LeftOut) -> ArrivedSlide:
    sighting = Sighting(version=f"left out: {one.reason.value}")
    return ArrivedSlide(left_out=one, sighting=sighting, lacks=one.sentence if one.reason in _EARLY else None)


def _is_being_written(location: str, root: str) -> bool:
    return any(is_temporary(part) for part in location.removeprefix(root).split("/"))
