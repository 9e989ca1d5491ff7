"""`tessera inspect`."""

from __future__ import annotations

import json
from pathlib import Path

import tifffile
from typer.testing import CliRunner, Result

from tessera.cli import app
from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.slides.dicoms import Writing, tissue, write_picture


def inspect(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


def test_json_says_what_the_header_says(tmp_path: Path) -> None:
    write_svs(tmp_path / "a.svs", width=1000, height=800, levels=(1, 4), mpp=0.25)
    result = inspect(tmp_path / "a.svs", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["format"], facts["reading_path"], facts["vendor"]) == ("svs", "native", "aperio")
    assert (facts["width"], facts["height"], facts["tile_width"], facts["tile_height"]) == (1000, 800, 240, 240)
    assert (facts["mpp_x"], facts["mpp_y"], facts["mpp_source"]) == (0.25, 0.25, "aperio")
    assert [level["width"] for level in facts["levels"]] == [1000, 250]
    assert facts["warnings"] == []


def test_it_finds_the_tissue_and_says_what_it_read(tmp_path: Path) -> None:
    path = write_svs(tmp_path / "a.svs", width=1000, height=800, levels=(1, 4))
    facts = json.loads(inspect(path, "--json").stdout)
    assert 0 < facts["tissue_fraction"] < 1
    assert facts["tissue_um2"] > 0
    assert 2 <= facts["read"]["requests"] <= 4
    assert facts["read"]["bytes"] > 0


def test_without_json_it_is_a_table(tmp_path: Path) -> None:
    write_svs(tmp_path / "a.svs", width=1000, height=800)
    result = inspect(tmp_path / "a.svs")
    assert result.exit_code == 0
    assert "1,000 x 800" in result.stdout


def test_a_slide_without_a_scale_is_readable_and_says_so() -> None:
    result = inspect(shared_slide("derived/cmu-small-region.crop512-nompp-lzw.tif"), "--json")
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    assert (facts["mpp_x"], facts["tissue_um2"]) == (None, None)


def test_a_slide_that_contradicts_itself_about_its_scale_is_readable_and_says_so(tmp_path: Path) -> None:
    path = write_svs(tmp_path / "a.svs", width=500, height=400, mpp=0.5, associated=False)
    with tifffile.TiffFile(path, mode="r+") as tiff:
        for tag, value in (("XResolution", (20_000, 1)), ("YResolution", (20_000, 1)), ("ResolutionUnit", 2)):
            tiff.pages.first.tags[tag].overwrite(value)
    facts = json.loads(inspect(path, "--json").stdout)
    assert (facts["mpp_x"], facts["mpp_source"]) == (0.5, "aperio")
    assert "0.5 (aperio) and 1.27 (tiff-resolution)" in facts["mpp_conflict"]
    stated = json.loads(inspect(path, "--json", "--mpp", "0.5").stdout)
    assert (stated["mpp_source"], stated["mpp_conflict"]) == ("override", None)


def test_a_folder_of_dicom_files_is_one_slide() -> None:
    result = inspect(shared_slide("derived/cmu-small-region-dicom"), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["format"] == "dicom"


def test_a_chosen_optical_path_is_inspected(tmp_path: Path) -> None:
    path = write_picture(tmp_path / "a.dcm", tissue(300, 200), Writing(paths=2), tissue(300, 200, 1))
    refused = inspect(path)
    assert refused.exit_code == 3
    assert "(--optical-path)" in refused.output
    assert inspect(path, "--optical-path", "2").exit_code == 0


def test_an_unreadable_slide_exits_3_with_one_sentence() -> None:
    result = inspect(shared_slide("broken/random-text.svs"), "--json")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr.startswith("tessera: rejected (not_a_slide): ")
    assert result.stderr.count("\n") == 1
