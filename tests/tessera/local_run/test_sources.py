"""The digest of a slide on this disk is the one that the API computes of its parts."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tessera.local_run.inputs import SlideInput
from tessera.local_run.sources import Sources
from wsi.digests import PART_SIZE, compute_composite_digest, compute_slide_digest


def test_a_file_of_several_parts(tmp_path: Path) -> None:
    data = bytes(range(256)) * (PART_SIZE // 256 + 1)
    (tmp_path / "slide.svs").write_bytes(data)
    slide = SlideInput(location=str(tmp_path / "slide.svs"))
    parts = [hashlib.sha256(part).hexdigest() for part in (data[:PART_SIZE], data[PART_SIZE:])]
    with Sources().open(slide) as source:
        assert Sources().compute_digest(slide, source) == compute_composite_digest(parts)


def test_a_slide_of_several_files_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "slide.mrxs").write_bytes(b"cover")
    (tmp_path / "slide").mkdir()
    (tmp_path / "slide/Data0000.dat").write_bytes(b"data")
    slide = SlideInput(location=str(tmp_path / "slide.mrxs"))
    files = [compute_composite_digest([hashlib.sha256(data).hexdigest()]) for data in (b"cover", b"data")]
    with Sources().open(slide) as source:
        assert Sources().compute_digest(slide, source) == compute_slide_digest(files)
