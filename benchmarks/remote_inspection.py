"""What inspecting a remote slide takes, over HTTP ranges with 20 ms added to each answer, by the production's S3
reader: requests, bytes, seconds. `python -m benchmarks.remote_inspection [SLIDE ...]`.

Without slides, a synthetic SVS of 40,000 x 38,000 px with levels 1/4/16, thumbnail, label and macro. Each slide is
opened and examined three times: first, again in the same process (connections stand), and with the index that the
first time kept.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

from adapters.s3.ranges import RangeReads
from tests.slide_server import range_reads, serve, served
from tests.slides import write_svs
from wsi.examination import examine
from wsi.slide.opening import local_source, open_slide
from wsi.slide.reads import Reads, counted

MILLISECONDS = 20
MPP = 0.25  #: stated for all of them, since some name none


def main(paths: list[str]) -> None:
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    print(f"{platform.machine()}, {os.cpu_count()} cores, {MILLISECONDS} ms added to each answer")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in paths:
            shutil.copy(path, folder)
        if not paths:
            write_svs(
                folder / "synthetic.svs",
                width=40_000,
                height=38_000,
                levels=(1, 4, 16),
                mpp=0.25,
                rgb=False,
                quality=80,
            )
        with serve(folder, milliseconds=MILLISECONDS) as url:
            reads = range_reads(url)
            for path in sorted(folder.iterdir()):
                print(f"{path.name}, {path.stat().st_size / 1e6:.1f} MB")
                index = inspected(reads, folder, path, "first", None)
                inspected(reads, folder, path, "again", None)
                inspected(reads, folder, path, "with its index", index)


def inspected(clients: RangeReads, folder: Path, path: Path, how: str, index: bytes | None) -> bytes | None:
    reads, began = Reads(), time.perf_counter()
    reader = open_slide(counted(served(clients, folder, local_source(path)), reads), mpp=MPP, index=index)
    opened, requests, size = time.perf_counter() - began, reads.requests, reads.bytes
    found = examine(reader)
    print(
        f"  {how:14s}  open {requests} requests {size / 1e3:,.0f} KB {opened:.3f} s; with overview and tissue "
        f"{reads.requests} requests {reads.bytes / 1e3:,.0f} KB {time.perf_counter() - began:.3f} s; "
        f"tissue {found.inspection.tissue_fraction:.3f}"
    )
    kept = reader.index_bytes()
    reader.close()
    return kept


if __name__ == "__main__":
    main(sys.argv[1:])
