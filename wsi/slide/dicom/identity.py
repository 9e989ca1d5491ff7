"""The identity of a DICOM file: what it is and which series it belongs to, read from its first elements.

Files are grouped into slides by `Identity.series`, whatever their names and folders:

    identity = read_identity(source)                      # one request of 64 KiB, mostly
    if identity is None: ...                              # no DICOM
    elif not identity.is_slide: ...                       # annotations, a DICOMDIR, a CT: no part of a slide
    else: series.setdefault(identity.series, []).append(file)

Label, overview and thumbnail belong to the series of their slide and are passed on with it; a series without any file
whose `is_level` is true holds no slide. An empty `series` means that the file does not tell: it is a slide of its own,
and opening it says why it cannot be read. Two files of the same `instance` are copies of one file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wsi.slide.dicom.buffered_range_reader import HEAD, BufferedRangeReader
from wsi.slide.dicom.fields import Fields, Wanted, read_fields
from wsi.slide.dicom.meta import SLIDE_CLASS, is_dicom, is_implicit_vr, read_meta
from wsi.slide.ranges import ByteRange, RangeSource

VOLUME: Final = "VOLUME"  #: third value of ImageType: a level; the others are LABEL, OVERVIEW and THUMBNAIL
IMAGE_TYPE: Final = 0x0008_0008
INSTANCE: Final = 0x0008_0018  #: SOPInstanceUID
STUDY: Final = 0x0020_000D  #: StudyInstanceUID
SERIES: Final = 0x0020_000E  #: SeriesInstanceUID
_WANTED: Final[Wanted] = {IMAGE_TYPE: None, INSTANCE: None, STUDY: None, SERIES: None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """The class, the UIDs and the kind of a DICOM file. Texts are empty where the file does not say. UIDs can lead to a
    patient: never log or show them."""

    sop_class: str
    study: str  #: StudyInstanceUID
    series: str  #: SeriesInstanceUID
    instance: str  #: SOPInstanceUID
    kind: str  #: of a slide's image: VOLUME, LABEL, OVERVIEW, THUMBNAIL or what a vendor wrote

    @property
    def is_slide(self) -> bool:
        """True if the file holds an image of a slide, of any kind."""
        return self.sop_class == SLIDE_CLASS

    @property
    def is_level(self) -> bool:
        """True if the file holds a level of the slide, or a part of one."""
        return self.is_slide and self.kind == VOLUME


def read_identity(source: RangeSource, head: bytes | None = None) -> Identity | None:
    """Return the identity of a DICOM file of any class; None for what is no DICOM by its first bytes.

    `head` are the file's first bytes, as many as the caller has; without them one request asks for 64 KiB. Raises
    SlideRejected DAMAGED or TRUNCATED for a DICOM file whose header cannot be read, SourceError.
    """
    if head is None or (len(head) < 132 and len(head) < source.size):
        head = source.read(ByteRange(0, min(HEAD, source.size))) if source.size else b""
    if not is_dicom(head):
        return None
    reader = BufferedRangeReader(source, head)
    meta = read_meta(reader)
    found = Fields()
    if meta.is_readable:
        implicit = is_implicit_vr(reader, meta)
        found, _ = read_fields(reader, meta.end, _WANTED, implicit=implicit, until=SERIES + 1)
    return Identity(
        sop_class=meta.sop_class,
        study=found.get_text(STUDY),
        series=found.get_text(SERIES),
        instance=found.get_text(INSTANCE) or meta.instance,
        kind=read_image_kind(found),
    )


def read_image_kind(fields: Fields) -> str:
    """Return the third value of ImageType; empty where there is none."""
    kinds = fields.get_texts(IMAGE_TYPE)
    return kinds[2].upper() if len(kinds) > 2 else ""
