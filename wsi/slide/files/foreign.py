"""Files that are often found next to slides and are not read: archives, other slide formats, documents.

Sources: the first bytes are those of file(1)'s magic and of each format's own description; suffixes without known first
bytes are those that Bio-Formats lists (https://docs.openmicroscopy.org/bio-formats/latest/supported-formats.html).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from pathlib import PurePosixPath
from typing import Final

from wsi.errors import RejectReason, SlideRejected

_EXPORT: Final = "export the slide as SVS, OME-TIFF or DICOM"


class ForeignKind(Enum):
    ARCHIVE = auto()  #: may hold a slide
    SLIDE_FORMAT = auto()  #: holds a slide or a part of one, in a format that is not read
    OTHER = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Foreign:
    """A kind of file that no reader opens."""

    what: str  #: with its article
    advice: str  #: what to do, as an imperative
    kind: ForeignKind = ForeignKind.OTHER
    magics: tuple[tuple[int, bytes], ...] = ()  #: offset and bytes; any of them
    suffixes: frozenset[str] = frozenset()  #: of a name in lower case
    is_tiff: bool = False  #: a TIFF whose suffix alone tells that its image is not the slide

    @property
    def sentence(self) -> str:
        return f"The file is {self.what}: {self.advice}."

    def make_error(self) -> SlideRejected:
        is_slide = self.kind is ForeignKind.SLIDE_FORMAT
        return SlideRejected(RejectReason.UNSUPPORTED_FORMAT if is_slide else RejectReason.NOT_A_SLIDE, self.sentence)


def _archive(what: str, *magics: tuple[int, bytes], suffixes: str) -> Foreign:
    return Foreign(
        what=what,
        advice="unpack it first",
        kind=ForeignKind.ARCHIVE,
        magics=magics,
        suffixes=frozenset(suffixes.split()),
    )


def _format(what: str, *magics: tuple[int, bytes], suffixes: str = "", is_tiff: bool = False) -> Foreign:
    return Foreign(
        what=what,
        advice=_EXPORT,
        kind=ForeignKind.SLIDE_FORMAT,
        magics=magics,
        suffixes=frozenset(suffixes.split()),
        is_tiff=is_tiff,
    )


def _other(what: str, *magics: tuple[int, bytes], suffixes: str = "", is_tiff: bool = False) -> Foreign:
    return Foreign(
        what=what,
        advice="send the file that the scanner wrote",
        magics=magics,
        suffixes=frozenset(suffixes.split()),
        is_tiff=is_tiff,
    )


#: The first entry that matches counts: an Office document is a ZIP archive as well.
FOREIGN: Final = (
    _format("the index of an Olympus slide, whose pixels are in .ets files", suffixes=".vsi", is_tiff=True),
    _other("a photograph as a camera stores it", suffixes=".cr2 .nef .dng .arw .pef .rw2 .orf .raf", is_tiff=True),
    _other("a document of an office program", suffixes=".xlsx .xlsm .xls .docx .doc .pptx .ppt .ods .odt .odp"),
    _other("an array of NumPy", (0, b"\x93NUMPY"), suffixes=".npz .npy"),
    _archive(
        "a ZIP archive", (0, b"PK\x03\x04"), (0, b"PK\x05\x06"), (0, b"PK\x07\x08"), suffixes=".zip .z01"
    ),
    _archive("compressed with gzip", (0, b"\x1f\x8b\x08"), suffixes=".gz .tgz"),
    _archive("compressed with bzip2", (0, b"BZh"), suffixes=".bz2 .tbz2"),
    _archive("compressed with xz", (0, b"\xfd7zXZ\0"), suffixes=".xz .txz .lzma"),
    _archive("compressed with Zstandard", (0, b"\x28\xb5\x2f\xfd"), suffixes=".zst .zstd"),
    _archive("compressed with LZ4", (0, b"\x04\x22\x4d\x18"), suffixes=".lz4"),
    _archive("compressed with compress", suffixes=".z"),
    _archive("a 7-Zip archive", (0, b"7z\xbc\xaf\x27\x1c"), suffixes=".7z .001"),
    _archive("a RAR archive", (0, b"Rar!\x1a\x07"), suffixes=".rar"),
    _archive("a tar archive", (257, b"ustar"), suffixes=".tar"),
    _archive("an image of a disc", suffixes=".iso .dmg"),
    _format("a Philips iSyntax slide", (0, b'<DataObject ObjectType="DPUfsImport"'), suffixes=".isyntax .i2syntax"),
    _format("the pixels of an Olympus slide", (0, b"SIS\0"), suffixes=".ets"),
    _format("a JPEG 2000 image", (0, b"\0\0\0\x0cjP  \r\n\x87\n"), (0, b"\xff\x4f\xff\x51"), suffixes=".jp2 .jpx .j2k"),
    # Old archives store it so (pydicom#503). Its first element is of group 8: a length, the character set, a class.
    _format(
        "DICOM without the header that a file needs (128 bytes, 'DICM' and the transfer syntax)",
        (0, b"\x08\0\0\0"), (0, b"\x08\0\x05\0"), (0, b"\x08\0\x08\0"), (0, b"\x08\0\x16\0"),
    ),
    _format("a Nikon ND2 image", (0, b"\xda\xce\xbe\x0a"), suffixes=".nd2"),
    _format("a Leica LIF image", suffixes=".lif .lof .xlef"),
    _format("an Imaris image", suffixes=".ims"),
    _format("a slide in the format of a scanner that is not read", suffixes=".sdpc .dyqx .kfb .kfbf .tmap .tmpx .mds"),
    _format("a Zeiss ZVI image", suffixes=".zvi"),
    _format("a list of slides that belong together", suffixes=".afi .ndpis"),
    _other("a document of an office program", (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")),
    _other("an HDF5 file", (0, b"\x89HDF\r\n\x1a\n"), suffixes=".h5 .hdf5"),
    _other("a PDF document", (0, b"%PDF-"), suffixes=".pdf"),
    _other("a JPEG image without levels", (0, b"\xff\xd8\xff"), suffixes=".jpg .jpeg"),
    _other("a PNG image", (0, b"\x89PNG\r\n\x1a\n"), suffixes=".png"),
    _other("a GIF image", (0, b"GIF8"), suffixes=".gif"),
    _other("a bitmap without levels", suffixes=".bmp"),
)  # fmt: skip


def find_foreign(head: bytes, name: str) -> Foreign | None:
    """Return the kind of a file that is neither TIFF nor DICOM, or None where nothing tells. `head` are its first
    bytes."""
    suffix = PurePosixPath(name).suffix.lower()
    for known in FOREIGN:
        if suffix in known.suffixes or any(head[at : at + len(magic)] == magic for at, magic in known.magics):
            return known
    return None


def find_foreign_tiff(name: str) -> Foreign | None:
    """Return the kind of a TIFF whose image is not the slide, by its name; None for any other name."""
    suffix = PurePosixPath(name).suffix.lower()
    return next((known for known in FOREIGN if known.is_tiff and suffix in known.suffixes), None)
