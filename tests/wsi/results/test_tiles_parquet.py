from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.wsi.plans import collect_all as collect
from tests.wsi.plans import inspection, plan, scores_of, shard_results
from tests.wsi.results.objects.drawn import detection_card
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.model_card import OutputColumn, OutputKind
from wsi.records.outputs import EmbeddingOutput
from wsi.results import tables, tiles_parquet
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.tile_quality import COLUMNS
from wsi.results.tiles_parquet import name_apart


def scored(*names: str) -> ScoredTiles:
    card = replace(STAIN_DENSITY, columns=tuple(OutputColumn(name=name) for name in names)) if names else STAIN_DENSITY
    made = plan(card=card)
    tiles = collect(made, shard_results(made, scores_of(made), {3: "unreadable"}))
    looks = np.random.default_rng(1).random((len(tiles.inferred), 4), dtype=np.float32)
    looks[1] = np.nan
    return replace(tiles, quality=looks)


def written(tiles: ScoredTiles) -> io.BytesIO:
    file = io.BytesIO()
    tiles_parquet.write(tiles, file)
    file.seek(0)
    return file


def test_it_holds_the_rows_of_tiles_csv() -> None:
    tiles = scored()
    text = io.BytesIO()
    tables.write(tiles, text)
    text.seek(0)
    rows = pd.read_csv(text, dtype=dict.fromkeys([column.name for column in STAIN_DENSITY.columns], np.float32))
    found = pd.read_parquet(written(tiles))
    assert list(found.columns) == [*rows.columns, *COLUMNS]
    assert all(np.array_equal(found[name], rows[name]) for name in rows.columns)
    assert [str(found[name].dtype) for name in tables.BOX] == ["int32"] * 4
    assert {str(kind) for kind in found.dtypes[4:]} == {"float32"}


def test_qualities_that_nobody_measured_are_missing() -> None:
    tiles = scored()
    column = pq.read_table(written(tiles))["blur"]
    assert column.null_count == 1
    assert column[1].as_py() is None
    assert np.array_equal(column.to_numpy()[2:], tiles.quality[2:, 0])


def test_a_models_column_may_have_the_name_of_another() -> None:
    tiles = scored("blur", "Width", "minx 2", "minx", "p", "p")
    found = pd.read_parquet(written(tiles))
    names = ["blur", "Width 2", "minx 2", "minx 3", "p", "p 2", "blur 2", *COLUMNS[1:]]
    assert list(found.columns) == [*tables.BOX, *names]
    assert np.array_equal(found["p 2"], tiles.scores[:, 5])


def test_names_stay_apart_for_readers_that_know_no_capitals() -> None:
    assert name_apart(["a", "A", "a", "b"]) == ["a", "A 2", "a 3", "b"]


@pytest.mark.parametrize(
    "card",
    [
        replace(
            STAIN_DENSITY,
            columns=(),
            output=OutputKind.EMBEDDING,
            embedding=EmbeddingOutput(dimensions=8, pooling="cls"),
        ),
        detection_card("Nucleus"),
    ],
    ids=["embedding", "detection"],
)
def test_a_model_without_columns_has_boxes_and_qualities(card) -> None:
    made = plan(card=card)
    tiles = collect(made, shard_results(made, scores_of(made)))
    assert list(pd.read_parquet(written(tiles)).columns) == [*tables.BOX, *COLUMNS]


def test_no_tile_is_a_table_without_rows() -> None:
    made = plan(mask=np.zeros((5, 5), dtype=np.bool_))
    assert len(pd.read_parquet(written(collect(made, ())))) == 0


def test_row_groups_are_cut_and_the_file_says_what_it_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles_parquet, "ROWS", 10)
    tiles = scored()
    file = pq.ParquetFile(written(tiles))
    sizes = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    assert sizes[:-1] == [10] * (len(sizes) - 1)
    assert sum(sizes) == len(tiles.inferred)
    assert json.loads(file.metadata.metadata[b"tessera"])["plan"] == tiles.plan.digest
    assert written(tiles).getvalue() == written(scored()).getvalue()


def test_the_corner_of_a_cropped_slide_is_told() -> None:
    made = plan(replace(inspection(), bounds=(100, 50, 1000, 900)))
    file = pq.ParquetFile(written(collect(made, shard_results(made, scores_of(made)))))
    assert json.loads(file.metadata.metadata[b"tessera"])["qupath_corner"] == [100, 50]
