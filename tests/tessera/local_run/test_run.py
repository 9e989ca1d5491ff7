"""`tessera run` over files: results, exit codes, isolation, skipping."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tifffile
from typer.testing import CliRunner, Result

from tessera.cli import app
from tessera.local_run.inputs import UsageError
from tests.shared_slides import shared_slide
from tests.slides import write_pyramid_tiff, write_svs
from tests.slides.dicoms import Writing, tissue, write_picture

RESULTS = {"summary.json", "tiles.csv", "tiles.geojson.gz", "heatmap.ome.tif", "tissue.png", "tile_quality.csv"}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slides") / "good.svs"
    write_svs(path, width=1536, height=1280)
    return path


def tessera(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["run", "--model", "stain-density", *map(str, arguments)])


def summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_bytes())


def table(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "tiles.csv").read_text().splitlines()))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_one_slide_writes_its_results_into_the_folder_itself(good: Path, tmp_path: Path) -> None:
    result = tessera(good, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert names(tmp_path) == RESULTS
    rows = table(tmp_path)
    assert summary(tmp_path)["tiles"] == {"planned": len(rows), "inferred": len(rows), "unreadable": 0}
    assert len(rows) > 0
    assert "1 slide = 1 completed" in result.stdout


def test_a_finished_slide_whose_files_were_taken_away_runs_again(good: Path, tmp_path: Path) -> None:
    tessera(good, "--out", tmp_path)
    (tmp_path / "tiles.csv").unlink()
    assert "1 slide = 1 completed" in tessera(good, "--out", tmp_path).stdout
    assert names(tmp_path) == RESULTS
    assert "1 slide = 1 skipped" in tessera(good, "--out", tmp_path).stdout


def test_what_a_run_left_that_was_killed_at_its_very_end_goes_with_the_next(good: Path, tmp_path: Path) -> None:
    tessera(good, "--out", tmp_path)
    (tmp_path / ".tessera-partial/results").mkdir(parents=True)
    assert "1 slide = 1 skipped" in tessera(good, "--out", tmp_path).stdout
    assert names(tmp_path) == RESULTS


def test_a_bad_slide_does_not_stop_the_rest(good: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    shutil.copy(good, tmp_path / "in/a.svs")
    (tmp_path / "in/b.svs").write_text("not a slide")
    (tmp_path / "in/c.svs").write_bytes(good.read_bytes() + b"\0")  # the same bytes would be one slide
    result = tessera(tmp_path / "in", "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert names(tmp_path / "out") == {"a", "c"}
    assert names(tmp_path / "out/a") == names(tmp_path / "out/c") == RESULTS
    assert "3 slides = 2 completed + 1 rejected" in result.stdout
    assert result.stderr.count("b: rejected (not_a_slide)") == 1


def test_finished_slides_are_skipped_and_left_alone(good: Path, tmp_path: Path) -> None:
    tessera(good, "--out", tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    result = tessera(good, "--out", tmp_path)
    assert result.exit_code == 0
    assert "1 slide = 1 skipped" in result.stdout
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_another_question_is_no_finished_slide(good: Path, tmp_path: Path) -> None:
    tessera(good, "--out", tmp_path)
    result = tessera(good, "--out", tmp_path, "--mpp", "0.25")
    assert "1 slide = 1 completed" in result.stdout
    assert summary(tmp_path)["slide"]["mpp"] == 0.25


def test_a_result_that_was_cut_short_is_no_finished_slide(good: Path, tmp_path: Path) -> None:
    tessera(good, "--out", tmp_path)
    (tmp_path / "summary.json").write_text('{"run": ')
    assert "1 slide = 1 completed" in tessera(good, "--out", tmp_path).stdout


def test_a_slide_with_no_tissue_is_done(tmp_path: Path) -> None:
    write_svs(tmp_path / "glass.svs", width=1024, height=1024, tissue=(0, 0, 0, 0))
    result = tessera(tmp_path / "glass.svs", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "1 no_tissue" in result.stdout
    assert summary(tmp_path / "out")["status"] == "NO_TISSUE"


def test_a_manifest_gives_a_region_and_a_scale_to_each_slide(good: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "m.csv"
    manifest.write_text(f'path,mpp,roi\n{good},,"0,0,512,512"\n{good},0.25,\nabsent.svs,,\n')
    result = tessera("--manifest", manifest, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "3 slides = 2 completed + 1 rejected" in result.stdout
    region, whole = summary(tmp_path / "out/good"), summary(tmp_path / "out/good-2")
    assert region["run"]["options"]["region"] == [0, 0, 512, 512]
    assert whole["slide"]["mpp"] == 0.25
    rows = table(tmp_path / "out/good")
    assert 0 < len(rows) <= 4
    assert all(int(row["minx"]) < 512 and int(row["miny"]) < 512 for row in rows)


def test_a_drawn_region_takes_the_place_of_tissue_and_is_another_question(good: Path, tmp_path: Path) -> None:
    drawn, out = tmp_path / "region.geojson", tmp_path / "out"
    ring = [[0, 0], [512, 0], [512, 256], [0, 256], [0, 0]]
    drawn.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    result = tessera(good, "--out", out, "--region-geojson", drawn)
    assert result.exit_code == 0, result.output
    assert [(row["minx"], row["miny"]) for row in table(out)] == [("0", "0"), ("256", "0")]
    assert summary(out)["slide"]["tissue"]["source"] == "geojson"
    assert "1 skipped" in tessera(good, "--out", out, "--region-geojson", drawn).stdout
    assert "1 slide = 1 completed" in tessera(good, "--out", out).stdout
    assert len(table(out)) > 2


def test_what_a_region_leaves_out_is_told_and_the_rest_analysed(good: Path, tmp_path: Path) -> None:
    drawn, out = tmp_path / "region.geojson", tmp_path / "out"
    area = {"type": "Polygon", "coordinates": [[[0, 0], [512, 0], [512, 256], [0, 256], [0, 0]]]}
    ruler = {"type": "LineString", "coordinates": [[0, 0], [99, 99]]}
    drawn.write_text(json.dumps([{"type": "Feature", "geometry": shape} for shape in (area, ruler)]))
    result = tessera(good, "--out", out, "--region-geojson", drawn)
    assert result.exit_code == 0, result.output
    assert "The region leaves out 1 line." in result.stderr
    assert [(row["minx"], row["miny"]) for row in table(out)] == [("0", "0"), ("256", "0")]


def test_tiles_of_a_run_are_the_region_of_the_next(good: Path, tmp_path: Path) -> None:
    """The results' own GeoJSON, gzipped, as a region."""
    tessera(good, "--out", tmp_path / "first")
    drawn = tmp_path / "first" / "tiles.geojson.gz"
    result = tessera(good, "--out", tmp_path / "second", "--region-geojson", drawn)
    assert result.exit_code == 0, result.output
    corners = [[(row["minx"], row["miny"]) for row in table(tmp_path / run)] for run in ("first", "second")]
    assert corners[0] == corners[1]


