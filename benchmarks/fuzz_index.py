"""Damaged headers against the parsers of slides: no crash, no hang over 5 s, no allocation over 500 MB.
`python -m benchmarks.fuzz_index MINUTES [SEED]`; needs ../shared/slides.

Cases are made from real files and the fixtures (TIFF, SVS, OME, NDPI, DICOM, stored indexes) by changing bytes where
structure is. Each is opened from memory, its index packed and unpacked, and a few tiles decoded; small ones are
examined too. The answer must be a reader or one of our errors. A child process does it under a limit of its address
space; the parent ends a child that is silent for 5 s of CPU, and starts the next one after the case. A finding is
printed once for each place in the code, with the number that makes the case again: `... --case NUMBER SEED`.
"""

from __future__ import annotations

import faulthandler
import os
import re
import resource
import selectors
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from tests.fakes.ranges import MemoryRangeSource
from tests.shared_slides import SHARED_SLIDES
from tests.slides import write_svs
from tests.slides.dicoms import Writing, tissue, write_picture
from tests.slides.ndpi import ndpi_levels, write_ndpi
from tests.slides.ome import ome_pyramid, write_ome
from tests.slides.pages import BASE, QPI, aperio, focal_stack, level, write_pages
from wsi.errors import SlideRejected, SourceError, TileUnreadable
from wsi.inspection.examination import examine
from wsi.records.slides import Choice
from wsi.slide.files.scratch import NO_COPIES
from wsi.slide.files.source import SlideSource
from wsi.slide.index import SlideIndex
from wsi.slide.opening import open_slide

HANG: Final = 5.0  #: s of CPU
STARTING: Final = 60.0  #: s of CPU until the first case
ALLOCATION: Final = 500 * 1024**2  #: bytes above what the process holds when it is ready
SMALL: Final = 300_000  #: bytes of a file that is examined too
HEAD: Final = 16_384  #: bytes at a file's start and at its end that are changed most, as its directories are
REAL: Final = ("real", "dicom", "derived", "odd-tiff", "broken")
WHOLE: Final = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)

#: Words of Python's own errors, which no message to users may contain.
PYTHONS_WORDS: Final = re.compile(r"codec|Errno|object has no attribute|invalid literal|Traceback|NoneType")

Seeds = dict[str, bytes]


def read_seeds() -> Seeds:
    files = [path for folder in REAL for path in sorted((SHARED_SLIDES / folder).rglob("*")) if path.is_file()]
    made: Seeds = {}
    for path in files:
        data = path.read_bytes()
        if data[:2] in (b"II", b"MM") or data[128:132] == b"DICM":
            made[path.name] = data
    made.update(_fixtures())
    return made


def _fixtures() -> Seeds:
    """Return formats of which there is no real file, and a small file of the commonest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_svs(folder / "small.svs", width=700, height=500, levels=(1, 4), pool=2)
        write_ndpi(folder / "small.ndpi", ndpi_levels(1024, 512, downsamples=(1, 4)))
        write_ome(folder / "small.ome.tif", ome_pyramid())
        write_picture(folder / "sparse.dcm", tissue(512, 300), Writing(sparse=True))
        other = np.ascontiguousarray(BASE[:, 300:])
        write_pages(folder / "two.tif", [level(one, step) for one in (BASE, other) for step in (1, 4)])
        write_pages(folder / "below.tif", [level(BASE, 1, subifds=2), level(BASE, 2, flag=1), level(BASE, 4, flag=1)])
        write_pages(folder / "first.svs", [aperio(BASE, 8), aperio(BASE, 1), aperio(BASE, 4)])
        focal_stack(folder / "stack.svs", [0.9, 0.0, -0.9])
        write_pages(folder / "imagej.tif", [level(BASE, 1, mpp=None, description="ImageJ=1.53t\nunit=micron\n")])
        write_pages(folder / "akoya.qptiff", [level(BASE, 1, description=QPI.format("FullResolution"))])
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def make_case(made: Seeds, seed: int, number: int) -> tuple[str, bytes]:
    """Return the case's file name and its damaged bytes."""
    rng = np.random.default_rng((seed, number))
    name = list(made)[int(rng.integers(len(made)))]
    data = bytearray(made[name])
    hot = _structure(bytes(data))
    for _ in range(int(rng.integers(1, 9))):
        start, end = hot[int(rng.integers(len(hot)))] if rng.random() < 0.9 else (0, len(data))
        start = min(start, len(data) - 1)  # what was there may be cut off
        at = int(rng.integers(start, max(start + 1, min(end, len(data)))))
        kind = rng.random()
        if kind < 0.4:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind < 0.8:
            size = int(rng.choice((1, 2, 4, 8)))
            value = WHOLE[int(rng.integers(len(WHOLE)))] % 256**size
            data[at : at + size] = value.to_bytes(size, "little" if rng.random() < 0.7 else "big")
        elif kind < 0.9:
            other = int(rng.integers(start, max(start + 1, min(end, len(data)))))
            size = int(rng.integers(1, 64))
            data[at : at + size] = data[other : other + size]
        elif kind < 0.95:
            del data[at : at + int(rng.integers(1, 32))]
        else:
            data = data[: max(512, at)]
        if len(data) < 512:
            break
    return name, bytes(data)


