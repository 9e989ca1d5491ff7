from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from tessera.local_run.inputs import UsageError
from tessera.local_run.regions import read_region
from wsi.planning.region_geojson import MAX_BYTES
from wsi.records.outline import Frame, Outline

RING = ((10.0, 20.0), (110.0, 20.0), (110.0, 120.0), (10.0, 20.0))
TEXT = json.dumps({"type": "Polygon", "coordinates": [RING]})


def read(path: Path) -> Outline:
    return read_region(path, Frame.FULL, on_note=lambda note: pytest.fail(note))


def zipped(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), TEXT, zipfile.ZIP_DEFLATED)  # without today's date
    return data.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        gzip.compress(TEXT.encode()),
        gzip.compress(TEXT.encode("utf-8-sig")),
        zipped("Image.geojson"),
        zipped("Image.geojson", "readme.txt"),
        TEXT.replace("}", ', "measurements": {"a": NaN, "b": -Infinity}}').encode(),
    ],
    ids=["plain", "bom", "utf-16", "gzip", "gzip of bom", "zip", "zip with more", "nan"],
)
def test_file_of_geojson_is_read_however_it_is_packed(tmp_path: Path, data: bytes):
    path = tmp_path / "region.geojson"
    path.write_bytes(data)
    assert read(path) == Outline(((RING,),))


PACKED = gzip.compress(TEXT.encode(), mtime=0)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not JSON: it ends early, or is written wrongly, at line 1, column 1. Export it as GeoJSON"),
        (b'{"type":\n "Polygon", ', "at line 2, column"),
        (b"\x89HDF\r\n\x1a\n\xff\xfe", "is not text in UTF-8. Export it as GeoJSON"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "is not JSON"),
        (b"[" * 100_000, "is not JSON: it holds a number too long or lists too deep"),
        (b'{"type": ' + b"9" * 5_000 + b"}", "is not JSON: it holds a number too long"),
        (PACKED[:-9], "is packed and cannot be unpacked: export it again"),
        (PACKED[:20] + b"\0\0\0" + PACKED[23:], "is packed and cannot be unpacked"),
        (zipped("a.geojson")[:60], "is packed and cannot be unpacked"),
        (zipped("a.geojson", "b.geojson"), "must hold one file of GeoJSON; it holds 2"),
        (zipped("a.txt"), "must hold one file of GeoJSON; it holds 0"),
        (gzip.compress(b" " * (MAX_BYTES + 1)), "is larger than 64 MiB"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_region_is_a_wrong_call_with_a_sentence(tmp_path: Path, data: bytes | None, said: str):
    path = tmp_path / "region.geojson"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read(path)
    assert said in str(caught.value)


def test_note_names_the_file(tmp_path: Path):
    path, notes = tmp_path / "region.geojson", list[str]()
    path.write_text(json.dumps([json.loads(TEXT), {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}]))
    read_region(path, Frame.FULL, on_note=notes.append)
    assert notes == [f"{path}: The region leaves out 1 line."]