def test_what_is_no_region_is_a_wrong_call(good: Path, tmp_path: Path) -> None:
    drawn = tmp_path / "region.geojson"
    drawn.write_text('{"type": "Point", "coordinates": [1, 2]}')
    result = tessera(good, "--out", tmp_path / "out", "--region-geojson", drawn)
    assert isinstance(result.exception, UsageError)
    assert "it holds 1 point" in str(result.exception)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("broken/random-text.svs", "not_a_slide"),
        ("broken/html-error-page.svs", "not_a_slide"),
        ("broken/mrxs-without-data-folder.CMU-1-Saved-1_16.mrxs", "missing_files"),
        ("derived/cmu-small-region.truncated-1000000.svs", "truncated"),
        ("derived/cmu-small-region.crop512-nompp-lzw.tif", "no_mpp"),
    ],
)
def test_a_broken_slide_exits_3_with_its_reason_and_one_sentence(name: str, reason: str, tmp_path: Path) -> None:
    result = tessera(shared_slide(name), "--out", tmp_path / "out")
    assert result.exit_code == 3
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("tessera: ")]
    assert f"rejected ({reason}): " in line
    assert line.endswith(".")
    assert "Traceback" not in result.output
    assert names(tmp_path / "out") == set()


def test_a_slide_without_a_scale_runs_when_it_is_told(tmp_path: Path) -> None:
    slide = shared_slide("derived/cmu-small-region.crop512-nompp-lzw.tif")
    assert tessera(slide, "--out", tmp_path, "--mpp", "0.5").exit_code == 0


