"""features.h5 as its readers open it: TRIDENT, Patho-Bench, CLAM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.wsi.plans import inspection, plan, shard_results, small_card
from wsi.errors import JobFailed
from wsi.planning.plan import Plan
from wsi.records.model_card import ModelCard, OutputKind
from wsi.records.outputs import EmbeddingOutput, Stored
from wsi.results.shard_result import ShardResult
from wsi.results.sink import FolderSink
from wsi.results.stitching import stitch

DIMENSIONS = 80


def encoder(stored: Stored = Stored.FP32, **changes: object) -> ModelCard:
    embedding = EmbeddingOutput(dimensions=DIMENSIONS, pooling="cls+mean", stored=stored)
    return small_card(
        name="encoder", columns=(), output=OutputKind.EMBEDDING, embedding=embedding, licence="Apache-2.0", **changes
    )


def vectors_of(made: Plan, kind: type = np.float32) -> NDArray[Any]:
    return np.random.default_rng(7).normal(size=(len(made.tiles), DIMENSIONS)).astype(kind)


def stitched(made: Plan, results: Sequence[ShardResult], folder: Path) -> Path:
    stitch(made, [ShardResult.from_bytes(each.to_bytes()) for each in results], FolderSink(folder), run={})
    return folder / "features.h5"


def read_as_trident(path: Path) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]:
    """Return features, coords and the attributes that its slide encoders ask for (TRIDENT a91fa84, WSI.py)."""
    with h5py.File(path, "r") as file:
        coords, features = file["coords"], file["features"]
        attributes = dict(coords.attrs)
        asked = ("patch_size", "level0_magnification", "target_magnification", "patch_size_level0")
        assert all(name in attributes for name in asked)
        return features[:], coords[:], attributes


def test_tridents_reader_finds_each_vector_at_its_tile(tmp_path):
    made = plan(inspection(1900, 1500, mpp=0.25), card=encoder())
    vectors = vectors_of(made)
    features, coords, attributes = read_as_trident(stitched(made, shard_results(made, vectors), tmp_path))
    np.testing.assert_array_equal(features, vectors)
    np.testing.assert_array_equal(coords, made.tiles)
    assert (features.dtype, coords.dtype) == (np.float32, np.int64)
    assert attributes["patch_size"] == 64
    assert attributes["patch_size_level0"] == made.grid.stride == 128
    assert (attributes["level0_magnification"], attributes["target_magnification"]) == (40, 20)


def test_coords_lie_in_the_cells_of_slide_encoders_without_drift(tmp_path):
    made = plan(inspection(60_000, 4000, mpp=0.2527), card=replace(encoder(), tile_px=224, input_px=224))
    step = made.grid.stride
    _, coords, attributes = read_as_trident(stitched(made, shard_results(made, vectors_of(made)), tmp_path))
    assert int(attributes["patch_size_level0"]) == attributes["patch_size_level0"] == step
    assert not (coords % step).any()
    cells = coords // step  # as TITAN, GigaPath and CARE find them
    assert len(np.unique(cells, axis=0)) == len(coords)


def test_clams_and_patho_benchs_readers_get_plain_arrays_of_equal_length(tmp_path):
    made = plan(inspection(640, 640, mpp=0.5), card=encoder())
    with h5py.File(stitched(made, shard_results(made, vectors_of(made)), tmp_path), "r") as file:
        assert set(file.keys()) == {"coords", "features"}
        features, coords = file["features"][:], file["coords"][:]  # CLAM dataset_generic.py
        assert len(features) == len(coords) == 100
        assert file["features"].chunks == (100, DIMENSIONS)
        assert file["features"].attrs["encoder"] == "encoder"
        assert file["features"].attrs["pooling"] == "cls+mean"
        assert file["features"].attrs["licence"] == "Apache-2.0"


def test_vectors_stored_as_fp16_stay_so_from_shard_to_file(tmp_path):
    made = plan(inspection(640, 640, mpp=0.5), card=encoder(Stored.FP16))
    vectors = vectors_of(made, np.float16)
    features, _, _ = read_as_trident(stitched(made, shard_results(made, vectors), tmp_path))
    assert features.dtype == np.float16
    np.testing.assert_array_equal(features, vectors)


def test_a_slide_of_one_tile_keeps_both_axes(tmp_path):
    mask = np.zeros((10, 10), dtype=np.bool_)
    mask[0, 0] = True
    made = plan(inspection(640, 640, mpp=0.5), card=encoder(), mask=mask)
    features, coords, _ = read_as_trident(stitched(made, shard_results(made, vectors_of(made)), tmp_path))
    assert (features.shape, coords.shape) == ((1, DIMENSIONS), (1, 2))


def test_a_slide_whose_tiles_are_all_unreadable_has_no_rows_and_both_axes(tmp_path):
    mask = np.zeros((10, 10), dtype=np.bool_)
    mask[0, 0] = True
    made = plan(inspection(640, 640, mpp=0.5), card=encoder(), mask=mask)
    path = stitched(made, shard_results(made, vectors_of(made), {0: "file tile 65: bad"}), tmp_path)
    features, coords, _ = read_as_trident(path)
    assert (features.shape, coords.shape) == ((0, DIMENSIONS), (0, 2))


def test_a_slide_without_tissue_has_no_file_of_vectors(tmp_path):
    made = plan(inspection(640, 640, mpp=0.5), card=encoder(), mask=np.zeros((10, 10), dtype=np.bool_))
    files = stitch(made, (), FolderSink(tmp_path), run={})
    assert "features.h5" not in [file.name for file in files]
    assert json.loads((tmp_path / "summary.json").read_text())["status"] == "NO_TISSUE"


def test_unreadable_tiles_have_no_row_and_are_in_the_summary(tmp_path):
    made = plan(inspection(640, 640, mpp=0.5), card=encoder())
    vectors = vectors_of(made)
    path = stitched(made, shard_results(made, vectors, {3: "file tile 65: bad"}), tmp_path)
    features, coords, _ = read_as_trident(path)
    np.testing.assert_array_equal(features, np.delete(vectors, 3, axis=0))
    np.testing.assert_array_equal(coords, np.delete(made.tiles, 3, axis=0))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["tiles"] == {"planned": 100, "inferred": 99, "unreadable": 1}
    assert summary["model"]["embedding"] == {"dimensions": DIMENSIONS, "pooling": "cls+mean", "stored": "fp32"}
    assert summary["model"]["licence"] == "Apache-2.0"


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_any_cut_into_shards_in_any_order_gives_the_same_bytes(data, tmp_path_factory):
    made = plan(inspection(3000, 2600), card=encoder())
    vectors = vectors_of(made)
    expected = stitched(made, shard_results(made, vectors), tmp_path_factory.mktemp("expected")).read_bytes()
    numbers = np.array(data.draw(st.permutations(range(len(made.tiles)))), dtype=np.int32)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(numbers)), max_size=8)))
    blocks = np.split(numbers, cuts)
    found = stitched(made, shard_results(made, vectors, blocks=blocks), tmp_path_factory.mktemp("cut"))
    assert found.read_bytes() == expected


def test_a_vector_that_holds_no_numbers_fails_the_job(tmp_path):
    made = plan(inspection(640, 640, mpp=0.5), card=encoder())
    vectors = vectors_of(made)
    vectors[5, 7] = np.nan
    with pytest.raises(JobFailed, match="not a finite number for 1 tiles"):
        stitched(made, shard_results(made, vectors), tmp_path)


def test_a_plan_of_vectors_is_none_that_older_workers_take():
    made = plan(card=encoder())
    assert made.schema == 6
    assert Plan.from_bytes(made.to_bytes()).card == made.card


def test_shards_of_wide_vectors_are_cut_to_what_a_worker_holds():
    wide = replace(encoder(), embedding=EmbeddingOutput(dimensions=65_536, pooling="none"), tiles_per_second=None)
    made = plan(inspection(10_000, 10_000, mpp=0.5), card=wide)
    assert max(made.shard_sizes) <= 256
