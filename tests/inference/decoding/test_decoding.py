"""Decoders on threads and in processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from inference.decoding.decode_tasks import MeasureRows, Memory, Recipe, Rows, ScatterTiles
from inference.decoding.memory import allocate_private
from inference.decoding.processes import SLAB, ProcessDecoders
from inference.decoding.threads import ThreadDecoders
from wsi.results.tile_quality import measure
from wsi.slide.coding import Codec, Coding, Colour
from wsi.slide.decoding import TileDecoding
from wsi.slide.encoded import EncodedTiles
from wsi.slide.placement import TileRects
from wsi.slide.slide import EncodedTile

SIDE = 16
ROWS = Rows(8, SIDE, SIDE)
RAW = TileDecoding(Coding(codec=Codec.NONE, colour=Colour.RGB), SIDE, SIDE, holes=False)


def tiles(count: int, broken: tuple[int, ...] = ()) -> tuple[EncodedTiles, np.ndarray]:
    """Raw tiles, those `broken` cut short, and their pixels."""
    pixels = np.random.default_rng(1).integers(0, 256, (count, SIDE, SIDE, 3), np.uint8)
    data = [tile.tobytes()[: 9 if number in broken else None] for number, tile in enumerate(pixels)]
    return EncodedTiles.of(0, [EncodedTile(0, 100 + number, (each,)) for number, each in enumerate(data)]), pixels


def scattered(encoded: EncodedTiles, decoding=RAW) -> ScatterTiles:
    """Each tile into the row of its number, whole."""
    count = len(encoded)
    pieces = TileRects(np.array([(number, 0, 0, 0, 0, SIDE, SIDE) for number in range(count)]))
    return ScatterTiles(Recipe(ROWS, 0, decoding, 1, 255), encoded, np.arange(count + 1), pieces)


@pytest.fixture(scope="module", params=[False, True], ids=["page by page", "mapped whole"])
def processes(request):
    with closing(ProcessDecoders(2, ROWS.count * ROWS.row_bytes, whole=request.param)) as decoders:
        yield decoders


@pytest.fixture(params=["threads", "processes"])
def decoders(request, processes):
    if request.param == "processes":
        yield processes
    else:
        with closing(ThreadDecoders(2, allocate_private(ROWS.count * ROWS.row_bytes))) as threads:
            yield threads


def test_tiles_lie_in_their_rows_and_broken_ones_are_named(decoders):
    encoded, pixels = tiles(8, broken=(3,))
    decoders.memory[:] = 0
    (failure,) = decoders.submit(scattered(encoded)).result(20)
    assert failure[0] == 103
    rows = ROWS.view(decoders.memory)
    good = [0, 1, 2, 4, 5, 6, 7]
    np.testing.assert_array_equal(rows[good], pixels[good])
    assert not rows[3].any()


def test_how_rows_look_is_measured_where_they_lie(decoders):
    encoded, pixels = tiles(8)
    decoders.submit(scattered(encoded)).result(20)
    found = decoders.submit(MeasureRows(ROWS, 2, 6)).result(20)
    assert found.tobytes() == measure(pixels[2:6]).tobytes()


def test_a_tile_larger_than_a_slab_travels_too(processes):
    side = 1200
    raw = TileDecoding(Coding(codec=Codec.NONE, colour=Colour.RGB), side, side, holes=False)
    pixels = np.full((side, side, 3), 77, np.uint8)
    assert pixels.nbytes > SLAB
    job = scattered(EncodedTiles.of(0, [EncodedTile(0, 0, (pixels.tobytes(),))]), raw)
    assert processes.submit(job).result(20) == ()
    assert (ROWS.view(processes.memory)[0] == 77).all()


def test_an_error_that_is_not_the_tiles_comes_out_as_it_is(processes):
    with pytest.raises(KeyError, match="broken"):
        processes.submit(Fails()).result(20)


@dataclass(frozen=True)
class Fails:
    is_portable: bool = True

    def run(self, memory: Memory) -> None:
        raise KeyError("broken")


@dataclass(frozen=True)
class DiesOf(TileDecoding):
    """A codec that one tile's bytes bring down."""

    poison: bytes = b""

    def decode(self, pieces, reduction=1, fill=255):
        if pieces[0] == self.poison:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().decode(pieces, reduction, fill)


