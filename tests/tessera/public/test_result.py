"""Results as a notebook looks at them."""

from __future__ import annotations

import csv
import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray

import tessera
from tests.slides import write_svs
from wsi.results.heatmap import scale_scores


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tessera.RunResult:
    folder = tmp_path_factory.mktemp("results")
    slide = write_svs(folder / "a.svs", width=1536, height=1280)
    return tessera.run(slide, model="stain-density", out=folder / "out")


def without(monkeypatch: pytest.MonkeyPatch, *libraries: str) -> None:
    """Let `import` of these say that they are not installed."""
    for library in libraries:
        monkeypatch.setitem(sys.modules, library, None)


def rows(result: tessera.RunResult) -> list[dict[str, str]]:
    return list(csv.DictReader((result.folder / "tiles.csv").read_text().splitlines()))


def check_columns(tiles: Any, result: tessera.RunResult) -> None:
    expected = rows(result)
    for name in ("minx", "miny", "width", "height"):
        assert [int(value) for value in tiles[name]] == [int(row[name]) for row in expected]
    for name in result.columns:
        assert np.array_equal(np.asarray(tiles[name]), np.array([row[name] for row in expected], np.float32))


def test_tiles_are_a_pandas_frame_where_pandas_is_installed(result: tessera.RunResult) -> None:
    pandas = pytest.importorskip("pandas")
    tiles = result.tiles
    assert isinstance(tiles, pandas.DataFrame)
    assert list(tiles.columns) == list(rows(result)[0])
    assert tiles.dtypes["minx"] == np.int64
    assert tiles.dtypes["eosin_od"] == np.float32
    check_columns(tiles, result)


class Frame(dict[str, Any]):
    """A data frame of a library that is not installed here."""


@pytest.fixture
def polars() -> Iterator[ModuleType]:
    """Polars, or what stands for it: only its constructor, which takes columns by name, is used."""
    installed = sys.modules.get("polars")
    try:
        yield importlib.import_module("polars")
    except ModuleNotFoundError:
        stand_in = ModuleType("polars")
        stand_in.DataFrame = Frame  # pyright: ignore[reportAttributeAccessIssue]
        sys.modules["polars"] = stand_in
        yield stand_in
        del sys.modules["polars"]
    assert sys.modules.get("polars") is installed or installed is None


def test_without_pandas_they_are_a_polars_frame(
    result: tessera.RunResult, polars: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "pandas")
    tiles = result.tiles
    assert isinstance(tiles, polars.DataFrame)
    check_columns(tiles, result)


def test_without_either_they_are_arrays(result: tessera.RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas", "polars")
    tiles = result.tiles
    assert isinstance(tiles, Mapping)
    assert {name: column.dtype.kind for name, column in tiles.items()}["eosin_od"] == "f"
    check_columns(tiles, result)


def test_a_pandas_that_is_broken_is_not_passed_over(
    result: tessera.RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pandas.py").write_text("import a_library_that_pandas_needs\n")
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_library_that_pandas_needs"):
        _ = result.tiles


def test_the_heatmap_holds_the_scores_that_the_file_shows(result: tessera.RunResult) -> None:
    channels: NDArray[np.uint8] = tifffile.imread(result.folder / "heatmap.ome.tif", level=0)
    columns: list[dict[str, Any]] = result.summary["model"]["columns"]
    for channel, column in zip(channels, columns, strict=True):
        heatmap = result.heatmap(column["name"])
        assert (np.isnan(heatmap) == (channel == 0)).all()
        analysed = channel > 0
        np.testing.assert_array_equal(scale_scores(heatmap[analysed], column["low"], column["high"]), channel[analysed])
    np.testing.assert_array_equal(result.heatmap(), result.heatmap(result.columns[0]))
    with pytest.raises(KeyError, match="it has haematoxylin_od"):
        result.heatmap("nothing")


def test_a_folder_of_results_is_opened_again(result: tessera.RunResult) -> None:
    again = tessera.RunResult(str(result.folder))
    assert again.summary == result.summary
    assert repr(again).startswith("<RunResult COMPLETED: ")


def test_a_slide_without_tissue_has_no_tiles_and_an_empty_heatmap(tmp_path: Path) -> None:
    slide = write_svs(tmp_path / "glass.svs", width=1024, height=1024, tissue=(0, 0, 0, 0))
    result = tessera.run(slide, model="stain-density", out=tmp_path / "out")
    assert result.summary["status"] == "NO_TISSUE"
    assert {len(column) for column in result.tile_arrays.values()} == {0}
    assert np.isnan(result.heatmap()).all()


def test_a_column_that_the_table_quotes_has_the_models_name(tmp_path: Path) -> None:
    (tmp_path / "tiles.csv").write_text("minx,miny,width,height,'=1+1\n0,0,256,256,0.5\n")
    (tmp_path / "summary.json").write_text('{"model": {"columns": [{"name": "=1+1"}]}}')
    assert tessera.RunResult(tmp_path).tile_arrays["=1+1"].tolist() == [0.5]


def test_a_table_of_another_model_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "tiles.csv").write_text("minx,miny,width,height,a,b\n0,0,256,256,0.5,1\n")
    (tmp_path / "summary.json").write_text('{"model": {"columns": [{"name": "a"}]}}')
    with pytest.raises(ValueError, match="6 columns in place of 5"):
        _ = tessera.RunResult(tmp_path).tile_arrays
