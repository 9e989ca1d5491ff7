"""`tessera submit` against a small real server: upload, job, polling, download, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tessera.cli import app
from tessera.local_run.inputs import UsageError
from tests.tessera.api.test_watch_merge import update
from tests.tessera.server import JOB, SLIDE, Installation, served
from wsi.records.jobs import JobTerms

RESULTS = {"tiles.csv": b"minx,miny\n", "summary.json": b"{}\n", "heatmap.ome.tif": b"II*\0" * 9}


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    path = tmp_path / "a.svs"
    path.write_bytes(b"any bytes: the server looks at them, not the client")
    return path


def job(status: str, **more: Any) -> dict[str, Any]:
    return {**update(3, 1).as_json(), "status": status, "slide_id": "s", "sentence": None, **more}


def submit(installation: Installation, *arguments: object) -> Result:
    with served(installation) as url:
        options = ["--api", url, "--model", "stain-density", "--api-key", "tsk_a_b", *map(str, arguments)]
        return CliRunner().invoke(app, ["submit", *options])


def test_it_uploads_follows_and_downloads(slide: Path, tmp_path: Path) -> None:
    installation = Installation(job=job("COMPLETED", tiles_planned=7, tiles_inferred=7), results=RESULTS)
    result = submit(installation, slide, "--watch", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert f"job {JOB}" in result.stdout
    assert "1 slide = 1 completed" in result.stdout
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == RESULTS


def test_watching_downloads_beside_the_caller_when_no_folder_is_named(
    slide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    installation = Installation(job=job("COMPLETED", tiles_planned=7, tiles_inferred=7), results=RESULTS)
    result = submit(installation, slide, "--watch")
    assert result.exit_code == 0, result.output
    assert "results stain-density-results/a" in result.stdout
    assert {path.name for path in (here / "stain-density-results/a").iterdir()} == set(RESULTS)


def test_without_watch_it_ends_when_the_job_is_made(slide: Path) -> None:
    installation = Installation(job=job("QUEUED"))
    result = submit(installation, slide, "--idempotency-key", "mine")
    assert result.exit_code == 0
    assert "1 submitted" in result.stdout
    assert installation.job["key"] == "mine"


def test_each_text_that_a_job_may_state_is_an_option_and_reaches_the_api(slide: Path) -> None:
    texts = {name: f"some {name}" for name, value in JobTerms().get_terms().items() if value is None}
    installation = Installation(job=job("QUEUED"))
    options = [part for name, text in texts.items() for part in (f"--{name.replace('_', '-')}", text)]
    result = submit(installation, slide, *options, "--priority", "low")
    assert result.exit_code == 0, result.output
    notify = {name.removeprefix("notify_"): text for name, text in texts.items() if name.startswith("notify_")}
    others = {name: text for name, text in texts.items() if not name.startswith("notify_")}
    assert installation.asked.items() >= {**others, "notify": notify, "priority": "low"}.items()


def test_leave_to_enlarge_and_fast_decoding_are_asked_for(slide: Path) -> None:
    installation = Installation(job=job("QUEUED"))
    assert submit(installation, slide).exit_code == 0
    assert "options" not in installation.asked
    assert submit(installation, slide, "--allow-upsampling", "--fast", "--read-level", "finest").exit_code == 0
    assert installation.asked["options"] == {"allow_upsampling": True, "fast": True, "read_level": "finest"}


@pytest.mark.parametrize(
    ("reason", "said", "hint"),
    [
        ("no_mpp", {}, True),
        ("damaged", {}, False),
        ("no_mpp", {"deidentify": True}, False),  # its files are deleted
    ],
)
def test_a_rejected_slide_says_how_to_state_what_it_lacks(
    slide: Path, reason: str, said: dict[str, bool], hint: bool
) -> None:
    look = {"status": "REJECTED", "reason": reason, "sentence": "Why.", **said}
    result = submit(Installation(looks=[look] * 3), slide)
    assert result.exit_code == 3
    assert (f"Without a new upload: tessera restate {SLIDE} --mpp …" in result.stderr) is hint


def test_the_chosen_picture_is_stated_with_the_slide(slide: Path) -> None:
    installation = Installation(job=job("QUEUED"))
    assert submit(installation, slide, "--focal-plane", 2).exit_code == 0
    assert installation.begun == {"focal_plane": 2}
    assert submit(installation, slide, "--optical-path", "H&E", "--focal-plane", 1).exit_code == 0
    assert installation.begun == {"optical_path": "H&E", "focal_plane": 1}
    assert submit(installation, slide, "--picture", 3).exit_code == 0
    assert installation.begun == {"picture": 3}
    assert submit(installation, slide).exit_code == 0
    assert installation.begun == {}


def test_a_series_is_sent_with_the_folder_that_names_it(slide: Path, tmp_path: Path) -> None:
    series = tmp_path / "H&E"
    series.mkdir()
    for number in (1, 2):
        (series / f"{number}.dcm").write_bytes(b"the server looks at it")
    installation = Installation(job=job("QUEUED"))
    assert submit(installation, series).exit_code == 0
    assert installation.files == ["H&E/1.dcm", "H&E/2.dcm"]
    assert submit(installation, slide).exit_code == 0
    assert installation.files == ["a.svs"]


def test_a_drawn_region_is_sent_with_its_frame(slide: Path, tmp_path: Path) -> None:
    drawn = tmp_path / "region.geojson"
    ring = [[0, 0], [99, 0], [99, 99], [0, 0]]
    drawn.write_text(json.dumps({"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}}))
    installation = Installation(job=job("QUEUED"))
    assert submit(installation, slide, "--region-geojson", drawn, "--region-frame", "qupath").exit_code == 0
    assert installation.asked["region_geojson"] == {"type": "MultiPolygon", "coordinates": [[ring]]}
    assert installation.asked["region_frame"] == "qupath"


def test_a_lost_answer_makes_no_second_job(slide: Path) -> None:
    installation = Installation(job=job("QUEUED"), fail_calls={"POST /jobs": 1})
    assert submit(installation, slide).exit_code == 0
    assert installation.calls.count("POST /jobs") == 2
    assert installation.job["key"]


def test_a_failed_job_exits_4_with_its_sentence(slide: Path, tmp_path: Path) -> None:
    installation = Installation(job=job("FAILED", reason="poison_shard", sentence="A shard failed three times."))
    result = submit(installation, slide, "--out", tmp_path / "out")
    assert result.exit_code == 4
    assert "a: failed (poison_shard): A shard failed three times." in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_upload_that_breaks_off_says_how_to_go_on(slide: Path) -> None:
    result = submit(Installation(fail_calls={"POST /uploads/slide-1/complete": 99}), slide)
    assert result.exit_code == 4
    assert "--resume slide-1" in result.stderr


def test_the_credential_is_never_printed(slide: Path) -> None:
    result = submit(Installation(fail_calls={"POST /uploads": 9}), slide)
    assert "tsk_a_b" not in result.output


def test_a_key_is_for_one_slide(slide: Path, tmp_path: Path) -> None:
    (tmp_path / "b.svs").write_bytes(b"x")
    result = submit(Installation(), tmp_path, "--idempotency-key", "mine")
    assert isinstance(result.exception, UsageError)


def test_a_file_whose_bytes_are_not_those_announced_is_not_kept(slide: Path, tmp_path: Path) -> None:
    class Lying(Installation):
        async def fetch(self, request: Any) -> Any:
            answer = await super().fetch(request)
            if request.match_info["name"] == "summary.json" and not hasattr(self, "lied"):
                self.lied = True
                answer.body = b"{"
            return answer

    installation = Lying(job=job("COMPLETED"), results=RESULTS)
    assert submit(installation, slide, "--out", tmp_path / "out").exit_code == 0
    assert json.loads((tmp_path / "out/summary.json").read_text()) == {}
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(RESULTS)


@pytest.mark.parametrize("key", ["tsk_a_ÿ", "tsk_a\nb", "tsk_a_\udcff"])
def test_a_key_that_no_header_can_carry_is_a_wrong_call(slide: Path, key: str) -> None:
    result = submit(Installation(), slide, "--api-key", key)
    assert isinstance(result.exception, UsageError)
    assert key not in str(result.exception)


def test_a_dry_run_uploads_and_makes_no_job(slide: Path) -> None:
    installation = Installation(job=job("QUEUED"))
    result = submit(installation, slide, "--dry-run", "--json", "--fast")
    assert result.exit_code == 0, result.output
    told = {"tiles": 1200, "shards": 2, "seconds": 60.5, "dollars": 0.01, "measured": True, "exact": True}
    assert json.loads(result.stdout)["total"] == told
    assert installation.asked["options"] == {"fast": True}
    assert "key" not in installation.job
    assert "1 slide = 1 estimated" in submit(installation, slide, "--dry-run").stdout


@pytest.mark.parametrize("said", [{"exact": False}, {}], ids=["not exact", "an installation that does not say"])
def test_a_count_that_is_not_the_plans_is_shown_as_about_so_many(slide: Path, said: dict[str, bool]) -> None:
    installation = Installation(job=job("QUEUED"), exact=said)
    assert "about 1,200" in submit(installation, slide, "--dry-run").stdout
    assert "about" not in submit(Installation(job=job("QUEUED")), slide, "--dry-run").stdout
