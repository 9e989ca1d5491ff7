from __future__ import annotations

from dataclasses import replace

import pytest

from tests.wsi.plans import inspection, plan, scores_of, shard_results
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.model_card import OutputKind
from wsi.results import registry
from wsi.results.registry import GIVEN_WRITERS, WRITERS, FileWriter, select_writers
from wsi.results.sink import FolderSink
from wsi.results.stitching import stitch


def test_every_kind_of_output_has_writers_of_files_with_names_of_their_own():
    assert set(WRITERS) == set(OutputKind)
    for writers in WRITERS.values():
        names = [writer.name for writer in writers]
        assert names
        assert len(set(names)) == len(names)


def test_every_kind_that_gives_each_tile_numbers_has_writers_of_given_objects():
    assert set(GIVEN_WRITERS) == set(OutputKind) - {OutputKind.DETECTION}
    for writers in GIVEN_WRITERS.values():
        names = {writer.name for writer in writers}
        assert len(names) == len(writers)
        assert {"objects.parquet", "tile_objects.csv", "tiles.csv"} <= names
        assert not names & {"heatmap.ome.tif", "tissue.png", "tiles.geojson.gz"}


def test_files_that_a_plan_has_no_use_for_are_not_due():
    whole = plan()
    assert [writer.name for writer in select_writers(whole)] == [
        "tiles.csv",
        "tile_quality.csv",
        "tiles.geojson.gz",
        "heatmap.ome.tif",
        "tissue.png",
    ]
    assert "tissue.png" not in [writer.name for writer in select_writers(replace(whole, mask=None))]
    cropped = plan(replace(inspection(), bounds=(100, 200, 1500, 1200)))
    assert [writer.name for writer in select_writers(cropped)][-1] == "tiles.full.geojson.gz"


def test_stitching_writes_the_files_of_the_cards_kind_of_output(tmp_path, monkeypatch: pytest.MonkeyPatch):
    kept = FileWriter("kept.txt", "text/plain", lambda tiles, file: file.write(b"kept") and None)
    monkeypatch.setattr(registry, "WRITERS", {**WRITERS, OutputKind.CLASSIFICATION: (kept,)})
    made = plan(card=replace(STAIN_DENSITY, output=OutputKind.CLASSIFICATION))
    results = stitch(made, shard_results(made, scores_of(made)), FolderSink(tmp_path), run={})
    assert [result.name for result in results] == ["summary.json", "kept.txt"]
    assert (tmp_path / "kept.txt").read_bytes() == b"kept"
