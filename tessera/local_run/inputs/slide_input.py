"""The results of a search for slides: the slides, and the files left out with the reasons."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

from tessera.local_run.inputs.listing import FileEntry
from wsi.records.slides import Choice

_NAMED = 3  #: slides or files that a message lists


class UsageError(Exception):
    """The command was called wrongly. One sentence; nothing has run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideInput:
    location: str  #: what the slide is known by: a path or an s3:// URL, of a DICOM series mostly its folder or prefix
    files: tuple[str, ...] = ()  #: all files of the slide, the opened one first; empty: as `local_source` finds them
    name: str = ""  #: of the output folder; unique within a run
    mpp: float | None = None  #: microns per level-0 px that the user states
    choice: Choice | None = None  #: of the images that the slide holds
    region: tuple[int, int, int, int] | None = None  #: x, y, width, height in level-0 px

    @property
    def is_remote(self) -> bool:
        return self.location.startswith("s3://")


class LeftOutReason(StrEnum):
    """The reason why a file in a searched folder is not analysed. Stable: printed by the command line."""

    HIDDEN = "hidden"  #: hidden and system files
    EMPTY = "empty"
    INCOMPLETE = "incomplete"  #: another program is still writing it, or stopped doing so
    ARCHIVE = "archive"  #: it may hold a slide
    UNSUPPORTED_FORMAT = "unsupported_format"  #: a slide, or a part of one, that no reader opens
    NOT_A_SLIDE = "not_a_slide"
    LABEL_OR_OVERVIEW = "label_or_overview"  #: a DICOM series without the slide itself
    MISSING_FILES = "missing_files"  #: parts of a slide whose main file is not there
    DUPLICATE = "duplicate"
    OWN_RESULT = "own_result"
    BROKEN_LINK = "broken_link"
    UNREADABLE = "unreadable"
    NOT_SEARCHED = "not_searched"  #: a folder


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    location: str  #: the file or folder, as the user named it or the folder that holds it
    reason: LeftOutReason
    sentence: str  #: for people
    files: int = 1  #: 0 for a folder that was not searched


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Every file that was found is either part of exactly one slide (or of the same slide with another region) or left
    out."""

    slides: tuple[SlideInput, ...]  #: each with a name of its own, in the order given
    left_out: tuple[LeftOut, ...] = ()
    #: by location, the files of all slides, as far as they were listed: a change of size or stamp is another content
    entries: Mapping[str, FileEntry] = field(default_factory=dict[str, FileEntry])
    notes: tuple[str, ...] = ()  #: sentences about names that were read as others

    @property
    def files_of_slides(self) -> int:
        return len({file for slide in self.slides for file in (slide.files or (slide.location,))})

    @property
    def files_left_out(self) -> int:
        return sum(one.files for one in self.left_out)


def get_only_slide(named: str, found: Found) -> SlideInput:
    """Return the one slide that was found. Raises UsageError unless there is exactly one."""
    if len(found.slides) != 1:
        names = describe_names([slide.location for slide in found.slides])
        raise UsageError(f"{named} holds {len(found.slides)} slides ({names}); name one of them")
    return found.slides[0]


def describe_names(names: Sequence[str], most: int = _NAMED) -> str:
    """Return the first names and how many more there are: "a, b, c and 7 more"."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def get_place(slide: SlideInput) -> PurePosixPath:
    """Return the absolute path that the slide is known by. Links are not followed: results carry the user's names."""
    if slide.is_remote:
        return PurePosixPath(slide.location.removeprefix("s3:/"))
    return PurePosixPath(Path(os.path.abspath(slide.location)).as_posix())  # noqa: PTH100  # resolve() follows links


def collect_locations(slides: Iterable[SlideInput]) -> frozenset[str]:
    """Return all files of the slides."""
    return frozenset(file for slide in slides for file in (slide.files or (slide.location,)))
