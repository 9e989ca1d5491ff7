"""De-identification of a slide: decided on its directories and headers alone, and checked by reading the result before
anything is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide.deidentification.clean_slide import CleanFile, CleanSlide, check_unharmed
from wsi.slide.deidentification.mirax.slide import clean_mirax
from wsi.slide.deidentification.overwrites import OverwrittenSource
from wsi.slide.deidentification.refusing import make_deidentification_error
from wsi.slide.deidentification.tiff_file import clean_tiff
from wsi.slide.files.choosing import FoundSlide, find_slide
from wsi.slide.files.parts import check_parts
from wsi.slide.files.recognition import MIRAX_SUFFIX, Container
from wsi.slide.files.source import SlideSource, put_first
from wsi.slide.layouts.registry import read_index
from wsi.slide.windows import CachedEndsSource

#: What the native reader says of files that another one reads: there is no place here to clean them in.
_ELSEWHERE: Final = frozenset(
    {RejectReason.UNSUPPORTED_FORMAT, RejectReason.UNSUPPORTED_COMPRESSION, RejectReason.DAMAGED}
)


def clean(source: SlideSource, *, choice: Choice | None = None, salt: bytes) -> CleanSlide:
    """Return the slide without what identifies somebody. The same slide and the same `salt` give the same bytes; UIDs
    cannot be traced back without it. Every level has the same tiles at the same places as before, and the same scale.
    Raises SlideRejected: CAN_NOT_DEIDENTIFY for what only OpenSlide reads but MIRAX, and what opening the slide raises;
    SourceError."""
    found = find_slide(source)
    if (
        found.container is Container.OTHER
        and PurePosixPath(found.files[found.opened][0]).suffix.lower() == MIRAX_SUFFIX
    ):
        check_parts(put_first(source, found.opened))
        return clean_mirax(found)
    if found.container is Container.OTHER:
        raise make_deidentification_error("The slide is of a format that keeps identifiers in places of its own")
    if found.container is Container.DICOM:
        from wsi.slide.deidentification.dicom.series import clean_series  # pydicom takes a third of a second

        return clean_series(found.files, choice=choice, salt=salt)
    return _clean_tiff(found, choice)


def _clean_tiff(found: FoundSlide, choice: Choice | None) -> CleanSlide:
    held = CachedEndsSource(found.file)
    try:
        before = read_index(held, choice)
    except SlideRejected as rejected:
        if rejected.reason not in _ELSEWHERE:
            raise
        raise make_deidentification_error(
            "The slide can be read only in ways that do not tell where its identifiers lie"
        ) from rejected
    suffix, overwrites, removed = clean_tiff(held, choice)
    check_unharmed(before, lambda: read_index(OverwrittenSource(held, overwrites)))
    named = CleanFile(found.opened, f"00000{suffix}", OverwrittenSource(found.file, overwrites))
    return CleanSlide((named,), replace(removed, files=len(found.files) - 1))
