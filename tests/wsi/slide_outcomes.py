"""Opens and examines slides one after another in a process of its own, on this disk and over HTTP ranges, and holds
their pixels against other readers. `python -m tests.wsi.slide_outcomes FOLDER URL` takes lines (name, expectation) as
JSON and answers each with a `Finding`, so that a slide which ends the process is known by the line that is missing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from openslide import OpenSlideError

from tests.cuts import cut
from tests.slide_server import range_reads, served
from tests.wsi.slide_oracles import ORACLES, WHITE
from wsi.errors import SlideRejected, TesseraError
from wsi.inspection.examination import examine
from wsi.records.slides import Choice, LevelInfo
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import RGB, SlideReader

TABLE: Final = Path(__file__).with_name("slide_outcomes.toml")
#: How each slide is examined, and the px of the overview's longer side: the worker's, and a small one where only the
#: way of the bytes differs.
WAYS: Final = {"local": 2048, "http": 512}
SIDE: Final = 96  #: px of the boxes that are compared


@dataclass(frozen=True, kw_only=True)
class Expectation:
    outcome: str  #: native, scratch or rejected:<reason>
    oracle: str = "none"  #: who says what the pixels are: openslide, tifffile, pillow, pydicom, none
    #: Some tiles are: all boxes are compared, and those over them must be unreadable to the oracle and to us.
    damaged: bool = False
    tolerance: int = 0  #: largest difference of a sample
    mpp: float | None = None  #: given by the user, where the file has none
    optical_path: str | None = None  #: chosen by the user
    focal_plane: int | None = None  #: chosen by the user
    picture: int | None = None  #: chosen by the user
    levels: int = 1  #: how many the reader finds
    note: str = ""

    @property
    def choice(self) -> Choice | None:
        return Choice.of(self.optical_path, self.focal_plane, self.picture)


@dataclass(frozen=True, kw_only=True)
class Finding:
    name: str
    way: str  #: local or http
    outcome: str
    seconds: float  #: to open and examine, of the clock or of CPU, whichever is less: other work waits for neither
    peak: int  #: bytes of resident memory at most, while it was opened and examined
    sentence: str = ""
    levels: int = 0
    differences: tuple[tuple[int, int, int, int], ...] = ()  #: level, x, y, largest difference above 0
    compared: int = 0  #: boxes
    unreadable: int = 0  #: boxes, to the oracle too


def expectations(part: str) -> dict[str, Expectation]:
    """Of the "shared" or the "generated" slides."""
    return {name: Expectation(**fields) for name, fields in tomllib.loads(TABLE.read_text())[part].items()}


def walk(folder: Path, url: str, expected: Mapping[str, Expectation]) -> dict[str, list[Finding]]:
    """The findings of each slide, in a child process; none of a slide that ended it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
    command = [sys.executable, "-m", "tests.wsi.slide_outcomes", str(folder), url]
    found: dict[str, list[Finding]] = {name: [] for name in expected}
    left = list(expected)
    while left:
        lines = "".join(json.dumps((name, asdict(expected[name]))) + "\n" for name in left)
        child = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, env=environment)
        for line in child.stdout.splitlines():
            finding = Finding(**json.loads(line))
            found[finding.name].append(replace(finding, differences=tuple(map(tuple, finding.differences))))
        answered = [name for name in left if len(found[name]) == len(WAYS)]
        left = left[len(answered) + 1 :]  # without the one that it died of
    return found


def _main(folder: Path, url: str) -> None:
    reads = range_reads(url)
    for line in sys.stdin:
        name, fields = json.loads(line)
        expectation = Expectation(**fields)
        local = open_local_source(folder / name)
        seen: dict[tuple[int, int, int], RGB] = {}
        for way, source in zip(WAYS, (local, served(reads, folder, local)), strict=True):
            with suppress(OSError):
                Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
            began, cpu, reader = time.perf_counter(), time.process_time(), None
            finding = Finding(name=name, way=way, outcome="", seconds=0, peak=0)
            try:
                reader = open_slide(source, mpp=expectation.mpp, choice=expectation.choice)
                path = examine(reader, max_px=WAYS[way]).inspection.reading_path
                finding = replace(finding, outcome=path, levels=len(reader.inspection.levels))
            except SlideRejected as rejected:
                finding = replace(finding, outcome=f"rejected:{rejected.reason}", sentence=rejected.sentence)
            except TesseraError as error:
                finding = replace(finding, outcome=f"error:{error.code}", sentence=error.sentence)
            seconds = min(time.perf_counter() - began, time.process_time() - cpu)
            finding = replace(finding, seconds=seconds, peak=_peak())
            if reader is not None and finding.outcome in ("native", "scratch") and expectation.oracle != "none":
                finding = _compared(finding, expectation, local.local_path or folder / name, reader, seen)
            if reader is not None:
                reader.close()
            sys.stdout.write(json.dumps(asdict(finding)) + "\n")
            sys.stdout.flush()


def _compared(
    finding: Finding, expectation: Expectation, path: Path, reader: SlideReader, seen: dict[tuple[int, int, int], RGB]
) -> Finding:
    """Local pixels against the oracle's, those over HTTP against the local ones (`seen`)."""
    differences: list[tuple[int, int, int, int]] = []
    compared = unreadable = 0
    with ORACLES[expectation.oracle](path, expectation.choice) as region:
        for level, info in enumerate(reader.inspection.levels):
            if finding.outcome == "scratch" and info.downsample != int(info.downsample):
                continue  # OpenSlide resamples the tiles that we ask it for
            for (x, y), pixels in _boxes(reader, level, info, every=expectation.damaged):
                key = (level, x, y)
                if finding.way == "local":
                    try:
                        truth = region(level, info, x, y, SIDE)
                    except OpenSlideError:
                        if not expectation.damaged:
                            raise
                        unreadable += 1
                        if not isinstance(pixels, str):
                            differences.append((*key, -1))
                        continue
                    if truth is None:
                        continue
                    seen[key] = pixels if isinstance(pixels, np.ndarray) else np.zeros(0, np.uint8)
                elif key in seen:
                    truth = seen[key]
                else:
                    continue
                compared += 1
                if isinstance(pixels, str):
                    difference = -1
                else:
                    difference = int(np.abs(pixels.astype(np.int16) - truth).max()) if truth.size else -1
                if difference:
                    differences.append((*key, difference))
    return replace(finding, differences=tuple(differences), compared=compared, unreadable=unreadable)


def _boxes(
    reader: SlideReader, level: int, info: LevelInfo, *, every: bool
) -> Iterator[tuple[tuple[int, int], RGB | str]]:
    """Aligned with the file's tiles, unaligned, and over each corner of the level; with `every` all that cover it."""
    middle = (
        info.width // 2 // info.tile_width * info.tile_width,
        info.height // 2 // info.tile_height * info.tile_height,
    )
    beyond = SIDE // 3
    corners = [(x, y) for x in (-beyond, info.width - SIDE + beyond) for y in (-beyond, info.height - SIDE + beyond)]
    across = (info.width // 3 // info.tile_width * info.tile_width - 31, info.height // 3 + 7)
    covering = {(x, y) for x in range(0, info.width, SIDE) for y in range(0, info.height, SIDE)} if every else set()
    places = sorted(covering | {(0, 0), middle, across, (info.width // 4 + 1, info.height // 4 + 3), *corners})
    for position, pixels in cut(reader, level, info, np.array(places, np.int32), SIDE, WHITE):
        yield places[position], pixels


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2])
