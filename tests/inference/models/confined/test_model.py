"""Models in locked processes: the same scores, and faults that cost the model alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from inference.memory import read_machine_bytes
from inference.models.checks.network_check import Inspectable
from inference.models.confined import messages
from inference.models.confined.lock import can_lock
from inference.models.confined.messages import SlotLayout
from inference.models.confined.model import ConfinedModel, load_confined
from inference.models.confined.process import ModelLimits
from inference.models.execution.scoring import score_tiles
from inference.models.loaded import InFlight, Queueing
from inference.models.package import read_package
from inference.models.registry import load_guarded, load_model
from tests.inference.packages import Small, network, write_package
from wsi.errors import DeviceLost, ModelError, ModelFailed, UnsuitableDevice
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Numerics

pytestmark = pytest.mark.skipif(not can_lock(), reason="needs Linux with Landlock, on x86-64")
WHITE = np.full((1, 256, 256, 3), 255, np.uint8)


class Trap(torch.nn.Module):
    """A network like others, until it sees a tile that is white all over."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Small()
        self.inner.load_state_dict(network().state_dict())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


class Endless(Trap):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while bool(x.amin(dim=[1, 2, 3]).max() > 2.2):
            x = x + 1
        return self.inner(x)


class Hoarding(Trap):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = [x]
        while bool(x.amin(dim=[1, 2, 3]).max() > 2.2):
            kept.append(torch.ones(1 << 22))
        return self.inner(x) + 0 * kept[-1].sum()  # used, or the compiler leaves it out


class Talking(Trap):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print("patient of the tile")  # noqa: T201
        return self.inner(x)


@pytest.fixture(scope="module")
def pixels():
    return np.random.default_rng(0).integers(0, 256, (40, 256, 256, 3), np.uint8)


def confined(folder: Path, **limits: float) -> ConfinedModel:
    model = load_confined(read_package(folder), folder, "cpu", ModelLimits(**limits))
    assert isinstance(model, ConfinedModel)
    return model


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_scores_are_those_of_the_model_in_this_process_to_the_byte(tmp_path, pixels, capfd):
    folder = write_package(tmp_path / "net", Talking())
    card = read_package(folder)
    there = load_guarded(card, folder, "cpu")
    assert isinstance(there, ConfinedModel)
    assert there.card == card
    scores, output = score_tiles(there, pixels), there.compute_output(pixels[:3])
    assert "patient" not in "".join(capfd.readouterr()), "a network writes into the worker's log"
    here = load_model(card, folder, "cpu")
    assert isinstance(here, Inspectable)
    assert scores.tobytes() == score_tiles(here, pixels).tobytes()
    assert output.tobytes() == here.compute_output(pixels[:3]).tobytes()


@pytest.mark.exhaustive
def test_a_process_that_dies_costs_its_batch_and_is_replaced(tmp_path, pixels):
    model = confined(write_package(tmp_path / "net"))
    before, pid = score_tiles(model, pixels), model.pid
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(ModelFailed, match="SIGKILL"):
        score_tiles(model, pixels)
    assert score_tiles(model, pixels).tobytes() == before.tobytes()
    assert model.pid != pid


@pytest.mark.exhaustive
def test_signals_to_the_whole_group_leave_the_process(tmp_path, pixels):
    model = confined(write_package(tmp_path / "net"))
    pid = model.pid
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(pid, number)
    assert len(score_tiles(model, pixels)) == len(pixels)
    assert model.pid == pid


@pytest.mark.exhaustive
def test_the_process_ends_with_the_model(tmp_path):
    model = confined(write_package(tmp_path / "net"))
    pid = model.pid
    assert is_running(pid)
    del model
    assert not is_running(pid)


def test_a_network_that_never_returns_is_stopped(tmp_path):
    model = confined(write_package(tmp_path / "net", Endless()), answer_seconds=2)
    pid = model.pid
    with pytest.raises(ModelFailed, match="did not answer within 2 seconds"):
        score_tiles(model, WHITE)
    assert not is_running(pid)


@pytest.mark.exhaustive
def test_a_network_that_hoards_memory_is_stopped(tmp_path):
    share = 1.5 * 1024**3 / read_machine_bytes()
    model = confined(write_package(tmp_path / "net", Hoarding()), memory_share=share)
    with pytest.raises(ModelFailed, match=r"more than 1\.5 GiB of memory"):
        score_tiles(model, WHITE)


