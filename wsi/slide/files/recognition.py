"""The recognition of a file by its first bytes and the names of its siblings, before anything is copied or parsed."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, auto
from pathlib import PurePosixPath

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.dicom.meta import is_dicom
from wsi.slide.files.foreign import find_foreign, find_foreign_tiff
from wsi.slide.tiff import is_tiff

HEAD = 4_096  #: bytes that decide
MIRAX_SUFFIX = ".mrxs"
HAMAMATSU_SUFFIXES = (".vms", ".vmu")


class Container(Enum):
    TIFF = auto()
    DICOM = auto()
    OTHER = auto()  #: a format that only OpenSlide reads


def find_container(head: bytes, name: str) -> Container | None:
    """Return the kind of a file by its first bytes, and by its name where these fit several formats; None for a file
    that no slide is opened with."""
    suffix = PurePosixPath(name).suffix.lower()
    # Before TIFF: the Imaging Data Commons and Bio-Formats write files that are both, of which only the DICOM header
    # says whether the file is a level, the label or another image of the glass.
    if is_dicom(head):
        return Container.DICOM
    if is_tiff(head):
        return Container.TIFF if find_foreign_tiff(name) is None else None
    if suffix == MIRAX_SUFFIX and head.startswith(b"\xff\xd8"):
        return Container.OTHER
    if head.startswith((b"ZISRAWFILE", b"SQLite format 3\0")):
        return Container.OTHER
    if suffix in HAMAMATSU_SUFFIXES and head.lstrip().startswith(b"["):
        return Container.OTHER
    return None


def recognise(head: bytes, name: str, siblings: Collection[str]) -> Container:
    """Return the kind of a file that a slide is opened with. `siblings` are the names of the slide's other files,
    relative to the same folder as `name`. Raises SlideRejected NOT_A_SLIDE, UNSUPPORTED_FORMAT or MISSING_FILES."""
    container = find_container(head, name)
    if container is Container.OTHER and PurePosixPath(name).suffix.lower() == MIRAX_SUFFIX:
        stem = PurePosixPath(name).with_suffix("")
        if str(stem / "Slidedat.ini") not in siblings:
            raise SlideRejected(
                RejectReason.MISSING_FILES,
                "The .mrxs file is only the cover of a slide: send it together with the folder of .dat files of the "
                "same name.",
            )
    if container is not None:
        return container
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise SlideRejected(
            RejectReason.NOT_A_SLIDE,
            "The file is a web page, as a failed download leaves it: download the slide again.",
        )
    other = find_foreign_tiff(name) if is_tiff(head) else find_foreign(head, name)
    if other is not None:
        raise other.make_error()
    raise SlideRejected(
        RejectReason.NOT_A_SLIDE,
        "The file is not a whole-slide image: send the one that the scanner wrote (SVS, TIFF, NDPI, MRXS, SCN, DICOM).",
    )
