"""Stain normalisation by a card's reference: against plain numpy, for every kind of tile, alone and in batches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from inference.models.checks.network_check import make_tiles
from inference.models.execution.scoring import score_tiles
from inference.models.package import read_package
from inference.models.preprocessing import Preprocessing
from inference.models.registry import load_model
from inference.models.stains.cielab import Lab
from inference.models.stains.normalisation import StainNormaliser
from tests.inference.onnx_packages import write_onnx_package
from tests.inference.packages_with_card import plain, vit, write_card_package
from tests.inference.stain_oracles import lab_of, macenko, reinhard, stains_of
from tests.shared_slides import shared_slide
from tests.tissue import he_tissue, stained_tissue
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.model_card import Channels, Resize
from wsi.records.stain_normalisation import PUBLISHED, Macenko, Reinhard, StainNormalisation

CPU = torch.device("cpu")
GOLDENS = Path(__file__).parents[2] / "goldens" / "stains.npz"
REINHARD = Reinhard(means=(66.0, 21.5, -12.25), stds=(13.5, 8.0, 5.5))
METHODS: list[StainNormalisation] = [PUBLISHED, replace(PUBLISHED, io=255.0, alpha=0.5, beta=0.1), REINHARD]
ORACLES = {"macenko": macenko, "reinhard": reinhard}
#: As cards write them.
MACENKO_JSON = {
    "method": "macenko",
    "stain_vectors": [[0.5626, 0.7201, 0.4062], [0.2159, 0.8012, 0.5581]],
    "max_concentrations": [1.9705, 1.0308],
}
REINHARD_JSON = {"method": "reinhard", "means": list(REINHARD.means), "stds": list(REINHARD.stds)}


def normalised(stated: StainNormalisation, tiles: NDArray[np.uint8], device: torch.device = CPU) -> NDArray[np.uint8]:
    return StainNormaliser(stated, device)(torch.from_numpy(tiles).to(device)).cpu().numpy()


def differs(made: NDArray[np.uint8], expected: NDArray[np.uint8]) -> tuple[int, float]:
    """Return the largest difference in grey values, and the share of values that differ."""
    apart = np.abs(made.astype(int) - expected)
    return int(apart.max()), float((apart > 0).mean())


@pytest.mark.parametrize("stated", METHODS)
def test_tiles_are_normalised_as_plain_numpy_does_it(stated: StainNormalisation) -> None:
    tiles = np.concatenate([stained_tissue(4, 96), np.stack(make_tiles(96))[:2]])
    expected = np.stack([ORACLES[stated.method](tile, stated) for tile in tiles])
    furthest, share = differs(normalised(stated, tiles), expected)
    # Macenko's fractions are cut off: one that lies by the last bit of a float below a whole number is another grey
    # value. Plain numpy has the textbook's Lab, of which OpenCV's whole numbers are one off in ten of a hundred values.
    assert furthest <= (1 if isinstance(stated, Macenko) else 24)
    assert share < (1e-3 if isinstance(stated, Macenko) else 0.4)


@pytest.mark.parametrize("stated", METHODS)
def test_real_tissue_is_normalised_as_plain_numpy_does_it(stated: StainNormalisation) -> None:
    openslide = pytest.importorskip("openslide")  # machines that are lent for their GPU lack it
    with openslide.OpenSlide(shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")) as slide:
        places = [(900, 1200), (1500, 2200), (1000, 600), (1700, 1000)]
        tiles = np.stack([np.asarray(slide.read_region(at, 0, (256, 256)).convert("RGB")) for at in places])
    furthest, share = differs(normalised(stated, tiles), np.stack([ORACLES[stated.method](t, stated) for t in tiles]))
    assert furthest <= (1 if isinstance(stated, Macenko) else 24)
    assert share < (1e-3 if isinstance(stated, Macenko) else 0.4)


def test_tiles_come_as_from_torchstain_and_from_opencv() -> None:
    """Their own bytes, of `goldens/make_stains.py`."""
    tiles = stained_tissue(4, 48)
    with np.load(GOLDENS) as golden:
        for stated, theirs in ((PUBLISHED, golden["torchstain"]), (REINHARD, golden["opencv"])):
            furthest, share = differs(normalised(stated, tiles), theirs)
            assert furthest <= 3
            assert share < 2e-3


def test_a_tile_brought_to_its_own_stains_stays_nearly_what_it_is() -> None:
    (tile,) = stained_tissue(1, 96)
    vectors, _, largest = stains_of(tile, PUBLISHED)
    (one, other), (most, least) = vectors.tolist(), largest.tolist()
    own = replace(PUBLISHED, stain_vectors=(tuple(one), tuple(other)), max_concentrations=(most, least))
    made = normalised(own, tile[None])[0].astype(int)
    # What lies off the plane of the two stains, as noise does, is lost.
    assert np.abs(made - tile).mean() < 4
    lab = lab_of(tile) / (2.55, 1, 1) - (0, 128, 128)
    own_colours = Reinhard(means=tuple(lab.mean(axis=(0, 1)).tolist()), stds=tuple(lab.std(axis=(0, 1)).tolist()))
    assert np.abs(normalised(own_colours, tile[None])[0].astype(int) - tile).mean() < 2


def test_stains_of_another_strength_become_those_of_the_reference() -> None:
    """A tile of more stain and the same tile of less end nearer to each other than they were."""
    strong, weak = (stained_tissue(1, 96, strength) for strength in (3.2, 2.2))
    apart = np.abs(strong.astype(int) - weak).mean()
    for stated in METHODS:
        made = normalised(stated, np.concatenate([strong, weak])).astype(int)
        assert np.abs(made[0] - made[1]).mean() < apart / 3


@pytest.mark.parametrize("stated", METHODS)
@pytest.mark.parametrize(
    "colour", [(255, 255, 255), (243, 241, 244), (0, 0, 0), (226, 164, 197), (239, 239, 239), (128, 128, 128)]
)
def test_a_tile_of_one_colour_stays_as_it_is(stated: StainNormalisation, colour: tuple[int, int, int]) -> None:
    tile = np.full((1, 64, 64, 3), colour, np.uint8)
    np.testing.assert_array_equal(normalised(stated, tile), tile)


def test_a_tile_with_seven_pixels_of_tissue_stays_as_it_is_by_macenko() -> None:
    """Of which the published code makes the 99th percentile of a stain -0.07, and so a negative of the tile."""
    openslide = pytest.importorskip("openslide")
    with openslide.OpenSlide(shared_slide("derived/cmu-small-region.pyramid-jpeg-ycbcr.tif")) as slide:
        read = slide.read_region((522, 1305), 0, (261, 261)).convert("RGB").resize((96, 96), 2)
    tile = np.array(read)[None]
    assert stains_of(tile[0], PUBLISHED)[2].min() < 0
    np.testing.assert_array_equal(normalised(PUBLISHED, tile), tile)


def test_a_tile_without_two_stains_stays_as_it_is_by_macenko() -> None:
    """Glass alone; one pixel of tissue; two colours, which span no plane; and shades of one grey."""
    glass = he_tissue(np.random.default_rng(0), 64, 64) // 64 + 238
    one, two = glass.copy(), glass.copy()
    one[3, 5] = two[3, 5] = (120, 60, 130)
    two[40, 7] = (200, 120, 160)
    greys = np.arange(64 * 64, dtype=np.uint8).reshape(64, 64, 1).repeat(3, axis=2)
    tiles = np.stack([glass, one, two, greys])
    np.testing.assert_array_equal(normalised(PUBLISHED, tiles), tiles)


@settings(max_examples=20)
@given(st.permutations(range(5)), st.integers(1, 5), st.sampled_from(METHODS))
def test_a_tile_gives_the_same_bytes_alone_and_anywhere_in_a_batch(
    order: list[int], count: int, stated: StainNormalisation
) -> None:
    tiles = np.concatenate([stained_tissue(3, 61), np.stack(make_tiles(61))[1:]])
    alone = [normalised(stated, tile[None])[0] for tile in tiles]
    chosen = order[:count]
    np.testing.assert_array_equal(normalised(stated, tiles[chosen]), np.stack([alone[number] for number in chosen]))


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.integers(0, 255), st.integers(1, 256), st.sampled_from(METHODS))
def test_any_pixels_give_finite_greys(seed: int, low: int, spread: int, stated: StainNormalisation) -> None:
    rng = np.random.default_rng(seed)
    tile = rng.integers(low, min(low + spread, 256), (1, 24, 17, 3)).astype(np.uint8)
    with np.errstate(all="raise"):
        made = normalised(stated, tile)
    assert (made.shape, made.dtype) == (tile.shape, np.uint8)


def test_lab_in_8_bits_has_opencvs_values() -> None:
    steps = [*range(0, 256, 32), 255]
    colours = torch.tensor([(one, two, three) for one in steps for two in steps for three in steps]).T[None]
    with np.load(GOLDENS) as golden:
        np.testing.assert_array_equal(Lab(CPU).from_rgb(colours)[0].T.numpy(), golden["lab"])
        np.testing.assert_array_equal(Lab(CPU).to_rgb(colours)[0].T.numpy(), golden["rgb"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("resize", list(Resize))
def test_the_resize_comes_before_and_mean_and_channels_after(dtype: torch.dtype, resize: Resize) -> None:
    card = replace(
        STAIN_DENSITY, input_px=48, resize=resize, mean=(0.1, 0.2, 0.3), std=(0.4, 0.5, 0.6), channels=Channels.BGR
    )
    tiles = stained_tissue(2, 96)
    grey = replace(card, mean=(0, 0, 0), std=(1 / 255,) * 3, channels=Channels.RGB)
    small = Preprocessing(grey, CPU, torch.float32)(torch.from_numpy(tiles)).round().permute(0, 2, 3, 1)
    ready = np.stack([macenko(tile, PUBLISHED) for tile in small.numpy().astype(np.uint8)])
    expected = Preprocessing(card, CPU, dtype)(torch.from_numpy(ready))
    made = Preprocessing(replace(card, stain_normalisation=PUBLISHED), CPU, dtype)(torch.from_numpy(tiles))
    assert (made.dtype, made.shape) == (dtype, (2, 3, 48, 48))
    one_grey = 1.02 / 255 / 0.4 + 0.02 * (dtype != torch.float32)
    assert float((made.float() - expected.float()).abs().max()) <= one_grey


@pytest.mark.parametrize(("stated", "said"), [(PUBLISHED, MACENKO_JSON), (REINHARD, REINHARD_JSON)])
def test_a_package_is_normalised_as_its_card_says(tmp_path: Path, stated: StainNormalisation, said: dict) -> None:
    folder = write_card_package(tmp_path, vit(), stain_normalisation=said, resize="pillow-bilinear", input_px=32)
    card = read_package(folder)
    assert card.stain_normalisation == stated
    tiles = stained_tissue(6, 32)
    expected = plain(card, vit(), np.stack([ORACLES[stated.method](tile, stated) for tile in tiles]))
    scores = score_tiles(load_model(card, folder, "cpu"), tiles)
    assert np.abs(scores - expected).max() < 2e-3
    bare = replace(card, stain_normalisation=None)
    assert np.abs(score_tiles(load_model(bare, folder, "cpu"), tiles) - scores).max() > 0.01


@pytest.mark.parametrize("resize", list(Resize))
def test_an_onnx_package_gets_the_tiles_that_a_torch_network_gets(tmp_path: Path, resize: Resize) -> None:
    folder = write_onnx_package(tmp_path, stain_normalisation=MACENKO_JSON, resize=resize.value)
    card = read_package(folder)
    tiles = stained_tissue(3, 80)
    grey = replace(card, mean=(0, 0, 0), std=(1 / 255,) * 3)
    ready = Preprocessing(grey, CPU, torch.float32)(torch.from_numpy(tiles)).round().permute(0, 2, 3, 1)
    bare = load_model(replace(card, stain_normalisation=None), folder, "cpu")
    expected = score_tiles(bare, ready.numpy().astype(np.uint8))
    np.testing.assert_allclose(score_tiles(load_model(card, folder, "cpu"), tiles), expected, atol=2e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("stated", METHODS)
def test_on_cuda_a_recorded_graph_is_one_grey_value_off_at_most(stated: StainNormalisation) -> None:
    device = torch.device("cuda")
    tiles = np.concatenate([stained_tissue(67, 224), np.stack(make_tiles(224)), np.zeros((1, 224, 224, 3), np.uint8)])
    normaliser, fed = StainNormaliser(stated, device), torch.from_numpy(np.zeros_like(tiles)).to(device)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.inference_mode(), torch.cuda.stream(stream):
        normaliser(fed)
        torch.cuda.set_sync_debug_mode("error")
        try:
            normaliser(fed)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        with torch.cuda.graph(graph, stream=stream):
            made = normaliser(fed)
        fed.copy_(torch.from_numpy(tiles))
        graph.replay()
        found = made.cpu().numpy()
    furthest, share = differs(found, normalised(stated, tiles))
    assert furthest <= 1
    assert share < 1e-5
    np.testing.assert_array_equal(normalised(stated, tiles[3:4], device)[0], found[3])
