"""What a file is, by its first bytes; every file that is left out says why."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

from tessera.local_run.inputs import LeftOutReason, UsageError, expand
from tessera.local_run.inputs.folders import read_entry
from tessera.local_run.inputs.looking import Looking
from tests.tessera.local_run.inputs.places import TIFF, names, write


def zipped() -> bytes:
    with zipfile.ZipFile(data := io.BytesIO(), "w") as archive:
        archive.writestr("a.svs", TIFF)
    return data.getvalue()


def tarred() -> bytes:
    with tarfile.open(fileobj=(data := io.BytesIO()), mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.svs"), io.BytesIO())
    return data.getvalue()


ARCHIVES = {
    "a.zip": zipped(),
    "a": zipped(),
    "b.tar": tarred(),
    "b": tarred(),
    "c.svs.gz": gzip.compress(TIFF),
    "c": gzip.compress(TIFF),
    "d.bz2": bz2.compress(TIFF),
    "e.xz": lzma.compress(TIFF),
    "f.zst": b"\x28\xb5\x2f\xfd\0",
    "f": b"\x28\xb5\x2f\xfd\0",
    "g.7z": b"7z\xbc\xaf\x27\x1c\0\4",
    "h.rar": b"Rar!\x1a\x07\1\0",
    "i.tgz": b"",
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_or_a_compressed_slide_says_so(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(ARCHIVES[name] or b"?")
    write(tmp_path, "slide.svs")
    (one,) = expand([str(tmp_path)]).left_out
    assert one.reason is LeftOutReason.ARCHIVE
    assert one.sentence.endswith(": unpack it first.")


OTHERS = {
    "a.xlsx": (zipped(), LeftOutReason.NOT_A_SLIDE, "a document of an office program"),
    "a.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", LeftOutReason.NOT_A_SLIDE, "a document of an office program"),
    "label.jpg": (b"\xff\xd8\xff\xe0", LeftOutReason.NOT_A_SLIDE, "a JPEG image without levels"),
    "label": (b"\xff\xd8\xff\xe0", LeftOutReason.NOT_A_SLIDE, "a JPEG image without levels"),
    "a.png": (b"\x89PNG\r\n\x1a\n", LeftOutReason.NOT_A_SLIDE, "a PNG image"),
    "a.pdf": (b"%PDF-1.7", LeftOutReason.NOT_A_SLIDE, "a PDF document"),
    "a.csv": (b"a,b\n", LeftOutReason.NOT_A_SLIDE, "no whole-slide image"),
    "a.db": (b"SQLite format 3\0", LeftOutReason.NOT_A_SLIDE, "a database"),
    "photo.nef": (TIFF, LeftOutReason.NOT_A_SLIDE, "a photograph"),
    "a.isyntax": (b'<DataObject ObjectType="DPUfsImport">', LeftOutReason.UNSUPPORTED_FORMAT, "Philips iSyntax"),
    "a": (b'<DataObject ObjectType="DPUfsImport">', LeftOutReason.UNSUPPORTED_FORMAT, "Philips iSyntax"),
    "a.vsi": (TIFF, LeftOutReason.UNSUPPORTED_FORMAT, "Olympus"),
    "frame_t.ets": (b"SIS\0\x40\0\0\0", LeftOutReason.UNSUPPORTED_FORMAT, "Olympus"),
    "a.jp2": (b"\0\0\0\x0cjP  \r\n\x87\n", LeftOutReason.UNSUPPORTED_FORMAT, "JPEG 2000"),
    "a.kfb": (b"KFB", LeftOutReason.UNSUPPORTED_FORMAT, "not read"),
    "Thumbs.db": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", LeftOutReason.HIDDEN, "system files"),
    ".DS_Store": (b"\0\0\0\1Bud1", LeftOutReason.HIDDEN, "system files"),
    "~$a.xlsx": (b"x", LeftOutReason.HIDDEN, "system files"),
    "slide.svs.part": (TIFF, LeftOutReason.INCOMPLETE, "not complete"),
    "slide.tif.crdownload": (TIFF, LeftOutReason.INCOMPLETE, "not complete"),
    "features.h5": (b"\x89HDF\r\n\x1a\n", LeftOutReason.NOT_A_SLIDE, "an HDF5 file"),
    "tiles.csv": (b"x,y\n", LeftOutReason.OWN_RESULT, "result of an analysis"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_that_is_no_slide_says_what_it_is(tmp_path: Path, name: str) -> None:
    data, reason, said = OTHERS[name]
    (tmp_path / name).write_bytes(data)
    write(tmp_path, "slide.svs")
    (one,) = expand([str(tmp_path)]).left_out
    assert one.reason is reason
    assert said in one.sentence


@pytest.mark.parametrize("head", [b"ZISRAWFILE\0", TIFF, b"MM\0*", b"II+\0\x08\0\0\0"])
def test_what_a_reader_opens_is_a_slide_without_any_suffix(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "scan").write_bytes(head)
    assert names(expand([str(tmp_path)])) == ["scan"]


def test_only_files_that_are_no_slides_are_a_wrong_call_that_names_some(tmp_path: Path) -> None:
    write(tmp_path, *(f"{letter}.csv" for letter in "abcdef"))
    with pytest.raises(UsageError, match=r"a\.csv \(not_a_slide\), .*c\.csv \(not_a_slide\) and 3 more$"):
        expand([str(tmp_path)])


def test_a_file_that_goes_away_while_it_is_looked_at_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "a")
    entry = read_entry(str(tmp_path / "a"))
    (tmp_path / "a").unlink()
    assert Looking().read_facts([entry])[entry].reason is LeftOutReason.UNREADABLE