def test_a_tile_that_ends_its_process_twice_is_unreadable_and_its_neighbours_are_not(processes):
    encoded, pixels = tiles(8)
    poison = pixels[5].tobytes()
    processes.memory[:] = 0
    before = set(processes.pids)
    others = [processes.submit(scattered(tiles(3)[0])) for _ in range(6)]
    failures = processes.submit(scattered(encoded, DiesOf(RAW.coding, SIDE, SIDE, False, poison))).result(30)
    assert failures == ((105, "its decoder process ended while decoding it"),)
    assert all(other.result(20) == () for other in others)
    good = [0, 1, 2, 3, 4, 6, 7]
    np.testing.assert_array_equal(ROWS.view(processes.memory)[good], pixels[good])
    assert len(set(processes.pids)) == len(before)


def test_a_process_killed_from_outside_costs_nothing(processes):
    encoded, pixels = tiles(8)
    jobs = [processes.submit(scattered(encoded)) for _ in range(4)]
    os.kill(processes.pids[0], signal.SIGKILL)
    assert [job.result(20) for job in jobs] == [()] * 4
    assert processes.submit(scattered(encoded)).result(20) == ()
    np.testing.assert_array_equal(ROWS.view(processes.memory), pixels)


@pytest.mark.parametrize("_", range(3))  # either end may be found first
def test_a_process_that_died_before_it_got_a_tile_did_not_die_of_it(processes, _):
    """Both end at once, one of them idle: it is the first choice for the other's tiles until its end is known."""
    encoded, _ = tiles(8)
    processes.submit(scattered(encoded)).result(20)
    dying = processes.pids
    with processes._lock:
        os.kill(dying[0], signal.SIGSTOP)
        job = processes.submit(scattered(encoded))
        for pid in dying:
            os.kill(pid, signal.SIGKILL)
        while any(map(_runs, dying)):
            time.sleep(0.01)
    assert job.result(20) == ()


def test_tiles_that_no_process_began_are_never_blamed_for_its_end(processes):
    """However often the processes that they lie before are killed."""
    encoded, _ = tiles(8)
    processes.submit(scattered(encoded)).result(20)
    for pid in (before := processes.pids):
        os.kill(pid, signal.SIGSTOP)
    job = processes.submit(scattered(encoded))
    for _ in range(2):
        with processes._lock:  # what takes a dead one's place is stopped before it gets its tiles
            dying = processes.pids
            for pid in dying:
                os.kill(pid, signal.SIGSTOP)
                os.kill(pid, signal.SIGKILL)
        while set(processes.pids) & set(dying):
            time.sleep(0.01)
    assert job.result(20) == ()
    assert not set(before) & set(processes.pids)


def test_decoders_do_not_leave_when_the_group_is_told_to(processes):
    before = processes.pids
    for pid in before:
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGINT)
    assert processes.submit(scattered(tiles(8)[0])).result(20) == ()
    assert processes.pids == before


def test_decoders_survive_signals_that_come_before_they_can_ignore_them():
    with closing(ProcessDecoders(2, ROWS.count * ROWS.row_bytes)) as starting:
        before = starting.pids
        for pid in before:  # Python has hardly started in them
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGINT)
        assert starting.submit(scattered(tiles(8)[0])).result(20) == ()
        assert starting.pids == before
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {signal.SIGTERM, signal.SIGINT}


def test_processes_end_with_their_parent():
    code = """
import sys, time
from inference.decoding.processes import ProcessDecoders
decoders = ProcessDecoders(1, 1024)
print(*decoders.pids, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    (child,) = map(int, parent.stdout.readline().split())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_decoder_process_holds_no_torch_and_no_credentials():
    code = "import sys, inference.decoding.child; print(sorted({'torch', 'boto3', 'psycopg'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_a_job_after_the_end_is_refused():
    decoders = ProcessDecoders(1, 1024)
    decoders.close()
    decoders.close()
    with pytest.raises(RuntimeError, match="closed"):
        decoders.submit(MeasureRows(ROWS, 0, 0))