PARENT = """
import sys
import numpy as np
from pathlib import Path
from inference.models.confined.model import load_confined
from inference.models.execution.scoring import score_tiles
from inference.models.loaded import InFlight, Queueing
from inference.models.package import read_package
folder = Path(sys.argv[1])
model = load_confined(read_package(folder), folder, "cpu")
print(model.pid, flush=True)
score_tiles(model, np.full((1, 256, 256, 3), 255, np.uint8))
"""


@pytest.mark.exhaustive
def test_the_process_ends_with_its_parent_whatever_the_network_does(tmp_path):
    folder = write_package(tmp_path / "net", Endless())
    with subprocess.Popen([sys.executable, "-c", PARENT, str(folder)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    for _ in range(600):
        if not is_running(pid):
            return
        time.sleep(0.05)
    raise AssertionError("the process of the model outlived its parent")


@pytest.mark.exhaustive
def test_what_is_wrong_with_a_package_is_said_as_without_a_lock(tmp_path):
    folder = write_package(tmp_path / "net")
    (folder / "torchscript_model.pt").write_bytes(b"no archive")
    card = read_package(folder)
    sentences = set()
    for load in (load_model, load_guarded):
        with pytest.raises(ModelError) as raised:
            load(card, folder, "cpu")
        sentences.add(raised.value.sentence)
    assert len(sentences) == 1


@pytest.mark.gpu
def test_a_gpu_gives_the_same_bytes_and_quality_from_a_locked_process(tmp_path):
    """Also with three batches in flight, on slots that are used again."""
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    folder = write_package(tmp_path / "net")
    card = read_package(folder)
    numerics = Numerics(version="1", precision=card.precision, batch=card.batch, threads=1)
    batches = np.random.default_rng(1).integers(0, 256, (7, card.batch, 256, 256, 3), np.uint8)
    tables = []
    for load in (load_model, load_guarded):
        model = load(card, folder, "cuda")
        assert isinstance(model, Queueing)
        flying: deque[InFlight] = deque()
        table = []
        for batch in [*batches, *[None] * model.depth]:
            if batch is None or len(flying) == model.depth:
                done = flying.popleft() if flying else None
                table += [done.wait_for_scores().tobytes(), done.get_quality().tobytes()] if done else []
            if batch is not None:
                flying.append(model.start(batch, numerics))
        assert len(table) == 2 * len(batches)
        tables.append(table)
    assert tables[0] == tables[1]


def test_a_device_that_is_not_there_is_said_to_be_missing(tmp_path):
    folder = write_package(tmp_path / "net")
    with pytest.raises(ModelError, match="CUDA device"):
        load_guarded(read_package(folder), folder, "cuda:9")


def test_a_machine_that_cannot_lock_refuses_models_that_are_code(tmp_path):
    folder = write_package(tmp_path / "net")
    with pytest.raises(ModelError, match="cannot lock its process"):
        load_guarded(read_package(folder), folder, "cpu", can_lock=lambda: False)


def test_a_model_that_is_no_code_stays_in_this_process():
    assert not isinstance(load_guarded(STAIN_DENSITY, None, "cpu"), ConfinedModel)


@pytest.mark.exhaustive
def test_cards_longer_than_a_packet_reach_the_process(tmp_path, pixels):
    folder = write_package(tmp_path / "net")
    card = replace(read_package(folder), description="scores of tiles " * 20_000)
    model = load_confined(card, folder, "cpu")
    assert model.card == card


@pytest.mark.parametrize("kind", [ModelError, ModelFailed, UnsuitableDevice, DeviceLost])
def test_errors_cross_as_they_are(kind):
    with pytest.raises(kind, match="a sentence") as raised:
        messages.raise_error(messages.describe(kind("It is a sentence.")))
    assert type(raised.value) is kind


def test_foreign_errors_cross_without_their_text():
    with pytest.raises(ModelFailed) as raised:
        messages.raise_error(messages.describe(KeyError("/home/pathologist/patient.svs")))
    assert "patient" not in raised.value.sentence


def test_a_sentence_from_the_process_is_bounded_and_its_class_one_of_four():
    with pytest.raises(ModelFailed) as raised:
        messages.raise_error({"error": "SystemExit", "sentence": "x" * 10**6})
    assert len(raised.value.sentence) == messages.MOST_LETTERS


def test_parts_of_a_slot_do_not_overlap():
    layout = SlotLayout((3, 5, 7, 3), 2)
    memory = np.zeros(layout.bytes, np.uint8)
    layout.view_pixels(memory)[:] = 255
    layout.view_scores(memory)[:] = 1
    layout.view_quality(memory)[:] = 2
    assert (layout.view_pixels(memory) == 255).all()
    assert (layout.view_scores(memory) == 1).all()
    assert (layout.view_quality(memory) == 2).all()
