"""Ctrl-C leaves a state that the next run takes up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tessera.local_run.checkpoints import FOLDER
from tests.slides import write_svs
from wsi.results.shard_result import ShardResult

COMMAND = (sys.executable, "-c", "from tessera.cli import main; main()", "run", "--model", "stain-density")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More tiles than one checkpoint holds."""
    path = tmp_path_factory.mktemp("slides") / "large.svs"
    write_svs(path, width=9_216, height=9_216)
    return path


@pytest.fixture(scope="module")
def uninterrupted(large: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("uninterrupted")
    assert finish(large, out).returncode == 0
    return out


def finish(slide: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, str(slide), "--out", str(out)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on_where_it_stopped(
    large: Path, uninterrupted: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    running = subprocess.Popen(
        [*COMMAND, str(large), "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list((out / FOLDER).glob("checkpoint-*.npz")) and running.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (out / FOLDER / "results").mkdir()
    (out / FOLDER / "results/.tiles.csv.0").touch()  # as a run leaves it that is killed while it writes results
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert "Traceback" not in said
    assert "run the same command again" in said
    assert not (out / "summary.json").exists()
    (checkpoint,) = (out / FOLDER).glob("checkpoint-*.npz")
    assert ShardResult.from_bytes(checkpoint.read_bytes()).done >= 256

    done = finish(large, out)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in out.iterdir()} == {path.name for path in uninterrupted.iterdir()}
    for name in ("tiles.csv", "tiles.geojson.gz", "heatmap.ome.tif", "tissue.png", "tile_quality.csv"):
        assert (out / name).read_bytes() == (uninterrupted / name).read_bytes()


def test_a_second_run_into_a_folder_leaves_it_to_the_first(large: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = subprocess.Popen(
        [*COMMAND, str(large), "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not (out / FOLDER).exists() and first.poll() is None:
        time.sleep(0.02)
    first.send_signal(signal.SIGSTOP)  # a command takes longer to begin than the first one needs to end
    try:
        second = subprocess.run(
            [*COMMAND, str(large), "--mpp", "0.4", "--out", str(out)], capture_output=True, text=True, check=False
        )
    finally:
        first.send_signal(signal.SIGCONT)
    assert second.returncode == 4
    assert "failed (conflict): Another run" in second.stderr
    assert first.wait(60) == 0
    assert (out / "tiles.csv").read_bytes() == (uninterrupted / "tiles.csv").read_bytes()


def test_a_run_goes_on_with_the_same_bytes_under_another_date(large: Path, uninterrupted: Path, tmp_path: Path) -> None:
    """A copy of the slide, or the slide after `touch`."""
    slide, out = tmp_path / "slide.svs", tmp_path / "out"
    shutil.copyfile(large, slide)
    running = subprocess.Popen(
        [*COMMAND, str(slide), "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not list((out / FOLDER).glob("checkpoint-*.npz")) and running.poll() is None:
        time.sleep(0.02)
    running.kill()
    running.communicate(timeout=60)
    os.utime(slide, (1, 1))
    done = finish(slide, out)
    assert done.returncode == 0, done.stderr
    assert (out / "tiles.csv").read_bytes() == (uninterrupted / "tiles.csv").read_bytes()


def test_a_wrong_call_exits_2_with_a_sentence(tmp_path: Path) -> None:
    done = finish(tmp_path / "absent.svs", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.startswith("tessera: There is no file")
    assert "Traceback" not in done.stderr
