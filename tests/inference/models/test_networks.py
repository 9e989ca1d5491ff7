"""Scores of networks, whatever file they come from, are those of plain torch."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch

from inference.models.checks.tolerance import compare_scores
from inference.models.execution.devices import translate_error, translate_errors
from inference.models.execution.fusing import fuse_layers
from inference.models.execution.scoring import score_tiles
from inference.models.loaded import Queueing
from inference.models.package import read_package
from inference.models.registry import load_model
from tests.inference.cases import open_path, run_all, small_slide, whole_plan
from tests.inference.packages import network, write_package
from tests.inference.packages_with_card import plain, seeded, tiles, vit, write_card_package
from wsi.errors import DeviceLost, ModelError, ModelFailed, UnsuitableDevice
from wsi.planning.plan import Numerics
from wsi.records.model_card import Tolerance
from wsi.results.tile_quality import measure

EXACT = Tolerance(max_difference=2e-6, mean_difference=2e-7, top1_changes=0)
#: `make test-long` compares on as many as `tessera models check` asks for.
TILES = 1024 if os.environ.get("TESSERA_LONG_TESTS") else 256

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def shufflenet():
    torchvision = pytest.importorskip("torchvision")
    with seeded():
        module = torchvision.models.shufflenet_v2_x0_5(num_classes=3)
        for norm in module.modules():
            if isinstance(norm, torch.nn.BatchNorm2d):
                norm.momentum = 1.0  # all from the batch below: as it comes the network hardly tells tiles apart
        with torch.no_grad():
            module(torch.rand(64, 3, 1, 1) * 2 - 1 + torch.randn(64, 3, 32, 32) / 4)
            module.fc.weight *= 0.05  # and now by so much that each last bit counts
        return module.eval()


def of_torchscript(folder, precision):
    write_package(folder, network())
    (folder / "card.json").write_text(f'{{"spec_version": "1.0", "batch": 64, "precision": "{precision}"}}')
    return network()


def of_timm(folder, precision):
    write_card_package(folder, vit(), precision=precision)
    return vit()


def of_torchvision(folder, precision):
    write_card_package(
        folder,
        shufflenet(),
        architecture="torchvision/shufflenet_v2_x0_5",
        architecture_arguments={"num_classes": 3},
        precision=precision,
    )
    return shufflenet()


KINDS = [of_torchscript, of_timm, of_torchvision]


def compared(folder, kind, precision, device, count=TILES):
    """Our scores and those of plain torch in fp32 on the CPU."""
    module = kind(folder, precision)
    card = read_package(folder)
    pixels = tiles(count, 80)
    return card, compare_scores(
        card, score_tiles(load_model(card, folder, device), pixels), plain(card, module, pixels)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_in_fp32_they_are_torchs_own_on_a_thousand_tiles(tmp_path, kind):
    _, found = compared(tmp_path / "net", kind, "fp32", "cpu")
    assert found.tiles == TILES
    assert found.describe_excess(EXACT) is None, found


@pytest.mark.parametrize("kind", KINDS)
def test_in_bf16_on_the_cpu_they_are_near(tmp_path, kind):
    _, found = compared(tmp_path / "net", kind, "bf16", "cpu", count=256)
    assert 1e-6 < found.max_difference < 0.05, "not as sixteen bits are"
    assert found.mean_difference < 0.01


def test_in_fp16_they_are_within_the_default_tolerance(tmp_path):
    card, found = compared(tmp_path / "net", of_torchscript, "fp16", "cpu", count=128)
    assert found.max_difference > 1e-6, "not sixteen bits"
    assert found.describe_excess(card.tolerance) is None, found


def test_the_networks_tell_the_tiles_apart(tmp_path):
    for kind in KINDS:
        module = kind(tmp_path / kind.__name__, "fp32")
        scores = plain(read_package(tmp_path / kind.__name__), module, tiles(64, 80))
        assert scores.std(axis=0).max() > 0.005, kind


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_rows_place_in_the_batch_changes_nothing(tmp_path, precision):
    of_timm(tmp_path / "net", precision)
    card = read_package(tmp_path / "net")
    model, pixels = load_model(card, tmp_path / "net", "cpu"), tiles(64, 80)
    numerics = Numerics(version="1", precision=precision, batch=64, threads=1)
    turned = model.infer(pixels[::-1].copy(), numerics)[::-1]
    assert turned.tobytes() == model.infer(pixels, numerics).tobytes()


def test_a_precision_other_than_the_cards_is_refused(tmp_path):
    of_timm(tmp_path / "net", "bf16")
    card = read_package(tmp_path / "net")
    model = load_model(card, tmp_path / "net", "cpu")
    with pytest.raises(ModelError, match="runs in bf16; the plan asks for fp32"):
        model.infer(tiles(64, 80), Numerics(version="1", precision="fp32", batch=64, threads=1))
    with pytest.raises(ModelError, match="int8"):
        load_model(replace(card, precision="int8"), tmp_path / "net", "cpu")


def test_models_on_the_cpu_answer_at_once(tmp_path):
    of_timm(tmp_path / "net", "fp32")
    assert not isinstance(load_model(read_package(tmp_path / "net"), tmp_path / "net", "cpu"), Queueing)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"), UnsuitableDevice),
        (RuntimeError("CUDA error: out of memory"), UnsuitableDevice),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), UnsuitableDevice),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 8"), UnsuitableDevice),
        (RuntimeError("CUDA error: no kernel image is available for execution on the device"), UnsuitableDevice),
        (torch.AcceleratorError("CUDA error: device-side assert triggered"), DeviceLost),
        (torch.AcceleratorError("CUDA error: uncorrectable ECC error encountered"), DeviceLost),
        (torch.AcceleratorError("CUDA error: an illegal memory access was encountered"), DeviceLost),
        (torch.AcceleratorError("CUDA error: unspecified launch failure"), DeviceLost),
        (RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"), DeviceLost),
        (torch.AcceleratorError("CUDA error: operation not permitted when stream is capturing"), ModelFailed),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), ModelFailed),
    ],
)
def test_errors_of_the_device_say_what_helps(error, kind):
    device = torch.device("cuda")
    assert type(translate_error(error, 256, device)) is kind
    with pytest.raises(kind) as raised, translate_errors(256, device):
        raise error
    assert raised.value.__cause__ is error
    assert raised.value.sentence.endswith(".")


def test_a_network_on_the_cpu_that_asks_for_a_gpu_does_not_count_as_a_broken_one():
    error = RuntimeError("CUDA error: no CUDA-capable device is detected")
    assert type(translate_error(error, 256, torch.device("cuda"))) is DeviceLost
    assert type(translate_error(error, 256, torch.device("cpu"))) is ModelFailed


def test_a_network_that_breaks_off_on_the_cpu_says_why(tmp_path):
    class Picky(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.shape[0] == 5:
                raise RuntimeError("too bright")
            return x.mean(dim=(2, 3))[:, :2]

    folder = write_package(tmp_path / "net", Picky())
    model = load_model(read_package(folder), folder, "cpu")
    with pytest.raises(ModelFailed, match=r"broke off: too bright\."):
        model.infer(np.full((5, 64, 64, 3), 255, np.uint8), Numerics(version="1", precision="fp32", batch=5, threads=1))


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("precision", "most"), [("fp32", 1e-4), ("fp16", 5e-3), ("bf16", 2e-2)])
def test_on_cuda_they_are_near_torchs_own_on_the_cpu(tmp_path, kind, precision, most):
    _, found = compared(tmp_path / "net", kind, precision, "cuda")
    assert found.max_difference < most, found
    assert found.mean_difference < most / 4, found


@pytest.mark.gpu
@needs_cuda
def test_on_cuda_two_batches_in_flight_are_those_of_one_after_the_other(tmp_path):
    of_timm(tmp_path / "net", "fp16")
    card = read_package(tmp_path / "net")
    model = load_model(card, tmp_path / "net", "cuda")
    assert isinstance(model, Queueing)
    numerics = Numerics(version="1", precision="fp16", batch=64, threads=1)
    batches = [torch.from_numpy(tiles(64, 80, seed)).pin_memory().numpy() for seed in range(6)]
    alone = [(model.infer(batch, numerics).tobytes(), measure(batch).tobytes()) for batch in batches]
    assert len(set(alone)) == len(batches)
    flying, queued = [], []
    for batch in batches:
        flying.append(model.start(batch, numerics))
        if len(flying) == 2:
            first = flying.pop(0)
            queued.append((first.wait_for_scores().tobytes(), first.get_quality().tobytes()))
            assert 0 < first.seconds < 1
    last = flying.pop()
    queued.append((last.wait_for_scores().tobytes(), last.get_quality().tobytes()))
    assert queued == alone


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize("batch", [7, 64])
def test_on_cuda_how_tiles_look_has_the_bytes_of_the_cpu(tmp_path, batch):
    of_torchscript(tmp_path / "net", "fp16")
    card = read_package(tmp_path / "net")
    with closing(open_path(small_slide(tmp_path))) as reader:
        plan = whole_plan(reader, card=card, batch=batch)
        found, expected = (
            run_all(plan, reader, model=load_model(card, tmp_path / "net", device)).quality
            for device in ("cuda", "cpu")
        )
    assert found is not None
    assert expected is not None
    assert found.tobytes() == expected.tobytes()


@pytest.mark.gpu
@needs_cuda
def test_on_cuda_more_shapes_than_stay_are_recorded_again(tmp_path):
    of_timm(tmp_path / "net", "fp16")
    model = load_model(read_package(tmp_path / "net"), tmp_path / "net", "cuda")
    numerics = Numerics(version="1", precision="fp16", batch=64, threads=1)
    sides = [48, 56, 64, 72, 80, 88]
    first = [model.infer(tiles(64, side), numerics).tobytes() for side in sides]
    assert [model.infer(tiles(64, side), numerics).tobytes() for side in sides] == first


@pytest.mark.gpu
@needs_cuda
def test_on_cuda_a_model_that_loads_in_another_thread_changes_nothing(tmp_path):
    of_timm(tmp_path / "net", "fp16")
    card = read_package(tmp_path / "net")
    model, pixels = load_model(card, tmp_path / "net", "cuda"), tiles(64, 80)
    numerics = Numerics(version="1", precision="fp16", batch=64, threads=1)
    alone = model.infer(pixels, numerics).tobytes()
    with ThreadPoolExecutor(1) as pool:
        others = [pool.submit(load_model, card, tmp_path / "net", "cuda") for _ in range(6)]
        while not all(other.done() for other in others):
            assert model.infer(pixels, numerics).tobytes() == alone
    assert {other.result().infer(pixels, numerics).tobytes() for other in others} == {alone}


@pytest.mark.gpu
@needs_cuda
def test_on_cuda_a_network_that_no_graph_can_hold_runs_without_one_and_says_so_once(tmp_path, caplog):
    class Chooses(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = x.mean(dim=(2, 3))[:, :2]
            if bool(scores.sum() > 1e9):  # a value that the CPU waits for
                return -scores
            return scores

    folder = write_package(tmp_path / "net", Chooses())
    model = load_model(read_package(folder), folder, "cuda")
    numerics = Numerics(version="1", precision="fp32", batch=8, threads=1)
    expected = load_model(read_package(folder), folder, "cpu")
    assert isinstance(model, Queueing)
    for side in (80, 96):
        pixels = tiles(8, side)
        started = model.start(pixels, numerics)
        np.testing.assert_allclose(started.wait_for_scores(), expected.infer(pixels, numerics), atol=1e-5)
        assert started.get_quality().tobytes() == measure(pixels).tobytes()
    assert [record.message for record in caplog.records].count("no CUDA graph: the network runs kernel by kernel") == 1


@pytest.mark.gpu
@needs_cuda
def test_on_cuda_a_batch_that_no_memory_holds_is_unsuitable(tmp_path):
    of_timm(tmp_path / "net", "fp16")
    model = load_model(read_package(tmp_path / "net"), tmp_path / "net", "cuda")
    huge = np.broadcast_to(np.zeros((1, 1, 1, 3), np.uint8), (400_000, 1000, 1000, 3))  # 1.2 TB, of 3 bytes
    numerics = Numerics(version="1", precision="fp16", batch=len(huge), threads=1)
    with pytest.raises(UnsuitableDevice, match="400000 tiles"):
        model.infer(huge, numerics)
    assert np.isfinite(model.infer(tiles(64, 80), replace(numerics, batch=64))).all()


@pytest.mark.gpu
@needs_cuda
def test_on_cuda_convolutions_are_fused_and_stay_near_the_plain_network():
    from torchvision.models import resnet18

    torch.manual_seed(1)
    plain_one = resnet18(weights=None).eval().to("cuda", torch.float16).to(memory_format=torch.channels_last)
    example = torch.rand(2, 3, 96, 96, device="cuda").half().contiguous(memory_format=torch.channels_last)
    made = fuse_layers(plain_one, example)
    assert isinstance(made, torch.jit.ScriptModule)
    batch = torch.rand(7, 3, 96, 96, device="cuda").half().contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        expected = plain_one(batch).float()
        assert (made(batch).float() - expected).abs().max() < 0.01 * expected.abs().max()
