"""The peers' arms of the GPU benchmark read what ours reads, and count what they did."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from benchmarks import peers, peers_decode  # noqa: E402  # needs torch
from benchmarks.workloads import WORKLOADS, WorkloadSlide, write  # noqa: E402
from inference.models.stains.density import measure_densities  # noqa: E402
from tests.inference.cases import open_path  # noqa: E402

BATCH = 4


@pytest.fixture(scope="module")
def slide(tmp_path_factory) -> WorkloadSlide:
    return write(tmp_path_factory.mktemp("slides"), WORKLOADS["A"], patches=16, distinct=8, processes=1)


def seen(slide: WorkloadSlide, how: peers.How, workers: int = 0) -> tuple[peers.Took, list[torch.Tensor]]:
    batches: list[torch.Tensor] = []
    took = peers.run_loader(
        slide.path, slide.origins, box=256, patch=256, how=how, workers=workers, infer=batches.append, batch=BATCH
    )
    return took, batches


def test_a_patch_of_theirs_is_a_patch_of_ours(slide):
    _, batches = seen(slide, "bytes")
    pixels = torch.cat(batches).numpy()
    ours = open_path(slide.path)
    tiles = {tile.index: ours.decode(tile) for tile in ours.read_tiles(0, range(16))}
    assert np.abs(pixels.astype(int) - np.stack([tiles[k] for k in range(16)])).max() <= 1


def test_floats_of_the_workers_are_the_bytes_that_the_device_normalises(slide):
    floats, pixels = (torch.cat(seen(slide, how)[1]) for how in ("floats", "bytes"))
    normalised = peers.FromBytes(torch.nn.Identity(), torch.float32)(pixels)
    assert floats.shape == normalised.shape == (16, 3, 256, 256)
    assert (floats - normalised).abs().max() < 1e-5


def test_a_numpy_model_is_run_tile_by_tile(slide):
    found: list[object] = []
    count = peers.make_tilewise_model(lambda tile: found.append(measure_densities(tile)))
    peers.run_loader(slide.path, slide.origins, box=256, patch=256, how="bytes", workers=0, infer=count, batch=BATCH)
    reader = open_path(slide.path)
    tiles = {tile.index: measure_densities(reader.decode(tile)) for tile in reader.read_tiles(0, range(16))}
    assert np.allclose(np.stack(found), [tiles[index] for index in range(16)], atol=1e-3)


def test_stains_of_floats_are_those_of_bytes(slide):
    floats, pixels = (torch.cat(seen(slide, how)[1]) for how in ("floats", "bytes"))
    found = peers.compute_stains(floats).numpy()
    assert np.allclose(found, [measure_densities(tile) for tile in pixels.numpy()], atol=1e-4)


def test_the_start_counts_for_the_processors_and_not_for_the_clock(slide):
    took, batches = seen(slide, "floats", workers=1)
    assert sum(map(len, batches)) == took.cpu_patches == 16
    assert took.patches == 16 - (1 + peers.AHEAD) * BATCH
    assert took.seconds > 0
    assert took.cpu_seconds > 0
    assert took.rate == took.patches / took.seconds
    assert str(took).startswith("DataLoader, floats, 1 workers")


@pytest.mark.parametrize(("workers", "ready"), [(0, 1), (2, 5)])
def test_what_the_workers_have_ready_is_no_steady_part(slide, workers, ready):
    origins, more = slide.origins[: 2 * ready], {"box": 256, "patch": 256, "how": "bytes", "infer": len}
    with pytest.raises(ValueError, match=f"more than {ready} batches"):
        peers.run_loader(slide.path, origins, workers=workers, batch=2, **more)


def test_patches_of_another_scale_are_resized_as_they_are_read(slide):
    patches = peers.Patches(slide.path, slide.origins, 448, 224, "bytes")
    assert patches[0].shape == (224, 224, 3)


def test_the_best_number_of_workers_is_the_fastest():
    def arm(workers: int) -> peers.Took:
        rate = {4: 10, 8: 30, 16: 20}[workers]
        return peers.Took(name=str(workers), patches=rate, seconds=1.0, cpu_patches=rate, cpu_seconds=1.0)

    assert peers.choose_fastest(arm).name == "8"


def test_the_model_alone_is_run_on_bytes_batch_after_batch():
    took = peers.run_model_alone(
        lambda pixels: pixels.float().mean(), batch=2, height=32, width=32, device="cpu", seconds=0.01
    )
    assert took.patches % 8 == 0
    assert took.patches >= 8
    assert took.cpu_seconds > 0


def test_both_networks_say_the_same_of_the_same_picture():
    pixels = torch.randint(0, 256, (2, 64, 64, 3), dtype=torch.uint8)
    floats = peers.FromBytes(torch.nn.Identity(), torch.float32)(pixels)
    theirs, ours = peers.make_float_model("cpu", "fp32")(floats), peers.make_byte_model("cpu")(pixels)
    assert torch.allclose(theirs, ours, atol=1e-4)


@pytest.mark.parametrize("make", [peers_decode.make_tessera_decode, peers_decode.make_openslide_decode])
def test_decoding_alone_counts_the_tiles_of_all_processes(slide, make):
    found = peers_decode.decode_alone(slide.path, processes=2, seconds=0.05, make=make)
    assert found.processes == 2
    assert found.tiles % 16 == 0  # whole rounds over all tiles of the slide
    assert found.tiles >= 32
    assert found.rate == found.tiles / found.seconds


def test_it_runs_where_neither_boto3_nor_psycopg_nor_imagecodecs_is():
    script = (
        "import sys\n"
        "for name in ('boto3', 'psycopg', 'imagecodecs', 'tifffile'): sys.modules[name] = None\n"
        "import benchmarks.peers, benchmarks.peers_decode, openslide\n"
        "from benchmarks.workloads import WORKLOADS, _piece\n"
        "print(sum(len(_piece(workload, 0, 0, 1)) for workload in WORKLOADS.values()))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], capture_output=True, check=True)
    assert ran.stdout.split() == [b"4"]
