"""Files that are no slides are refused with what they are and what to do."""

from __future__ import annotations

import pytest

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.files.foreign import FOREIGN, find_foreign
from wsi.slide.files.recognition import Container, recognise

TIFF = b"II*\0" + bytes(200)
DICOM = bytes(128) + b"DICM" + bytes(100)


@pytest.mark.parametrize(
    ("head", "name", "reason", "said"),
    [
        (b"PK\x03\x04", "case.svs.zip", RejectReason.NOT_A_SLIDE, "a ZIP archive: unpack it first"),
        (b"PK\x03\x04", "case", RejectReason.NOT_A_SLIDE, "a ZIP archive: unpack it first"),
        (b"PK\x03\x04", "list.xlsx", RejectReason.NOT_A_SLIDE, "a document of an office program"),
        (b"\x1f\x8b\x08", "case.svs", RejectReason.NOT_A_SLIDE, "compressed with gzip: unpack it first"),
        (b"\xff\xd8\xff\xe0", "label", RejectReason.NOT_A_SLIDE, "a JPEG image"),
        (b'<DataObject ObjectType="DPUfsImport">', "case", RejectReason.UNSUPPORTED_FORMAT, "iSyntax"),
        (TIFF, "Image.VSI", RejectReason.UNSUPPORTED_FORMAT, "whose pixels are in .ets files"),
        (TIFF, "photo.NEF", RejectReason.NOT_A_SLIDE, "a photograph"),
    ],
)
def test_the_message_says_what_the_file_is(head: bytes, name: str, reason: RejectReason, said: str) -> None:
    with pytest.raises(SlideRejected, match=said) as caught:
        recognise(head, name, ())
    assert caught.value.reason is reason
    assert name not in caught.value.sentence


@pytest.mark.parametrize("name", ["case.jp2", "case.zip", "case.isyntax", "case.pdf"])
def test_first_bytes_of_a_slide_win_over_a_suffix(name: str) -> None:
    assert recognise(TIFF, name, ()) is Container.TIFF
    assert recognise(DICOM, name, ()) is Container.DICOM


def test_text_of_no_known_kind_is_nothing_in_particular() -> None:
    assert find_foreign(b"a,b,c", "table.csv") is None


def test_every_kind_reads_as_one_message() -> None:
    assert all(kind.sentence.startswith("The file is ") and kind.sentence.endswith(".") for kind in FOREIGN)
