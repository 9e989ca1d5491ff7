"""The cost of inspecting a remote slide, over HTTP ranges with 20 ms added to each answer, by the production's S3
reader: requests, bytes, seconds. `python -m benchmarks.remote_inspection [SLIDE ...]`.

Without slides, synthetic ones: an SVS of 40,000 x 38,000 px with levels 1/4/16, thumbnail, label and macro; the same
as BigTIFF whose overview's level alone is 1 MB; an OME-TIFF whose red, green and blue are three pages of 5,120 px. Each
is opened and examined three times: first, again in the same process (connections are open), and with the index from the
first time. The bytes are printed with the limit of issue 4: 1 MB (2 MB for all but SVS) and 12 bytes a tile.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from adapters.s3.ranges import RangeReads
from tests.slide_server import range_reads, serve, served
from tests.slides import he_tissue, write_svs
from tests.slides.ome import write_ome
from wsi.inspection.examination import examine
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.reads import ReadCounter, attach_counter

MILLISECONDS = 20
MPP = 0.25  #: given for all of them, since some files state none


def main(paths: list[str]) -> None:
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    print(f"{platform.machine()}, {os.cpu_count()} cores, {MILLISECONDS} ms added to each answer")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in paths:
            shutil.copy(path, folder)
        if not paths:
            write_slides(folder)
        with serve(folder, milliseconds=MILLISECONDS) as url:
            reads = range_reads(url)
            for path in sorted(folder.iterdir()):
                print(f"{path.name}, {path.stat().st_size / 1e6:.1f} MB")
                index = inspect_slide(reads, folder, path, "first", None)
                inspect_slide(reads, folder, path, "again", None)
                inspect_slide(reads, folder, path, "with its index", index)


def write_slides(folder: Path) -> None:
    svs = {"width": 40_000, "height": 38_000, "levels": (1, 4, 16), "mpp": MPP}
    write_svs(folder / "synthetic.svs", **svs, rgb=False, quality=80)
    write_svs(folder / "large-overview.svs", **svs, rgb=True, big=True)
    tissue = np.tile(he_tissue(np.random.default_rng(0), 640, 640), (8, 8, 1))
    levels = [np.ascontiguousarray(tissue[::step, ::step]) for step in (1, 2, 4, 8)]
    write_ome(folder / "three-pages.ome.tif", levels, layout="channels")


def inspect_slide(clients: RangeReads, folder: Path, path: Path, how: str, index: bytes | None) -> bytes | None:
    reads, began = ReadCounter(), time.perf_counter()
    reader = open_slide(attach_counter(served(clients, folder, open_local_source(path)), reads), mpp=MPP, index=index)
    opened, requests, size = time.perf_counter() - began, reads.requests, reads.bytes
    found = examine(reader)
    levels = reader.inspection.levels
    tiles = sum(-(-level.width // level.tile_width) * -(-level.height // level.tile_height) for level in levels)
    allowed = (1 if reader.inspection.format == "svs" else 2) * 1_000_000 + 12 * tiles
    seconds = time.perf_counter() - began
    print(
        f"  {how:14s}  open {requests} requests {size / 1e3:,.0f} KB {opened:.3f} s; with overview and tissue "
        f"{reads.requests} requests {reads.bytes / 1e3:,.0f} KB (of {allowed / 1e3:,.0f}) {seconds:.3f} s; "
        f"tissue {found.inspection.tissue_fraction:.3f}"
    )
    kept = reader.serialize_index()
    reader.close()
    return kept


if __name__ == "__main__":
    main(sys.argv[1:])
