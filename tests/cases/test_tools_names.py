"""Reports on names and folders: dots, signs, equal names, folders in folders, results that overwrite each other."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tessera.cli import app, main
from tessera.local_run.inputs import LeftOutReason, expand
from tests.cases.reported import reported
from tests.slides import write_svs
from tests.slides.dicoms import tissue, write_pyramid
from tests.slides.mirax import write_mirax


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_svs(tmp_path_factory.mktemp("slides") / "a.svs", width=480, height=240, associated=False, pool=2)


def names(*paths: Path) -> list[str]:
    return [found.name for found in expand([str(path) for path in paths]).slides]


def copied(slide: Path, *places: Path) -> None:
    """Copies that differ in a byte behind the file's end, so that none is the duplicate of another."""
    for number, place in enumerate(places):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(slide.read_bytes() + bytes([number]))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["run", "--model", "stain-density", *map(str, arguments)])


@reported("sparc-curation#83")
def test_a_folder_with_dots_in_its_name_keeps_all_of_it(tmp_path: Path) -> None:
    for folder in ("sam-PGP9.5-20171129P", "1.2.840.113619.2.55"):
        (tmp_path / folder).mkdir()
        write_pyramid(tmp_path / folder, tissue(200, 100), 2)
        assert names(tmp_path / folder) == [folder]


@reported("STAMP PR#141", "mcmicro#331")
def test_names_that_differ_behind_a_dot_are_two_results(slide: Path, tmp_path: Path) -> None:
    places = ("fileA.someaddition.svs", "fileA.somedifferentaddition.svs", "B.1/foo.svs", "B.2/bar.svs")
    copied(slide, *(tmp_path / place for place in places))
    assert sorted(names(tmp_path)) == ["bar", "fileA.someaddition", "fileA.somedifferentaddition", "foo"]


