from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.wsi.plans import collect_all, inspection, plan, scores_of, shard_results
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.model_card import OutputColumn
from wsi.results import tables


def _rows(tiles):
    file = io.BytesIO()
    tables.write(tiles, file)
    return list(csv.reader(io.StringIO(file.getvalue().decode())))


def test_columns_are_those_of_wsinfer_then_the_cards():
    made = plan()
    head, *rows = _rows(collect_all(made, shard_results(made, scores_of(made))))
    assert head == ["minx", "miny", "width", "height", "haematoxylin_od", "eosin_od", "dab_od", "nuclear_fraction"]
    assert [[int(row[0]), int(row[1])] for row in rows] == made.tiles.tolist()


def test_names_of_classes_come_back_whatever_they_hold():
    names = ['HER2/neu "3+", weak', "正常　組織", "Grade\u00a03", "line\u2028separator", "\ufeffbom"]
    columns = tuple(OutputColumn(name=name) for name in names)
    made = plan(card=replace(STAIN_DENSITY, columns=columns), mask=np.zeros((5, 5), dtype=np.bool_))
    assert _rows(collect_all(made, ())) == [["minx", "miny", "width", "height", *names]]


def test_no_name_of_a_column_is_a_formula_in_a_spreadsheet():
    columns = (OutputColumn(name='=HYPERLINK("https://evil.example")'), OutputColumn(name="-1"))
    made = plan(card=replace(STAIN_DENSITY, columns=columns), mask=np.zeros((5, 5), dtype=np.bool_))
    assert _rows(collect_all(made, ()))[0][4:] == ['\'=HYPERLINK("https://evil.example")', "-1"]


def test_an_edge_tile_keeps_the_models_whole_box():
    made = plan(inspection(300, 300))
    rows = _rows(collect_all(made, shard_results(made, scores_of(made))))
    assert rows[-1][:4] == ["256", "256", "256", "256"]


def test_a_plan_without_tiles_has_a_header():
    made = plan(mask=np.zeros((5, 5), dtype=np.bool_))
    assert len(_rows(collect_all(made, ()))) == 1


@settings(deadline=None)
@given(arrays(np.float32, (4, 4), elements=st.floats(allow_nan=False, allow_infinity=False, width=32)))
def test_text_of_a_score_reads_back_as_the_same_float32(scores):
    made = plan(inspection(512, 512))
    rows = _rows(collect_all(made, shard_results(made, scores)))[1:]
    assert np.array_equal(np.array([row[4:] for row in rows], dtype=np.float32), scores)
    assert not any(text == "-0.0" for row in rows for text in row[4:])


def test_text_of_a_score_is_the_shortest():
    made = plan(inspection(256, 256))
    scores = np.array([[0.1, 1.0, 1e-7, 0.33333334]], dtype=np.float32)
    assert _rows(collect_all(made, shard_results(made, scores)))[1][4:] == ["0.1", "1.0", "1e-07", "0.33333334"]
