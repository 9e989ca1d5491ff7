"""Shards of one slide over several processes: the bytes of one, whatever ends on the way. Devices are CPUs here."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from inference.all_devices import OneDevice, list_cuda_devices
from tessera.cli import app
from tessera.local_run.checkpoints import FOLDER
from tessera.local_run.computing import open_runner
from tessera.local_run.inputs import SlideInput, UsageError
from tessera.local_run.multi_gpu import MultiGpuRunner, ProcessEnded
from tessera.local_run.outcomes import Outcome, SlideOutcome
from tessera.local_run.running import choose_models, run_slide
from tessera.local_run.shards import ModelToRun, RunCallbacks, ShardRunner, SingleDeviceRunner
from tessera.local_run.slide_session import SlideSession
from tessera.local_run.sources import Sources
from tests.slides import write_svs
from wsi.errors import ModelError, RejectReason, SlideRejected, SourceChanged
from wsi.portable_errors import make_portable
from wsi.records.jobs import JobOptions

TWO = [OneDevice(title=f"cpu:{number}", name="cpu") for number in range(2)]
TABLES = ("tiles.csv", "tiles.geojson.gz", "heatmap.ome.tif", "tissue.png", "tile_quality.csv")


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 900 tiles: eight shards of four batches for two devices."""
    return write_svs(tmp_path_factory.mktemp("slides") / "large.svs", width=9_216, height=9_216)


@pytest.fixture(scope="module")
def model() -> ModelToRun:
    (one,) = choose_models(["stain-density"], "cpu")
    return one


