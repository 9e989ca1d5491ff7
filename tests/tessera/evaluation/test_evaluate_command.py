"""`tessera evaluate` over results of `tessera run`: files, exit codes, messages."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tessera.cli import app
from tessera.local_run.inputs import UsageError
from tests.slides import write_svs


def invoke(command: str, *arguments: object) -> Result:
    return CliRunner().invoke(app, [command, *map(str, arguments)])


def evaluate(results: Path, truth: Path, *arguments: object) -> dict[str, Any]:
    result = invoke("evaluate", results, "--truth", truth, "--json", *arguments)
    assert result.exit_code in (0, 3), result.output
    return json.loads(result.stdout) | {"exit_code": result.exit_code, "stderr": result.stderr}


def refuse(results: Path, truth: Path, *arguments: object) -> str:
    """Return the message of a call that is refused."""
    result = invoke("evaluate", results, "--truth", truth, "--json", *arguments)
    assert isinstance(result.exception, UsageError), result.output
    return str(result.exception)


def value(evaluation: dict[str, Any], metric: str, name: str | None = None) -> float | None:
    return next(one["value"] for one in evaluation["metrics"] if (one["metric"], one["class"]) == (metric, name))


@pytest.fixture(scope="module")
def run_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two drawn slides, one like the other."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "slides").mkdir()
    write_svs(folder / "slides/a.svs", width=1536, height=1280)
    write_svs(folder / "slides/b.svs", width=1280, height=1536)
    result = invoke("run", folder / "slides", "--model", "stain-density", "--out", folder / "results")
    assert result.exit_code == 0, result.output
    return folder / "results"


@pytest.fixture
def results(run_results: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run_results, tmp_path / "results"))


def read_tiles(folder: Path) -> tuple[str, np.ndarray]:
    """Return the first column's name, and [tiles, 5]: minx, miny, width, height and this column."""
    with (folder / "tiles.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    return header[4], np.array([row[:5] for row in rows], float)


def write_labels(path: Path, results: Path, cut: float) -> str:
    """Label each tile "high" whose score is above `cut`, else "low"; return the column's name."""
    lines, column = ["slide,minx,miny,label"], ""
    for folder in sorted(results.iterdir()):
        column, tiles = read_tiles(folder)
        lines += [f"{folder.name},{int(x)},{int(y)},{'high' if score > cut else 'low'}" for x, y, _, _, score in tiles]
    path.write_text("\n".join(lines))
    return column


def feature(box: tuple[float, float, float, float], name: str | None, kind: str = "annotation") -> dict[str, Any]:
    left, top, right, bottom = box
    ring = [[left, top], [right, top], [right, bottom], [left, bottom], [left, top]]
    properties: dict[str, Any] = {"objectType": kind}
    if name is not None:
        properties["classification"] = {"name": name, "color": [200, 0, 0]}
    geometry = {"type": "Polygon", "coordinates": [ring]}
    return {"type": "Feature", "id": "1", "geometry": geometry, "properties": properties}


def write_geojson(path: Path, *features: dict[str, Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    text = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path


def median_score(results: Path) -> float:
    return float(np.median(np.concatenate([read_tiles(folder)[1][:, 4] for folder in results.iterdir()])))


def test_labels_that_the_scores_decide_are_found_exactly(results: Path, tmp_path: Path) -> None:
    cut = median_score(results)
    column = write_labels(tmp_path / "labels.csv", results, cut)
    options = ("--column", column, "--map", f"high={column}", "--threshold", np.nextafter(np.float32(cut), np.inf))
    found = evaluate(results, tmp_path / "labels.csv", *options)
    assert (found["exit_code"], found["task"], found["classes"]) == (0, "tiles", ["low", column])
    for metric, name in (("accuracy", None), ("kappa", None), ("auc", column), ("f1", column), ("dice", "low")):
        assert value(found, metric, name) == 1
    tiles = sum(len(read_tiles(folder)[1]) for folder in results.iterdir())
    assert sum(map(sum, found["confusion"]["true_by_predicted"])) == tiles
    assert [slide["name"] for slide in found["slides"]] == ["a", "b"]
    assert all(slide["counts"]["labels_without_tile"] == 0 for slide in found["slides"])
    assert found["interval"]["resamples"] == 2_000


def test_files_are_written_and_equal_calls_write_equal_bytes(results: Path, tmp_path: Path) -> None:
    column = write_labels(tmp_path / "labels.csv", results, median_score(results))
    call = (results, "--truth", tmp_path / "labels.csv", "--column", column, "--map", f"high={column}", "--out")
    result = invoke("evaluate", *call, tmp_path / "one")
    assert result.exit_code == 0, result.output
    assert "stain-density: tiles of 2 slides compared" in result.stdout
    assert invoke("evaluate", *call, tmp_path / "two").exit_code == 0
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert {"evaluation.json", "evaluation.csv", "confusion.svg", "roc.svg", "precision_recall.svg"} <= names
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        if name.endswith(".svg"):
            assert ET.fromstring((tmp_path / "one" / name).read_text()).tag == "{http://www.w3.org/2000/svg}svg"
    rows = list(csv.DictReader((tmp_path / "one/evaluation.csv").read_text().splitlines()))
    assert {row["slide"] for row in rows} == {"(all)", "a", "b"}
    written = json.loads((tmp_path / "one/evaluation.json").read_text())
    assert set(written["slides"][0]["inputs"]) == {"summary.json", "tiles.csv", "labels.csv"}


def test_regions_give_tiles_their_class(results: Path, tmp_path: Path) -> None:
    column, tiles = read_tiles(results / "a")
    x, y, width, height, _ = tiles[0]
    inside = (x, y, x + width, y + height)
    truth = write_geojson(tmp_path / "truth/a.geojson", feature(inside, "Tumor"))
    found = evaluate(
        results / "a", truth, "--column", column, "--map", f"Tumor={column}", "--background", "Stroma", "--threshold", 0
    )
    counts = found["slides"][0]["counts"]
    assert counts["tiles_compared"] == counts["tiles"] - counts["tiles_between_classes"]
    assert found["confusion"]["true_by_predicted"][1] == [0, 1]
    assert found["interval"] is None
    assert any("one slide" in note for note in found["notes"])


def test_within_counts_only_the_tiles_of_its_region(results: Path, tmp_path: Path) -> None:
    column, tiles = read_tiles(results / "a")
    x, y, width, height, _ = tiles[0]
    box = (x, y, x + width, y + height)
    truth = write_geojson(tmp_path / "a.geojson", feature(box, "Field"), feature(box, "Tumor"))
    options = ("--column", column, "--map", f"Tumor={column}", "--background", "rest", "--within", "field")
    assert evaluate(results / "a", truth, *options)["slides"][0]["counts"]["tiles_compared"] == 1
    options = (*options[:-1], "Area")
    assert "no region of the class Area, in which --within counts; it has Field, Tumor" in refuse(
        results / "a", truth, *options
    )


def test_slide_without_truth_and_truth_without_slide_are_listed_with_exit_code_3(results: Path, tmp_path: Path) -> None:
    column, _ = read_tiles(results / "a")
    whole = feature((0, 0, 1500, 1200), "Tumor")
    for name in ("a.svs.geojson", "c.geojson"):
        write_geojson(tmp_path / "truth" / name, whole)
    options = ("--column", column, "--map", f"Tumor={column}", "--background", "rest")
    found = evaluate(results, tmp_path / "truth", *options)
    assert found["exit_code"] == 3
    assert found["left_out"] == [
        {"name": "b", "reason": "there is no truth of this name"},
        {"name": "c", "reason": "there is no result of this name"},
    ]
    assert "2 results or truths were not evaluated" in found["stderr"]


def test_slide_labels_score_a_slide_by_its_tiles(results: Path, tmp_path: Path) -> None:
    column, tiles = read_tiles(results / "a")
    _, others = read_tiles(results / "b")
    truth = tmp_path / "labels.csv"
    truth.write_text("slide,label\nfolder/a.svs,1\nb.svs,0\n")
    for score, expected in (("mean", tiles[:, 4].mean()), ("max", tiles[:, 4].max())):
        found = evaluate(results, truth, "--column", column, "--slide-score", score)
        assert found["task"] == "slides"
        stated = found["slides"][0]["metrics"][0]
        assert stated["value"] == pytest.approx(expected, rel=1e-4)
    higher = tiles[:, 4].max() > others[:, 4].max()
    assert value(found, "auc", column) == (1 if higher else 0.5 if tiles[:, 4].max() == others[:, 4].max() else 0)
    assert [slide["counts"]["true"] for slide in found["slides"]] == [column, "0"]


CELLS = [(100.0 + 40 * number, 200.0, 120.0 + 40 * number, 220.0) for number in range(10)]


def write_objects(folder: Path, *features: dict[str, Any]) -> None:
    write_geojson(folder / "objects.geojson.gz", *features)


def test_objects_are_scored_by_class_and_by_distance(results: Path, tmp_path: Path) -> None:
    found_cells = [feature(box, "Tumor" if number < 5 else "Immune", "cell") for number, box in enumerate(CELLS[:9])]
    write_objects(results / "a", *found_cells)
    true = [feature(box, "tumor" if number < 5 else "immune", "cell") for number, box in enumerate(CELLS)]
    truth = write_geojson(tmp_path / "a.geojson", *true)
    found = evaluate(results / "a", truth, "--distance", 3)
    assert (found["task"], found["classes"]) == ("objects", ["Immune", "Tumor"])
    assert value(found, "f1") == value(found, "f1_distance") == pytest.approx(18 / 19)
    assert value(found, "pq", "Tumor") == 1
    assert value(found, "recall", "Immune") == pytest.approx(4 / 5)
    assert value(found, "dice") == pytest.approx(18 / 19)
    assert found["confusion"] == {"classes": ["Immune", "Tumor"], "true_by_predicted": [[4, 0], [0, 5]]}


def test_part_of_the_slide_that_was_annotated_is_named_or_noted(results: Path, tmp_path: Path) -> None:
    write_objects(results / "a", *(feature(box, "Nucleus", "cell") for box in CELLS))
    field = (90.0, 190.0, 210.0, 230.0)  # holds three cells
    annotated = [feature(box, "Nucleus", "cell") for box in CELLS[:3]]
    truth = write_geojson(tmp_path / "a.geojson", *annotated, feature(field, "Field"))
    assert value(evaluate(results / "a", truth, "--within", "Field"), "f1") == 1
    noted = evaluate(results / "a", truth, "--ignore", "Field")
    assert value(noted, "precision") == pytest.approx(0.3)
    assert any("7 of 10 found objects are outside of the rectangle" in note for note in noted["notes"])


def test_points_are_compared_by_distance_alone(results: Path, tmp_path: Path) -> None:
    write_objects(results / "a", *(feature(box, None, "cell") for box in CELLS[:2]))
    points = {"type": "MultiPoint", "coordinates": [[110, 210], [500, 210]]}
    truth = write_geojson(tmp_path / "a.geojson", {"type": "Feature", "geometry": points, "properties": {}})
    assert "state with --distance how many um apart" in refuse(results / "a", truth)
    found = evaluate(results / "a", truth, "--distance", 2)
    assert value(found, "f1_distance") == 0.5
    assert not any(one["metric"] == "pq" for one in found["metrics"])


def test_slide_without_a_found_object_counts_all_as_missed(results: Path, tmp_path: Path) -> None:
    write_objects(results / "a")
    truth = write_geojson(tmp_path / "a.geojson", feature(CELLS[0], None))
    found = evaluate(results / "a", truth)
    assert (value(found, "recall"), value(found, "precision"), value(found, "f1")) == (0, None, 0)


def test_outlines_of_a_cropped_slide_need_a_stated_frame(results: Path, tmp_path: Path) -> None:
    summary = json.loads((results / "a/summary.json").read_text())
    summary["slide"]["bounds"] = [100, 50, 1000, 1000]
    (results / "a/summary.json").write_text(json.dumps(summary))
    write_objects(results / "a", feature(CELLS[0], None))
    truth = write_geojson(tmp_path / "a.geojson", feature(CELLS[0], None))
    assert "--truth-frame qupath for an export of QuPath" in refuse(results / "a", truth)
    assert value(evaluate(results / "a", truth, "--truth-frame", "qupath"), "pq") == 1
    assert value(evaluate(results / "a", truth, "--truth-frame", "full"), "pq") == 0


@pytest.mark.parametrize(
    ("features", "options", "said"),
    [
        ([feature((0, 0, 900, 900), None)], (), "no region of the truth has a class: set the classes in QuPath"),
        ([feature((9e4, 9e4, 9.1e4, 9.1e4), "Tumor")], (), "1 of 1 outlines are off the slide of 1,536 x 1,280 px"),
        ([feature((0, 0, 900, 900), "Tumor")], (), 'The model has no class Tumor; it has .* --map "Tumor='),
        ([feature((0, 0, 900, 900), "Tumor")], ("--column", "x"), "The model has no column x; its columns are "),
        (
            [feature((0, 0, 1, 1), "Tumor")],
            ("--map", "Tumor=eosin_od"),
            r"no tile has a class of the truth \(.*are the regions where tiles were analysed",
        ),
        ([], (), "a.geojson holds no outline"),
        ([feature((0, 0, 900, 900), "Tumor")], ("--map", "Tumor"), "--map takes a class of the truth and one of"),
        ([feature((0, 0, 900, 900), "Tumor")], ("--task", "slides"), "--task slides needs a CSV"),
        ([feature((0, 0, 900, 900), "Tumor")], ("--task", "objects"), "the result has no file of objects"),
        ([feature((0, 0, 900, 900), "Tumor")], ("--model", "x"), "No result is of the model x; there are results of"),
    ],
)
def test_what_cannot_be_compared_is_a_wrong_call_with_a_sentence(
    results: Path, tmp_path: Path, features: list[dict[str, Any]], options: tuple[str, ...], said: str
) -> None:
    truth = write_geojson(tmp_path / "a.geojson", *features)
    with pytest.raises(UsageError, match=said):
        raise UsageError(refuse(results / "a", truth, *options))


def test_one_column_needs_a_class_to_tell_its_own_from(results: Path, tmp_path: Path) -> None:
    column, _ = read_tiles(results / "a")
    truth = write_geojson(tmp_path / "a.geojson", feature((0, 0, 1536, 1280), "Tumor"))
    assert f'Say which is with --map "Tumor={column}"' in refuse(results / "a", truth, "--column", column)
    options = ("--column", column, "--map", f"Tumor={column}")
    assert "with --background NAME" in refuse(results / "a", truth, *options)


def test_result_that_was_changed_is_left_out(results: Path, tmp_path: Path) -> None:
    column = write_labels(tmp_path / "labels.csv", results, median_score(results))
    with (results / "b/tiles.csv").open("a") as file:
        file.write("\n")
    found = evaluate(results, tmp_path / "labels.csv", "--column", column, "--map", f"high={column}")
    assert found["left_out"][0]["reason"] == ("tiles.csv is not the file that summary.json lists: run the slide again")


def test_one_file_of_truth_is_not_that_of_two_slides(results: Path, tmp_path: Path) -> None:
    truth = write_geojson(tmp_path / "a.geojson", feature((0, 0, 900, 900), "Tumor"))
    assert "names no slide, and there are 2 results" in refuse(results, truth)


def test_folder_without_results_says_what_to_name(tmp_path: Path) -> None:
    assert "holds no summary.json: name the folder that `tessera run --out` wrote" in refuse(tmp_path, tmp_path)


def test_missing_package_is_named_with_its_extra() -> None:
    code = (
        "import sys; sys.modules['shapely'] = None; sys.argv = ['tessera', 'evaluate', '.', '--truth', '.', '--json'];"
        "from tessera.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'needs shapely, which is not installed here: pip install "tessera-wsi[evaluate]"' in done.stderr