def test_unreadable_tiles_are_named_and_absent_and_the_others_equal(tmp_path: Path) -> None:
    whole = shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")
    damaged = shared_slide("derived/cmu-small-region.two-tiles-damaged.svs")
    assert tessera(whole, damaged, "--out", tmp_path).exit_code == 0
    found = summary(tmp_path / damaged.stem)
    assert found["status"] == "COMPLETED_WITH_UNREADABLE_TILES"
    assert all("file tile 65" in tile["reason"] or "file tile 66" in tile["reason"] for tile in found["unreadable"])
    rows = (tmp_path / whole.stem / "tiles.csv").read_text().splitlines()
    left = (tmp_path / damaged.stem / "tiles.csv").read_text().splitlines()
    broken = {f"{tile['minx']},{tile['miny']}," for tile in found["unreadable"]}
    assert broken
    assert left == [row for row in rows if not any(row.startswith(start) for start in broken)]


@pytest.mark.parametrize("arguments", [[], ["absent.svs"]])
def test_a_wrong_path_is_a_wrong_call(arguments: list[str], tmp_path: Path) -> None:
    result = tessera(*arguments, "--out", tmp_path / "out")
    assert isinstance(result.exception, UsageError)
    assert not (tmp_path / "out").exists()


def test_a_model_that_does_not_exist_is_a_wrong_call(good: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(good), "--model", "nothing", "--out", str(tmp_path)])
    assert isinstance(result.exception, UsageError)
    assert "stain-density" in str(result.exception)


def test_options_are_required() -> None:
    assert CliRunner().invoke(app, ["run", "a.svs"]).exit_code == 2


def test_a_slide_coarser_than_the_model_is_refused_unless_upsampling_is_allowed(tmp_path: Path) -> None:
    slide = write_svs(tmp_path / "coarse.svs", width=1024, height=1024, mpp=1.0)
    refused = tessera(slide, "--out", tmp_path / "out")
    assert (refused.exit_code, "slide_too_coarse" in refused.output) == (3, True)
    allowed = tessera(slide, "--out", tmp_path / "out", "--allow-upsampling")
    assert allowed.exit_code == 0, allowed.output
    assert "was enlarged to the model's 0.5" in summary(tmp_path / "out")["warnings"][-1]
    assert {row["width"] for row in table(tmp_path / "out")} == {"128"}


def test_a_slide_of_several_planes_is_run_once_one_is_chosen(tmp_path: Path) -> None:
    how = Writing(tile=256, planes=2)
    write_picture(tmp_path / "a.dcm", tissue(1024, 768), how, tissue(1024, 768, 1))
    refused = tessera(tmp_path / "a.dcm", "--out", tmp_path / "out")
    assert (refused.exit_code, "z_stack" in refused.output) == (3, True)
    tables = []
    for plane in (1, 2):
        result = tessera(tmp_path / "a.dcm", "--out", tmp_path / "out", "--focal-plane", plane)
        assert result.exit_code == 0, result.output
        assert "1 completed" in result.output
        chosen = summary(tmp_path / "out")["run"]["options"]["choice"]
        assert chosen == {"optical_path": None, "focal_plane": plane}
        tables.append(table(tmp_path / "out"))
    assert tables[0] != tables[1]
    none = tessera(tmp_path / "a.dcm", "--out", tmp_path / "out", "--focal-plane", 3)
    assert (none.exit_code, "no_such_choice" in none.output) == (3, True)