@reported("rse-grand-challenge#1421", "megadetector-gui#11", "hover_net#151")
def test_equal_names_in_several_folders_do_not_overwrite_each_other(slide: Path, tmp_path: Path) -> None:
    copied(slide, tmp_path / "in/card-1/IMG_1.svs", tmp_path / "in/card-2/IMG_1.svs")
    result = run(tmp_path / "in", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert {path.parent.name for path in (tmp_path / "out").rglob("summary.json")} == {
        "card-1_IMG_1.svs",
        "card-2_IMG_1.svs",
    }


@reported("Qupath_to_LMD#25", "supabase-js#960")
@pytest.mark.parametrize(
    "name", ["XP24 10% maxshift and % minimal [x] {y} $z ~ 'q' #1", "2024-01-29T10:48:15.595Z", "-rf", "a\tb", "*", "é"]
)
def test_a_slide_of_any_name_is_analysed_under_its_name(slide: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    shutil.copy(slide, tmp_path / "in" / f"{name}.svs")
    result = run(tmp_path / "in", tmp_path / "in", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "1 slide = 1 completed" in " ".join(result.stdout.split())
    assert json.loads((tmp_path / "out/summary.json").read_bytes())["status"] == "COMPLETED"


@reported("CLAM#17", "slideflow#323")
@pytest.mark.parametrize("prefix", ["", "./", "../in/", "/"])
def test_a_slide_of_several_files_is_found_whole_from_the_folder_that_it_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_mirax(folder / "a.mrxs", tissue(512, 256))
    write_pyramid(folder, tissue(300, 200), 2)
    monkeypatch.chdir(folder)
    prefix = f"{folder}/" if prefix == "/" else prefix
    for name, side in ((f"{prefix}a.mrxs", 512), (f"{prefix}0.dcm", 300)):
        result = CliRunner().invoke(app, ["inspect", name, "--json"])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["width"] == side


@reported("gsutil#1625", "pyload#4523", "dupeguru#335")
@pytest.mark.parametrize(("more", "told"), [((), "1 slide = 1 estimated"), (("--json",), '"caf\\udce9"')])
def test_a_name_that_is_no_unicode_does_not_end_the_run_over_its_folder(
    slide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], told: str
) -> None:
    copied(slide, tmp_path / os.fsdecode(b"caf\xe9.svs"))  # as archives of old machines unpack
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")  # as with LANG=en_US.UTF-8
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "argv", ["tessera", "run", str(tmp_path), "--model", "stain-density", "--dry-run", *more])
    with pytest.raises(SystemExit) as ended:
        main()
    terminal.seek(0)
    assert (ended.value.code, told in terminal.read()) == (0, True)


@reported("hover_net#79", "TRIDENT#43")
def test_the_data_folder_of_a_mirax_slide_is_no_slide(tmp_path: Path) -> None:
    write_mirax(tmp_path / "a.mrxs", tissue(400, 300))
    assert names(tmp_path) == ["a"]


@reported("rse-grand-challenge#1332", "DSA-WSI-DeID#41")
def test_archives_lists_and_notes_beside_slides_are_named_and_do_not_stop_them(slide: Path, tmp_path: Path) -> None:
    shutil.copy(slide, tmp_path / "a.svs")
    (tmp_path / "mirax.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    (tmp_path / "list.xlsx").write_bytes(b"PK\x03\x04" + bytes(100))
    (tmp_path / "notes.txt").write_text("scanned on Monday")
    found = expand([str(tmp_path)])
    assert [one.name for one in found.slides] == ["a"]
    assert {Path(one.location).name for one in found.left_out} == {"mirax.zip", "list.xlsx", "notes.txt"}
    archive = next(one for one in found.left_out if one.location.endswith(".zip"))
    assert (archive.reason, "npack" in archive.sentence) == (LeftOutReason.ARCHIVE, True)


@reported("aws-healthimaging-samples#55", "sketch-labs#695")
def test_the_same_slide_in_two_folders_is_analysed_once(slide: Path, tmp_path: Path) -> None:
    for place in ("a/one.svs", "b/two.svs"):
        (tmp_path / place).parent.mkdir()
        shutil.copy(slide, tmp_path / place)
    found = expand([str(tmp_path)])
    assert len(found.slides) == 1
    assert [one.reason for one in found.left_out] == [LeftOutReason.DUPLICATE]


@reported("wsinfer PR#85", "Patho-Bench#30", "TRIDENT#14")
def test_slides_that_fail_are_named_and_the_others_go_on(slide: Path, tmp_path: Path) -> None:
    copied(slide, tmp_path / "in/good.svs")
    (tmp_path / "in/huge-mpp.svs").write_bytes(slide.read_bytes().replace(b"MPP = 0.5", b"MPP = 5e4"))
    (tmp_path / "in/cut.svs").write_bytes(slide.read_bytes()[:2000])
    result = run(tmp_path / "in", "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "3 slides = 1 completed + 2 rejected" in " ".join(result.stdout.split())
    told = [line for line in result.stderr.splitlines() if "rejected (" in line]
    assert len(told) == 2
    assert any("huge-mpp: rejected (absurd_mpp): " in line and "5e+04" in line for line in told)
    assert any("cut: rejected (truncated): " in line for line in told)


@reported("CLAM#261", "STAMP#36")
def test_every_slide_has_a_row_in_the_table_also_without_tissue(slide: Path, tmp_path: Path) -> None:
    copied(slide, tmp_path / "in/tissue.svs")
    write_svs(tmp_path / "in/glass.svs", width=480, height=240, tissue=(0, 0, 0, 0), associated=False, pool=2)
    result = run(tmp_path / "in", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "2 slides = 1 completed + 1 no_tissue" in " ".join(result.stdout.split())
    said = json.loads((tmp_path / "out/glass/summary.json").read_bytes())
    assert (said["status"], said["tiles"]["planned"]) == ("NO_TISSUE", 0)


@reported("caMicroscope#458", "rse-grand-challenge#1131")
def test_a_folder_of_images_that_are_no_slides_is_a_wrong_call_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff" + bytes(100))
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    result = run(tmp_path, "--out", tmp_path / "out")
    assert result.exit_code != 0
    assert "a.jpg" in f"{result.output}{result.exception}"
