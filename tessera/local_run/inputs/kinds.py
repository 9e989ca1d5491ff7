"""The kind of a file, from its first bytes; its name counts where it claims to be a slide, so that a damaged slide is
rejected and not left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from tessera.local_run.inputs.listing import FileEntry, Trouble
from tessera.local_run.inputs.slide_input import LeftOutReason
from tessera.local_run.inputs.temporary_names import is_temporary
from wsi.errors import RejectReason, SlideRejected
from wsi.slide.files.foreign import ForeignKind, find_foreign
from wsi.slide.files.recognition import Container, recognise

if TYPE_CHECKING:
    from wsi.slide.dicom.identity import Identity  # pydicom, which its package loads, takes a third of a second

MIRAX = ".mrxs"
HAMAMATSU: Final = frozenset({".vms", ".vmu"})
DICOM: Final = frozenset({".dcm", ".dicom"})
#: A file of such a name is a slide: what its bytes lack is for its reader to say.
CLAIMING: Final = frozenset(
    {".svs", ".tif", ".tiff", ".btf", ".tf2", ".tf8", ".qptiff", ".ndpi", ".scn", ".bif", ".svslide", ".czi"}
)
#: Our own output: a folder of results below the input folder holds no slide.
RESULT_NAMES: Final = frozenset(
    {"heatmap.ome.tif", "tiles.csv", "tiles.geojson.gz", "tissue.png", "tile_quality.csv", "summary.json"}
)
_SYSTEM: Final = re.compile(r"\..*|~\$.*|thumbs\.db|ehthumbs\.db|desktop\.ini|icon\r", re.IGNORECASE)
#: Thumbnails and deleted files of NAS systems and Windows, and what macOS puts into archives.
_SYSTEM_FOLDERS: Final = frozenset(
    {"@eadir", "#recycle", "$recycle.bin", "system volume information", "lost+found", "__macosx"}
)
_SQLITE: Final = b"SQLite format 3\0"


class FileKind(Enum):
    WHOLE = auto()  #: one file, one slide
    MIRAX = auto()  #: the cover; the pixels are in the folder of the same name
    HAMAMATSU = auto()  #: a list of files
    DICOM = auto()  #: a file of a series
    LEFT_OUT = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """Facts that the first bytes of a file tell."""

    kind: FileKind
    reason: LeftOutReason | None = None  #: of LEFT_OUT
    sentence: str = ""  #: of LEFT_OUT, for people
    identity: Identity | None = None  #: of DICOM; None where its header is damaged
    parts: frozenset[str] = frozenset()  #: of HAMAMATSU: the names in the list


def is_system(name: str) -> bool:
    """Return whether systems and office programs put files of this name next to others."""
    return _SYSTEM.fullmatch(name) is not None


def is_system_folder(name: str) -> bool:
    """Return whether a folder of this name is hidden, or holds what systems keep next to files."""
    return name.startswith(".") or name.lower() in _SYSTEM_FOLDERS


def is_dicom(head: bytes) -> bool:
    return head[128:132] == b"DICM"


def make_left_out(reason: LeftOutReason, sentence: str) -> Facts:
    return Facts(kind=FileKind.LEFT_OUT, reason=reason, sentence=sentence)


def classify_by_name(entry: FileEntry) -> Facts | None:
    """Return the facts of a file that need not be read, or None."""
    if is_system(entry.name):
        return make_left_out(LeftOutReason.HIDDEN, "Hidden and system files hold no slide.")
    if entry.name in RESULT_NAMES:
        return make_left_out(LeftOutReason.OWN_RESULT, "The file is a result of an analysis.")
    if entry.suffix == MIRAX:
        return Facts(kind=FileKind.MIRAX)
    if entry.trouble is None and entry.size:
        return None
    if (claimed := _classify_by_suffix(entry)) is not None:
        return claimed
    if entry.trouble is Trouble.BROKEN_LINK:
        return make_left_out(LeftOutReason.BROKEN_LINK, "The link leads nowhere.")
    if entry.trouble is Trouble.NOT_A_FILE:
        return make_left_out(LeftOutReason.UNREADABLE, "It is a pipe, a socket or a device, and no file.")
    return make_left_out(LeftOutReason.EMPTY, "The file is empty.")


def classify_by_head(entry: FileEntry, head: bytes, identity: Identity | None = None) -> Facts:
    """Return the facts of a file that begins with `head`; `identity` is that of a DICOM file."""
    if entry.suffix in HAMAMATSU:
        return Facts(kind=FileKind.HAMAMATSU, parts=_parts(head))
    try:
        container = recognise(head, entry.name, ())
    except SlideRejected as rejected:
        return _classify_by_suffix(entry) or _foreign(entry, head, rejected)
    if container is Container.DICOM:  # a file of a series that is still being copied belongs to it all the same
        return _dicom(identity)
    if is_temporary(entry.name):
        return make_left_out(LeftOutReason.INCOMPLETE, "Its name is that of a download or a copy that is not complete.")
    if head.startswith(_SQLITE) and entry.suffix not in CLAIMING:
        return make_left_out(LeftOutReason.NOT_A_SLIDE, "The file is a database and not named as a slide (.svslide).")
    return Facts(kind=FileKind.WHOLE)


def classify_unreadable(entry: FileEntry) -> Facts:
    """Return the facts of a file whose first bytes cannot be read."""
    return _classify_by_suffix(entry) or make_left_out(
        LeftOutReason.UNREADABLE, "The file cannot be read: check who may read it."
    )


def _classify_by_suffix(entry: FileEntry) -> Facts | None:
    if entry.suffix in DICOM:
        return Facts(kind=FileKind.DICOM)
    if entry.suffix in HAMAMATSU:
        return Facts(kind=FileKind.HAMAMATSU)
    return Facts(kind=FileKind.WHOLE) if entry.suffix in CLAIMING else None


def _foreign(entry: FileEntry, head: bytes, rejected: SlideRejected) -> Facts:
    other = find_foreign(head, entry.name)
    if other is not None and other.kind is ForeignKind.ARCHIVE:
        return make_left_out(LeftOutReason.ARCHIVE, rejected.sentence)
    if rejected.reason is RejectReason.UNSUPPORTED_FORMAT:
        return make_left_out(LeftOutReason.UNSUPPORTED_FORMAT, rejected.sentence)
    return make_left_out(LeftOutReason.NOT_A_SLIDE, other.sentence if other else "The file is no whole-slide image.")


def _dicom(identity: Identity | None = None) -> Facts:
    if identity is not None and not identity.is_slide:
        return make_left_out(LeftOutReason.NOT_A_SLIDE, "The file is DICOM, but holds no whole-slide image.")
    return Facts(kind=FileKind.DICOM, identity=identity)


def _parts(head: bytes) -> frozenset[str]:
    """Return all values of the list: names of files are among them."""
    lines = head.decode("utf-8", errors="replace").splitlines()
    return frozenset(value for line in lines if (value := line.partition("=")[2].strip()))