@dataclass
class Run:
    """A run of a slide into a folder, seen by what it told; `at` is called with each count of tiles."""

    path: Path
    out: Path
    model: ModelToRun
    at: Callable[[int], None] = lambda tiles: None
    stop: threading.Event = field(default_factory=threading.Event)
    told: int = 0

    def __call__(self, where: ShardRunner) -> SlideOutcome:
        opened = SlideSession(SlideInput(location=str(self.path)), Sources())
        callbacks = RunCallbacks(
            stop=self.stop, on_planned=lambda tiles: None, on_tiles=self._tell, on_copy=lambda done, total: None
        )
        with closing(opened):
            return run_slide(
                opened, "large", self.out, self.model, computing=where, callbacks=callbacks, options=JobOptions()
            )

    def _tell(self, tiles: int) -> None:
        self.told += tiles
        self.at(self.told)

    @property
    def tables(self) -> dict[str, bytes]:
        return {name: (self.out / name).read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def alone(slide: Path, model: ModelToRun, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    run = Run(slide, tmp_path_factory.mktemp("alone"), model)
    with open_runner("cpu", [model], 1) as where:
        run(where)
    return run.tables


@pytest.fixture
def lost() -> list[str]:
    return []


@pytest.fixture
def spread(model: ModelToRun, lost: list[str]) -> Iterator[MultiGpuRunner]:
    with closing(MultiGpuRunner(TWO, [model], 1, on_lost=lost.append)) as two:
        yield two


def saved(out: Path) -> list[Path]:
    return sorted((out / FOLDER).glob("shard-*.npz"))


def test_two_processes_give_the_bytes_of_one(spread: MultiGpuRunner, slide, model, alone, tmp_path) -> None:
    run = Run(slide, tmp_path, model)
    outcome = run(spread)
    assert outcome.outcome is Outcome.COMPLETED
    assert run.told == outcome.tiles > 800
    assert run.tables == alone
    assert not (tmp_path / FOLDER).exists()
    assert run(spread).outcome is Outcome.SKIPPED


def test_what_two_devices_left_one_takes_up(spread: MultiGpuRunner, slide, model, alone, tmp_path) -> None:
    run = Run(slide, tmp_path, model)
    run.at = lambda tiles: run.stop.set() if tiles >= 256 else None
    with pytest.raises(KeyboardInterrupt):
        run(spread)
    assert list((tmp_path / FOLDER).glob("*-0*.npz"))  # finished shards or checkpoints
    again = Run(slide, tmp_path, model)
    with open_runner("cpu", [model], 1) as where:
        assert again(where).outcome is Outcome.COMPLETED
    assert again.tables == alone


def test_a_process_that_is_killed_costs_its_shards_a_second_try_elsewhere(
    spread: MultiGpuRunner, slide, model, alone, tmp_path, lost
) -> None:
    killed: list[int] = []

    def kill(tiles: int) -> None:
        if tiles >= 128 and not killed:
            killed.append(spread.pids[0])
            os.kill(killed[0], signal.SIGKILL)

    run = Run(slide, tmp_path, model, at=kill)
    outcome = run(spread)
    assert (outcome.outcome, run.told) == (Outcome.COMPLETED, outcome.tiles)
    assert run.tables == alone
    assert lost == ["cpu:0 ended, and the other devices go on without it"]
    assert spread.pids != killed
    other = Run(slide, tmp_path / "next", model)  # the rest of the run goes on with what is left
    assert other(spread).outcome is Outcome.COMPLETED
    assert other.tables == alone


def test_without_any_process_left_the_slide_ends_with_a_sentence_and_another_run_takes_it_up(
    spread: MultiGpuRunner, slide, model, alone, tmp_path
) -> None:
    def kill(tiles: int) -> None:
        if saved(tmp_path):
            for pid in spread.pids:
                os.kill(pid, signal.SIGKILL)

    with pytest.raises(ProcessEnded, match=r"The process of cpu:\d ended by SIGKILL: .* goes on where it stopped"):
        Run(slide, tmp_path, model, at=kill)(spread)
    left = [path.name for path in saved(tmp_path)]
    assert left
    with pytest.raises(ProcessEnded):  # of the next slide too
        Run(slide, tmp_path / "next", model)(spread)
    with closing(MultiGpuRunner(TWO, [model], 1)) as fresh:
        again = Run(slide, tmp_path, model)
        assert again(fresh).outcome is Outcome.COMPLETED
    assert again.tables == alone


def test_an_error_in_a_process_is_raised_as_it_is_and_the_next_slide_runs(
    spread: MultiGpuRunner, slide, model, alone, tmp_path
) -> None:
    copy = tmp_path / "copy.svs"
    copy.write_bytes(slide.read_bytes())
    run = Run(copy, tmp_path / "out", model)
    opened = SlideSession(SlideInput(location=str(copy)), Sources())
    os.utime(copy, (1, 1))  # as if written over since it was opened
    callbacks = RunCallbacks(
        stop=run.stop, on_planned=lambda tiles: None, on_tiles=run.at, on_copy=lambda done, total: None
    )
    with closing(opened), pytest.raises(SourceChanged):
        run_slide(opened, "copy", run.out, model, computing=spread, callbacks=callbacks, options=JobOptions())
    assert not (run.out / FOLDER).exists()
    assert len(spread.pids) == 2
    assert run(spread).outcome is Outcome.COMPLETED
    assert run.tables == alone


def test_an_error_outside_of_the_processes_leaves_none_behind(spread: MultiGpuRunner, slide, model, tmp_path) -> None:
    pids = spread.pids

    def fail(tiles: int) -> None:
        raise OSError("no terminal")

    with pytest.raises(OSError, match="no terminal"):
        Run(slide, tmp_path, model, at=fail)(spread)
    assert not any(_lives(str(pid)) for pid in pids)
    with pytest.raises(ProcessEnded):
        Run(slide, tmp_path, model)(spread)


def test_a_model_that_can_not_be_loaded_is_told_before_the_first_slide(model: ModelToRun) -> None:
    with pytest.raises(ModelError, match="not magic"):
        MultiGpuRunner(TWO, [replace(model, card=replace(model.card, kind="magic"))])


def test_errors_travel_with_their_traceback_and_foreign_ones_by_name() -> None:
    class Foreign(Exception):
        def __reduce__(self) -> str:
            raise TypeError("not to be taken apart")

    def travelled(error: Exception) -> Exception:
        with pytest.raises(type(error)) as caught:
            raise error
        return pickle.loads(pickle.dumps(make_portable(caught.value)))

    rejected = travelled(SlideRejected(RejectReason.DAMAGED, "Send it again."))
    assert isinstance(rejected, SlideRejected)
    assert (rejected.reason, rejected.sentence) == (RejectReason.DAMAGED, "Send it again.")
    foreign = travelled(Foreign("why"))
    assert str(foreign) == "Foreign: why"
    assert Path(__file__).name in foreign.__notes__[0]


#: `tessera` on a machine whose two GPUs are CPUs.
COMMAND = """
import tessera.local_run.computing
from inference.all_devices import OneDevice
tessera.local_run.computing.list_cuda_devices = lambda: [OneDevice(title=f"cuda:{n}", name="cpu") for n in range(2)]
from tessera.cli import main
main()
"""


def command(slide: Path, out: Path) -> list[str]:
    named = ["--model", "stain-density", "--device", "cuda:all", "--workers", "1", "--out", str(out)]
    return [sys.executable, "-c", COMMAND, "run", str(slide), *named]


def test_ctrl_c_leaves_checkpoints_and_the_same_command_goes_on(slide, alone, tmp_path) -> None:
    out = tmp_path / "out"
    running = subprocess.Popen(
        command(slide, out),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not saved(out) and running.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert "Traceback" not in said
    assert "run the same command again" in said
    assert not (out / "tiles.csv").exists()
    done = subprocess.run(command(slide, out), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {name: (out / name).read_bytes() for name in TABLES} == alone


def test_one_gpu_is_computed_on_in_the_command_itself(model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tessera.local_run.computing.list_cuda_devices", lambda: TWO[:1])
    with open_runner("cuda:all", [model], 1) as where:
        assert isinstance(where, SingleDeviceRunner)
    monkeypatch.setattr("tessera.local_run.computing.list_cuda_devices", lambda: TWO)
    with open_runner("cuda:all", [model], 1) as where:
        assert where.devices == 2


def test_processes_end_with_a_parent_that_is_killed(slide, tmp_path) -> None:
    out = tmp_path / "out"
    running = subprocess.Popen(command(slide, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (out / FOLDER).exists() and running.poll() is None:
        time.sleep(0.01)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    running.kill()
    running.wait()
    assert len(children) >= 2
    deadline = time.monotonic() + 20
    while any(_lives(pid) for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(bool(list_cuda_devices()), reason="there is a GPU here")
def test_all_gpus_of_a_machine_without_any_are_a_wrong_call(slide, tmp_path) -> None:
    arguments = ["run", str(slide), "--model", "stain-density", "--device", "cuda:all", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, UsageError)
    assert "run with device cpu" in str(result.exception)


@pytest.mark.gpu
@pytest.mark.parametrize("count", [1, 2])
def test_gpus_share_a_slide_and_give_the_bytes_of_one(slide, tmp_path, count: int) -> None:
    devices = list_cuda_devices()
    if len(devices) < count:
        pytest.skip(f"needs {count} CUDA devices")
    from tests.inference.packages import write_package

    models = choose_models([str(write_package(tmp_path / "package"))], "cuda")
    one, many = Run(slide, tmp_path / "one", models[0]), Run(slide, tmp_path / "many", models[0])
    with open_runner("cuda", models, 2) as where:
        one(where)
    with closing(MultiGpuRunner(devices[:count], models, 2)) as where:
        many(where)
    assert many.tables == one.tables
