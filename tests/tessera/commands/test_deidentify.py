"""`tessera deidentify` on this disk, and `--deidentify` of what goes to an installation."""

from __future__ import annotations

from pathlib import Path

import openslide
import pydicom
import pytest
from typer.testing import CliRunner, Result

from tessera.cli import app
from tessera.local_run.inputs import UsageError
from tests.shared_slides import shared_slide
from tests.slides.identified import SECRETS, write_identified_series, write_identified_svs
from tests.slides.identified_mirax import write_identified_mirax
from tests.tessera.server import SLIDE, Installation, served


def deidentify(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["deidentify", *map(str, arguments)])


def call(installation: Installation, command: str, *arguments: object) -> Result:
    with served(installation) as url:
        return CliRunner().invoke(app, [command, "--api", url, "--api-key", "tsk_a_b", *map(str, arguments)])


def test_a_clean_copy_lies_beside_the_slide_which_stays(tmp_path: Path) -> None:
    slide = write_identified_svs(tmp_path).path
    before, out = slide.read_bytes(), tmp_path / "clean.svs"
    result = deidentify(slide, "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout == "removed 2 pictures and 48 values\n"
    assert slide.read_bytes() == before
    assert not any(secret in out.read_bytes() for secret in SECRETS)
    with openslide.OpenSlide(out) as opened:
        assert list(opened.associated_images) == ["thumbnail"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([slide.name, "clean.svs"])


def test_of_a_series_the_levels_lie_in_a_new_folder(tmp_path: Path) -> None:
    series = write_identified_series(tmp_path).path
    one, other = tmp_path / "one", tmp_path / "other"
    for out in (one, other):
        result = deidentify(series, "--out", out)
        assert result.exit_code == 0, result.output
        assert "removed 3 pictures" in result.stdout
        assert "zz.dcm: left out (not_a_slide)" in result.stderr
        assert sorted(path.name for path in out.iterdir()) == ["00000.dcm", "00001.dcm"]
    uids = [pydicom.dcmread(out / "00000.dcm", stop_before_pixels=True).SeriesInstanceUID for out in (one, other)]
    assert uids[0] != uids[1], "nobody can say that both are of the same series"


def test_a_mirax_slide_lies_in_a_new_folder(tmp_path: Path) -> None:
    slide = write_identified_mirax(tmp_path / "before").path
    result = deidentify(slide, "--out", tmp_path / "clean")
    assert result.exit_code == 0, result.output
    with openslide.OpenSlide(tmp_path / "clean" / "00000.mrxs") as opened:
        assert opened.dimensions == (768, 512)
    again = deidentify(slide, "--out", tmp_path / "clean")
    assert again.exit_code != 0, "it is there already"


def test_a_clean_slide_has_nothing_to_remove(tmp_path: Path) -> None:
    deidentify(write_identified_svs(tmp_path).path, "--out", tmp_path / "clean.svs")
    result = deidentify(tmp_path / "clean.svs", "--out", tmp_path / "again.svs")
    assert result.stdout == "there was nothing to remove\n"
    assert (tmp_path / "again.svs").read_bytes() == (tmp_path / "clean.svs").read_bytes()


def test_what_can_not_be_cleaned_leaves_no_file(tmp_path: Path) -> None:
    out = tmp_path / "clean.tif"
    result = deidentify(shared_slide("real/strips-packbits-224.kather1.tif"), "--out", out)
    assert result.exit_code == 3
    assert "rejected (can_not_deidentify)" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path: Path) -> None:
    slide = write_identified_svs(tmp_path).path
    before = slide.read_bytes()
    result = deidentify(slide, "--out", slide)
    assert isinstance(result.exception, UsageError)
    assert "is there already" in str(result.exception)
    assert slide.read_bytes() == before


def test_where_nothing_can_be_written_the_call_was_wrong(tmp_path: Path) -> None:
    result = deidentify(write_identified_svs(tmp_path).path, "--out", tmp_path / "missing" / "clean.svs")
    assert isinstance(result.exception, UsageError)
    assert "cannot be written" in str(result.exception)


@pytest.mark.parametrize("wish", [True, False])
def test_an_upload_waits_for_inspection_and_tells_the_id(wish: bool, tmp_path: Path) -> None:
    slide = tmp_path / "Doe.svs"
    slide.write_bytes(b"any bytes: the server looks at them")
    installation = Installation(job={})
    result = call(installation, "upload", slide, *(["--deidentify"] if wish else []))
    assert result.exit_code == 0, result.output
    assert installation.begun.get("deidentify", False) is wish
    told = f"slide {SLIDE} Doe" + (": removed 2 pictures and 16 values" if wish else "")
    assert told in result.stdout.splitlines()
    assert "1 slide = 1 uploaded" in result.stdout


def test_an_upload_that_was_begun_without_the_wish_is_not_resumed_with_it(tmp_path: Path) -> None:
    slide = tmp_path / "a.svs"
    slide.write_bytes(b"any bytes")
    installation = Installation(job={})
    result = call(installation, "upload", slide, "--deidentify", "--resume", SLIDE)
    assert result.exit_code == 4
    assert "begun without de-identification" in result.stderr
    installation.begun = {"deidentify": True}
    assert call(installation, "upload", slide, "--deidentify", "--resume", SLIDE).exit_code == 0


def test_a_job_is_asked_for_on_the_clean_slide(tmp_path: Path) -> None:
    slide = tmp_path / "a.svs"
    slide.write_bytes(b"any bytes")
    installation = Installation(job={"job_id": "j", "status": "QUEUED", "slide_id": "s", "sentence": None})
    installation.job |= {"version": 1, "progress_seq": 0, "tiles_planned": 0, "tiles_inferred": 0}
    installation.job |= {"tiles_unreadable": 0, "reason": None}
    result = call(installation, "submit", slide, "--model", "stain-density", "--deidentify")
    assert result.exit_code == 0, result.output
    assert installation.begun["deidentify"] is True