def _structure(data: bytes) -> list[tuple[int, int]]:
    """Return (start, end) where a file has its structure: its start, its end, and three times each TIFF directory."""
    places = [(0, min(HEAD, len(data))), (max(0, len(data) - HEAD), len(data))]
    if data[:2] in (b"II", b"MM") and len(data) > 16:
        order = "<" if data[:2] == b"II" else ">"
        big = struct.unpack_from(order + "H", data, 2)[0] == 43
        start, number, count, entry = (8, "Q", "Q", 20) if big else (4, "I", "H", 12)
        at = struct.unpack_from(order + number, data, start)[0]
        for _ in range(16):
            if not 0 < at < len(data) - 16:
                break
            entries = struct.unpack_from(order + count, data, at)[0]
            end = at + struct.calcsize(count) + entry * entries
            places += [(at, min(end + 8, len(data)))] * 3
            if end + 8 > len(data):
                break
            at = struct.unpack_from(order + number, data, end)[0]
    return places


def try_case(name: str, data: bytes, choice: Choice | None = None) -> str:
    """Open, decode and examine a file; return the outcome in a word or two. Errors that are not ours are findings,
    and so are messages with Python's words."""
    source = SlideSource(files=((name, MemoryRangeSource(lambda: (data, "etag"))),))
    try:
        # No copy to a scratch disk: OpenSlide is not our code, and the outcome table tests it.
        reader = open_slide(source, choice=choice, scratch=NO_COPIES)
    except SlideRejected as rejected:
        _check_words(rejected.sentence)
        return rejected.reason
    except SourceError as error:
        _check_words(error.sentence)
        return error.code
    for warning in reader.inspection.warnings:
        _check_words(warning)
    packed = reader.serialize_index()
    assert packed is not None
    assert SlideIndex.from_bytes(packed) is not None
    for number, info in enumerate(reader.inspection.levels[:3]):
        tiles = -(-info.width // info.tile_width) * -(-info.height // info.tile_height)
        try:
            for tile in reader.read_tiles(number, sorted({0, tiles // 2, tiles - 1})):
                reader.decode(tile)
        except (TileUnreadable, SourceError):
            pass
    if len(data) <= SMALL:
        try:
            examine(reader)
        except SlideRejected as rejected:
            return f"opened, {rejected.reason}"
        except SourceError as error:
            return f"opened, {error.code}"
    return "opened"


def make_choice(seed: int, number: int) -> Choice | None:
    """Return the image or focal plane that the user of the case chooses; mostly None."""
    rng = np.random.default_rng((seed, number, 2))
    value = int(rng.integers(1, 4))
    choices = (None, None, None, Choice(picture=value), Choice(focal_plane=value))
    return choices[int(rng.integers(len(choices)))]


def _check_words(sentence: str) -> None:
    found = PYTHONS_WORDS.search(sentence)
    assert found is None, f"a sentence for people says {found and found[0]}: {sentence}"


def try_damaged_index(made: Seeds, seed: int, number: int) -> str:
    """Change bytes of a stored index and read it; return whether it is of another version, is damaged (ValueError,
    zlib.error) or was read."""
    rng = np.random.default_rng((seed, number, 1))
    packed = bytearray(made["small.svs.index"])
    start = packed.index(b"\n") + 1
    body = bytearray(zlib.decompress(bytes(packed[start:])))
    for _ in range(int(rng.integers(1, 5))):
        body[int(rng.integers(len(body)))] = int(rng.integers(256))
    if rng.random() < 0.2:
        body = body[: int(rng.integers(len(body)))]
    try:
        index = SlideIndex.from_bytes(bytes(packed[:start]) + zlib.compress(bytes(body), 1))
    except (ValueError, zlib.error):
        return "index damaged"
    return "index of another version" if index is None else "index read"


def _child(seed: int, first: int) -> None:
    made = read_seeds()
    index = open_slide(
        SlideSource(files=(("small.svs", MemoryRangeSource(lambda: (made["small.svs"], "etag"))),))
    ).serialize_index()
    assert index is not None
    for name, data in list(made.items())[:20]:  # import and allocate once what all cases need, before the limit
        try_case(name, data)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + ALLOCATION, held + ALLOCATION))
    number = first
    while True:
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        faulthandler.dump_traceback_later(8 * HANG)  # where it hangs, on the error stream
        try:
            if number % 10 == 0:
                outcome = try_damaged_index({**made, "small.svs.index": index}, seed, number)
            else:
                outcome = try_case(*make_case(made, seed, number), make_choice(seed, number))
        except Exception as error:  # noqa: BLE001  # any error that is not ours is a finding
            place = traceback.extract_tb(error.__traceback__)[-1]
            outcome = f"FINDING {type(error).__name__}: {error} at {Path(place.filename).name}:{place.lineno}"
        sys.stdout.write(f"= {outcome}".replace("\n", " ") + "\n")
        number += 1


def main(minutes: float, seed: int) -> None:
    end, number = time.monotonic() + 60 * minutes, 1
    outcomes: Counter[str] = Counter()
    findings: dict[str, int] = {}
    while time.monotonic() < end:
        number = _watch_child(seed, number, end, outcomes, findings) + 1
    for outcome, count in outcomes.most_common():
        print(f"{count:9,}  {outcome}")
    print(f"{sum(outcomes.values()):,} cases in {minutes:g} minutes from seed {seed}; {len(findings)} findings")
    for finding, case_number in findings.items():
        print(f"case {case_number}: {finding}")


def _watch_child(seed: int, first: int, end: float, outcomes: Counter[str], findings: dict[str, int]) -> int:
    """Watch one child until it dies, hangs or the time is up; return the number of its last case."""
    command = [sys.executable, "-m", "benchmarks.fuzz_index", "--child", str(seed), str(first)]
    number = first - 1
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as child,
        selectors.DefaultSelector() as lines,
    ):
        assert child.stdout is not None
        lines.register(child.stdout, selectors.EVENT_READ)
        while time.monotonic() < end:
            if not _has_line_within(child.pid, lines, STARTING if number < first else HANG):
                findings.setdefault("hang", number)
                print(f"case {number} hangs", flush=True)
                break
            line = child.stdout.readline().decode()
            if not line:
                child.wait()
                findings.setdefault(f"crash: ended with {child.returncode}", number)
                print(f"case {number} ended the process with {child.returncode}", flush=True)
                break
            if not line.startswith("="):
                number = int(line)
                continue
            outcome = line[2:].strip()
            if outcome.startswith("FINDING"):
                where = outcome.rpartition(" at ")[2] + outcome[:30]
                if where not in findings:
                    print(f"case {number}: {outcome}", flush=True)
                findings.setdefault(where, number)
                outcome = "finding"
            outcomes[outcome] += 1
        child.kill()
    return number


def _has_line_within(process: int, lines: selectors.BaseSelector, seconds: float) -> bool:
    """Return whether a line comes before the child has used `seconds` of CPU or ten times as long has passed. CPU
    counts, since other work on the machine is no hang."""
    if lines.select(1):
        return True
    began, used = time.monotonic(), _read_cpu_seconds(process)
    while _read_cpu_seconds(process) - used < seconds and time.monotonic() - began < 10 * seconds:
        if lines.select(1):
            return True
    return False


def _read_cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _again(number: int, seed: int) -> None:
    name, data = make_case(read_seeds(), seed, number)
    print(name, len(data))
    print(try_case(name, data, make_choice(seed, number)))


def _run(arguments: Sequence[str]) -> None:
    if arguments[0] == "--child":
        _child(int(arguments[1]), int(arguments[2]))
    elif arguments[0] == "--case":
        _again(int(arguments[1]), int(arguments[2]))
    else:
        main(float(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 0)


if __name__ == "__main__":
    _run(sys.argv[1:])
