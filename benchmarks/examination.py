"""The cost of examining a slide: seconds, CPU seconds, peak memory. `python -m benchmarks.examination [SLIDE ...]`.

Without slides: a single-level SVS of 100,000 x 100,000 px whose 152,881 tiles of 256 px are all tissue, the same with
levels 1/16/64, and one of 200,000 px a side whose 611,524 tiles are at 16 places. All are drawn with 16 JPEGs, so that
a file is 3 MB: decoding and averaging are measured, reading is not. `--jpeg2000` adds the single level in JPEG 2000,
which has no cheap small image and takes minutes.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.slides.giant import write_giant

_EXAMINE = """
import sys
from pathlib import Path
from wsi.inspection.examination import examine
from wsi.slide.opening import open_local_source, open_slide
found = examine(open_slide(open_local_source(Path(sys.argv[1]))))
height, width = found.mask.pixels.shape
print(f"overview {width} x {height} px, {found.inspection.tissue_fraction:.4f} tissue")
"""


def main(paths: list[str]) -> None:
    print(f"{platform.machine()}, {os.cpu_count()} cores")
    slow = "--jpeg2000" in paths
    slides = [path for path in paths if path != "--jpeg2000"]
    for path in slides:
        measure(path)
    if slides:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measure(str(write_giant(folder / "giant-3-levels.svs", levels=(1, 16, 64), distinct=True)))
        measure(str(write_giant(folder / "giant-1-level.svs", levels=(1,), distinct=True)))
        measure(str(write_giant(folder / "giant-shared-tiles.svs", levels=(1,), side=200_000)))
        if slow:
            measure(
                str(write_giant(folder / "giant-1-level-jpeg2000.svs", levels=(1,), codec="jpeg2000", distinct=True))
            )


def measure(path: str) -> None:
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", _EXAMINE, path], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = child.stdout.read().strip()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    print(
        f"{Path(path).name}: {said or 'failed'}; {time.perf_counter() - began:.1f} s,"
        f" {usage.ru_utime + usage.ru_stime:.1f} CPU s, {usage.ru_maxrss / 1024:.0f} MB at most"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
