"""Names of slides and of classes that are paired."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tessera.evaluation.choices import SlideScore
from tessera.evaluation.class_names import parse_map, resolve_classes
from tessera.evaluation.pairing import pair_names
from tessera.evaluation.slide_task import summarise_scores
from tessera.evaluation.truth.files import find_truth
from tessera.evaluation.truth.labels import read_labels
from tessera.local_run.inputs import UsageError


def resolve(truth: set[str], *columns: str, maps: tuple[str, ...] = (), ignored: tuple[str, ...] = ()):
    return resolve_classes(truth, columns, mapped=parse_map(maps), ignored=ignored, threshold=0.5)


def test_names_pair_without_suffix_folder_case_and_unicode_form() -> None:
    truths = ["A.svs", "study/b.ndpi", "cafe\u0301", "unknown", r"C:\slides\d.svs"]
    paired = pair_names(["a", "b", "caf\u00e9", "d", "e"], truths)
    assert paired.truth_of == {"a": "A.svs", "b": "study/b.ndpi", "caf\u00e9": "cafe\u0301", "d": r"C:\slides\d.svs"}
    assert (paired.results_alone, paired.truths_alone) == (("e",), ("unknown",))


def test_two_truths_of_one_slide_are_refused() -> None:
    with pytest.raises(UsageError, match=r"a\.svs and a are both truth of a"):
        pair_names(["a"], ["a.svs", "a"])


def test_equal_name_comes_before_one_without_its_suffix() -> None:
    assert pair_names(["a.1", "a"], ["a.1"]).truth_of == {"a.1": "a.1"}


def test_classes_pair_without_case_prefix_and_spaces() -> None:
    classes, numbers = resolve({"Tumor", "Other tissue"}, "prob_tumor", "other-tissue")
    assert classes.names == ("prob_tumor", "other-tissue")
    assert numbers == {"Tumor": 0, "Other tissue": 1}


def test_several_classes_of_the_truth_can_be_one_of_the_model() -> None:
    _, numbers = resolve({"G3", "G4", "Fold"}, "tumour", "benign", maps=("G3=tumour", "g4=Tumour"), ignored=("fold",))
    assert numbers == {"G3": 0, "G4": 0, "Fold": None}


def test_one_column_takes_all_other_classes_as_the_rest() -> None:
    classes, numbers = resolve({"Tumor", "Stroma", "Fat"}, "prob_Tumor")
    assert (classes.names, numbers) == (("other", "prob_Tumor"), {"Tumor": 1, "Stroma": 0, "Fat": 0})
    assert resolve({"0", "1"}, "score")[1] == {"0": 0, "1": 1}


@pytest.mark.parametrize(
    ("truth", "columns", "maps", "said"),
    [
        ({"X"}, ("a", "b"), (), 'no class X; it has a, b. Say which each is with --map "X=a"'),
        ({"a"}, ("a", "b"), ("a=c",), "--map names what the model does not have: c. It has a, b"),
        ({"a"}, ("a", "b"), ("a=a", "A=b"), "--map states two classes for A"),
        ({"X", "Y"}, ("a",), ("X=b",), "--map names b, but the column that is evaluated is a"),
    ],
)
def test_class_that_fits_none_is_refused_with_what_there_is(
    truth: set[str], columns: tuple[str, ...], maps: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        resolve(truth, *columns, maps=maps)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slide,score\na,1\n", "no column named label"),
        ("label\nx\n", "no column named slide"),
        ("slide,label\na,\n", "line 2: the label is missing"),
        ("slide,label\n,x\n", "line 2: the name of the slide is missing"),
        ("slide,label\na,x\na,y\n", "line 3: the label is y, and a line before says x"),
        ("minx,miny,label\n0,0.5,x\n", "line 2: minx and miny must be whole numbers"),
        ("slide,label\n", "holds no label"),
    ],
)
def test_table_that_is_no_truth_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_labels(path)


def test_table_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes("Slide;MinX;MinY;Label\r\na;512;0,0;Tumor\r\n".replace("0,0", "0.0").encode("utf-16"))
    assert read_labels(path).tiles == {"a": {(512, 0): "Tumor"}}


def test_folder_holds_a_file_for_each_slide(tmp_path: Path) -> None:
    for name in ("a.geojson", "b.svs.json.gz", "c.zip", "notes.txt", ".hidden.json"):
        (tmp_path / name).write_text("{}")
    assert set(find_truth(tmp_path)) == {"a", "b.svs", "c"}
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(UsageError, match="holds two files for a"):
        find_truth(tmp_path)


def test_score_of_a_slide_is_what_the_option_says() -> None:
    scores = np.arange(20, dtype=np.float32)[:, None] / 20
    found = {rule: float(summarise_scores(scores, rule, 0.5)[0]) for rule in SlideScore}
    assert found == pytest.approx(
        {SlideScore.MEAN: 0.475, SlideScore.MAX: 0.95, SlideScore.TOP10: (0.95 + 0.9) / 2, SlideScore.SHARE: 0.5}
    )
    assert not math.isnan(summarise_scores(scores[:1], SlideScore.TOP10, 0.5)[0])