def test_fast_is_another_result_of_the_same_boxes_with_nearly_the_same_values(tmp_path: Path) -> None:
    slide = write_svs(tmp_path / "fine.svs", width=2048, height=2048, mpp=0.25, rgb=False)
    tables = {}
    for flags in ((), ("--fast",)):
        assert tessera(slide, "--out", tmp_path / "out", *flags).exit_code == 0
        said = summary(tmp_path / "out")
        assert (said["grid"]["reduction"], said["run"]["options"].get("fast", False)) == (
            (2, True) if flags else (1, False)
        )
        tables[flags] = table(tmp_path / "out")
    exact, fast = tables[()], tables["--fast",]
    assert exact
    assert [(row["minx"], row["miny"]) for row in exact] == [(row["minx"], row["miny"]) for row in fast]
    off = [
        abs(float(one["haematoxylin_od"]) - float(two["haematoxylin_od"])) for one, two in zip(exact, fast, strict=True)
    ]
    assert 0 < max(off) < 0.05


def test_a_slide_with_longer_than_wide_pixels_is_analysed_in_boxes_square_in_microns(tmp_path: Path) -> None:
    slide = write_pyramid_tiff(tmp_path / "stretched.tif", width=1024, height=1024, mpp=0.5, levels=(1,))
    with tifffile.TiffFile(slide, mode="r+") as tiff:
        tiff.pages.first.tags["YResolution"].overwrite((25_000, 1))  # 0.4 um down
    assert tessera(slide, "--out", tmp_path / "out").exit_code == 0
    said, rows = summary(tmp_path / "out"), table(tmp_path / "out")
    assert (said["slide"]["mpp"], said["slide"]["mpp_y"]) == (0.5, 0.4)
    assert {(row["width"], row["height"]) for row in rows} == {("256", "320")}
    with tifffile.TiffFile(tmp_path / "out" / "heatmap.ome.tif") as heat:
        assert heat.ome_metadata is not None
        assert 'PhysicalSizeX="128.0" PhysicalSizeY="128.0"' in heat.ome_metadata
    features = json.loads(gzip.decompress((tmp_path / "out" / "tiles.geojson.gz").read_bytes()))["features"]
    (x, y), _, (right, bottom), *_ = features[0]["geometry"]["coordinates"][0]
    assert (right - x, bottom - y) == (256, 320)


def test_a_dry_run_says_what_the_run_then_takes_and_writes_nothing(good: Path, tmp_path: Path) -> None:
    result = tessera(good, "--dry-run", "--json", "--dollars-per-hour", 3.6)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    tessera(good, "--out", tmp_path / "out")
    planned = summary(tmp_path / "out")["tiles"]["planned"]
    row = told["slides"][0]
    assert (row["name"], row["outcome"], row["tiles"], row["shards"]) == ("good", "estimated", planned, 1)
    assert row["dollars"] == pytest.approx(row["seconds"] / 1000)
    assert (told["total"]["tiles"], told["total"]["exact"]) == (planned, True)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_a_dry_run_over_a_folder_adds_up_and_names_what_would_be_rejected(good: Path, tmp_path: Path) -> None:
    shutil.copy(good, tmp_path / "a.svs")
    (tmp_path / "b.svs").write_bytes(good.read_bytes() + b"\0")
    (tmp_path / "c.svs").write_text("not a slide")
    result = tessera(tmp_path, "--dry-run")
    assert result.exit_code == 3
    assert "3 slides = 1 rejected + 2 estimated" in result.stdout or "2 estimated + 1 rejected" in result.stdout
    lines = {line.split()[0]: line.split()[1] for line in result.stdout.splitlines() if len(line.split()) > 2}
    assert int(lines["all"]) == 2 * int(lines["a"]) == 2 * int(lines["b"]) > 0
    assert "rejected:" in lines["c"]


def test_a_run_without_a_folder_for_results_is_a_wrong_call(good: Path) -> None:
    assert isinstance(tessera(good).exception, UsageError)
    assert isinstance(tessera(good, "--json", "--out", "x").exception, UsageError)
