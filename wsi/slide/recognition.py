"""What a file is, from its first bytes and the names beside it, before anything is copied or parsed."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, auto
from pathlib import PurePosixPath

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.foreign import foreign, foreign_tiff
from wsi.slide.tiff import is_tiff

HEAD = 4_096  #: bytes that decide


class Container(Enum):
    TIFF = auto()
    DICOM = auto()
    OTHER = auto()  #: a format that only OpenSlide reads


def recognise(head: bytes, name: str, siblings: Collection[str]) -> Container:
    """`siblings` are the names of the slide's other files, relative to the same folder as `name`. Raises SlideRejected
    NOT_A_SLIDE or MISSING_FILES."""
    suffix = PurePosixPath(name).suffix.lower()
    # Before TIFF: the Imaging Data Commons and Bio-Formats write files that are both, of which only the DICOM header
    # says whether the file is a level, the label or another image of the glass.
    if head[128:132] == b"DICM":
        return Container.DICOM
    if is_tiff(head):
        if (other := foreign_tiff(name)) is not None:
            raise other.rejected()
        return Container.TIFF
    if suffix == ".mrxs" and head.startswith(b"\xff\xd8"):
        stem = PurePosixPath(name).with_suffix("")
        if str(stem / "Slidedat.ini") not in siblings:
            raise SlideRejected(
                RejectReason.MISSING_FILES,
                "The .mrxs file is only the cover of a slide: send it together with the folder of .dat files of the "
                "same name.",
            )
        return Container.OTHER
    if head.startswith((b"ZISRAWFILE", b"SQLite format 3\0")):
        return Container.OTHER
    if suffix in (".vms", ".vmu") and head.lstrip().startswith(b"["):
        return Container.OTHER
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise SlideRejected(
            RejectReason.NOT_A_SLIDE,
            "The file is a web page, as a failed download leaves it: download the slide again.",
        )
    if (other := foreign(head, name)) is not None:
        raise other.rejected()
    raise SlideRejected(
        RejectReason.NOT_A_SLIDE,
        "The file is not a whole-slide image: send the one that the scanner wrote (SVS, TIFF, NDPI, MRXS, SCN, DICOM).",
    )
