"""Manifests as people and spreadsheets write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera.local_run.inputs import UsageError
from tessera.local_run.inputs.manifest import read_manifest

NAME = "Fall Müller.tif"
PYTHON = ("codec", "Errno", "object has no attribute", "invalid literal", "could not convert", "unexpected end")


def rows(path: Path, data: bytes) -> list[tuple[str, float | None]]:
    (path / "m.csv").write_bytes(data)
    return [(Path(slide.location).name, slide.mpp) for slide in read_manifest(path / "m.csv")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_in_any_encoding_and_with_any_delimiter_of_a_spreadsheet(
    tmp_path: Path, encoding: str, delimiter: str
) -> None:
    text = f"path{delimiter}mpp{delimiter}roi\r\n{NAME}{delimiter}0.25{delimiter}\r\n".encode(encoding)
    assert rows(tmp_path, text) == [(NAME, 0.25)]


def test_utf_16_of_either_byte_order_is_read(tmp_path: Path) -> None:
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        assert rows(tmp_path, mark + f"path\n{NAME}\n".encode(encoding)) == [(NAME, None)]


@pytest.mark.parametrize(
    "text",
    [
        "path;mpp\na.svs;0,25\n",
        "path\tmpp\na.svs\t0,25\n",
        'path,mpp\na.svs,"0,25"\n',
        "sep=;\npath;mpp\na.svs;0,25\n",
        "Path ; MPP\na.svs;.25\n",
        ";;\nPATH;mpp;\na.svs;2.5e-1;\n;;\n",
    ],
)
def test_decimal_commas_names_in_any_case_and_empty_rows(tmp_path: Path, text: str) -> None:
    assert rows(tmp_path, text.encode()) == [("a.svs", 0.25)]


def test_names_of_columns_may_hold_spaces_and_hyphens(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("Path,Optical Path,focal-plane,Picture\na.dcm,H&E,2.0,3\n")
    (slide,) = read_manifest(tmp_path / "m.csv")
    assert slide.choice is not None
    assert (slide.choice.optical_path, slide.choice.focal_plane, slide.choice.picture) == ("H&E", 2, 3)


@pytest.mark.parametrize(
    "roi", ["100,200,300,400", "100.0,200.0,300.0,400.0", "100,0;200,0;300,0;400,0", "100 200 300 400"]
)
def test_whole_numbers_of_a_region_in_every_spelling(tmp_path: Path, roi: str) -> None:
    (tmp_path / "m.csv").write_text(f'path,roi\na.svs,"{roi}"\n')
    (slide,) = read_manifest(tmp_path / "m.csv")
    assert slide.region == (100, 200, 300, 400)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("slide\na.svs\n", "no column named path; its first line must be: path,mpp,roi"),
        ("", "is empty; its first line must be"),
        ("path\n", "names no slide"),
        ("path,Path\na.svs,b.svs\n", "two columns named path"),
        ("path,mpp\na.svs,fine\n", "line 2: mpp must be a number of microns above 0"),
        ("path,mpp\na.svs,0\n", "line 2: mpp must be a number of microns above 0"),
        ("path,mpp\na.svs,-0.5\n", "line 2: mpp must be a number of microns above 0"),
        ("path,mpp\na.svs,nan\n", "line 2: mpp must be a number of microns above 0"),
        ("path,mpp\na.svs,1e999\n", "line 2: mpp must be a number of microns above 0"),
        ("path,mpp\na.svs,1_0\n", "line 2: mpp must be a number of microns above 0"),
        ('path,mpp\na.svs,"1,250.5"\n', "line 2: mpp must be a number of microns above 0"),
        ('path,roi\na.svs,"1,2,3"\n', "line 2: roi must be x,y,w,h"),
        ('path,roi\na.svs,"1.5,2,3,4"\n', "line 2: roi must be x,y,w,h in whole level-0 pixels"),
        ('path,roi\na.svs,"1,2,0,3"\n', "line 2: roi must begin"),
        ('path,roi\na.svs,"-1,2,3,4"\n', "line 2: roi must be"),
        ("path,mpp\n ,0.5\n", "line 2: the path is empty"),
        ("path,focal_plane\na.dcm,0\n", "line 2: focal_plane must be a whole number from 1"),
        ("path,focal_plane\na.dcm,1.5\n", "line 2: focal_plane must be a whole number from 1"),
        ("path,picture\na.tif,second\n", "line 2: picture must be a whole number from 1"),
        ("path\na\0.svs\n", "line 2: the path holds a zero byte"),
        ('path,mpp\n"a.svs,\nb.svs,\n', "line 3: a quote is opened and never closed"),
        ('path,mpp\n"a"b.svs,\n', "line 2: text follows a closing quote"),
        (f"path,note\na.svs,{'x' * 200_000}\n", "line 2: a cell has more than 131,072 characters"),
        ("sep=;\npath;mpp\na.svs;fine\n", "line 3: mpp must be"),
        (b"PK\x03\x04" + bytes(100), "is a spreadsheet; open it and save it as CSV"),
        (b"\xd0\xcf\x11\xe0" + bytes(100), "is a spreadsheet; open it and save it as CSV"),
        (b"path\n\x81\xff.svs\n", "is not text that can be read; save it as CSV in UTF-8"),
        (b"\xff\xfepath", "is not text that can be read|no column named path"),
    ],
)
def test_a_bad_manifest_is_refused_in_words_with_its_line(tmp_path: Path, data: str | bytes, said: str) -> None:
    (tmp_path / "m.csv").write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(UsageError, match=said) as caught:
        read_manifest(tmp_path / "m.csv")
    assert not [word for word in PYTHON if word in str(caught.value)]


def test_a_manifest_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_manifest(tmp_path / "m.csv")


def test_spaces_after_the_commas_of_a_manifest_lose_no_column(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text('path, mpp, roi\na.svs, 0.25, "1,2,3,4"\n')
    (slide,) = read_manifest(tmp_path / "m.csv")
    assert (slide.mpp, slide.region) == (0.25, (1, 2, 3, 4))


def test_a_line_of_a_manifest_ends_where_csv_says(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes('path,note\r\na\u2028b.svs,"two\nlines"\r\nc\x0cd.svs,\r\n'.encode())
    found = [Path(slide.location).name for slide in read_manifest(tmp_path / "m.csv")]
    assert found == ["a\u2028b.svs", "c\x0cd.svs"]
