"""`tessera.run`: the command's results, as a function."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tessera
from adapters.aws_clients import AwsClients
from adapters.provisioning import create_buckets
from local.ministack import MiniStack
from tessera.cli import app
from tessera.local_run.checkpoints import FOLDER
from tests.ministack import REGION
from tests.slides import write_svs
from wsi.results.shard_result import ShardResult

MODEL = "stain-density"


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_svs(tmp_path_factory.mktemp("slides") / "a.svs", width=1536, height=1280)


def command(out: Path, *arguments: object) -> None:
    done = CliRunner().invoke(app, ["run", "--model", MODEL, "--out", str(out), *map(str, arguments)])
    assert done.exit_code == 0, done.output


def files(folder: Path) -> dict[str, bytes]:
    """All but what was measured of the run."""
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    summary: dict[str, Any] = json.loads(found["summary.json"])
    for measured in ("seconds", "inference"):
        del summary["run"][measured]
    return found | {"summary.json": json.dumps(summary).encode()}


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, ()),
        ({"mpp": 0.25, "fast": True, "read_level": "finest"}, ("--mpp", 0.25, "--fast", "--read-level", "finest")),
    ],
)
def test_the_files_are_those_of_the_command(
    slide: Path, tmp_path: Path, options: dict[str, Any], arguments: tuple[object, ...]
) -> None:
    result = tessera.run(slide, model=MODEL, out=tmp_path / "face", **options)
    command(tmp_path / "command", slide, *arguments)
    assert result.folder == tmp_path / "face"
    assert files(result.folder) == files(tmp_path / "command")


def test_a_region_means_what_it_means_in_a_manifest(slide: Path, tmp_path: Path) -> None:
    x, y, width, height = region = (300, 300, 500, 400)
    (tmp_path / "slides.csv").write_text(f'path,roi\n{slide},"{x},{y},{width},{height}"\n')
    command(tmp_path / "command", "--manifest", tmp_path / "slides.csv")
    result = tessera.run(slide, model=MODEL, out=tmp_path / "face", region=tuple(map(np.int64, region)))
    assert files(result.folder) == files(tmp_path / "command")
    with pytest.raises(tessera.UsageError, match="whole level-0 pixels"):
        tessera.run(slide, model=MODEL, out=tmp_path / "no", region=(0.5, 0, 10, 10))  # pyright: ignore[reportArgumentType]
    with pytest.raises(tessera.UsageError, match="above 0"):
        tessera.run(slide, model=MODEL, out=tmp_path / "no", region=(0, 0, 0, 10))


def test_polygons_take_the_place_of_tissue(slide: Path, tmp_path: Path) -> None:
    ring = [[200, 200], [900, 200], [900, 900], [200, 200]]
    drawn = tmp_path / "region.geojson"
    drawn.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    result = tessera.run(slide, model=MODEL, out=tmp_path / "face", region_geojson=drawn)
    command(tmp_path / "command", slide, "--region-geojson", drawn)
    assert files(result.folder) == files(tmp_path / "command")


def test_a_finished_run_is_not_computed_again(slide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = tessera.run(slide, model=MODEL)
    assert first.folder == Path(f"{MODEL}-results/a")
    before = {path: path.stat().st_mtime_ns for path in first.folder.iterdir()}
    assert {path: path.stat().st_mtime_ns for path in tessera.run(slide, model=MODEL).folder.iterdir()} == before


@pytest.mark.exhaustive
def test_an_interrupted_run_resumes(tmp_path: Path) -> None:
    large, out = write_svs(tmp_path / "large.svs", width=9_216, height=9_216), tmp_path / "out"
    code = f"import tessera; tessera.run({str(large)!r}, model={MODEL!r}, out={str(out)!r})"
    running = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list((out / FOLDER).glob("checkpoint-*.npz")) and running.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    (checkpoint,) = (out / FOLDER).glob("checkpoint-*.npz")
    assert ShardResult.from_bytes(checkpoint.read_bytes()).done >= 256
    assert not (out / "summary.json").exists()
    result = tessera.run(large, model=MODEL, out=out)
    command(tmp_path / "whole", large)
    assert {name: data for name, data in files(result.folder).items() if name != "summary.json"} == {
        name: data for name, data in files(tmp_path / "whole").items() if name != "summary.json"
    }


def test_it_runs_on_a_thread_too(slide: Path, tmp_path: Path) -> None:
    """As in a web server or a notebook's executor: signals are the main thread's alone."""
    results: list[tessera.RunResult] = []
    thread = threading.Thread(target=lambda: results.append(tessera.run(slide, model=MODEL, out=tmp_path / "out")))
    thread.start()
    thread.join()
    assert len(results[0].tile_arrays["minx"]) > 0


def test_it_is_silent_unless_somebody_watches(slide: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tessera.run(slide, model=MODEL, out=tmp_path / "a")
    tessera.run(slide, model=MODEL, out=tmp_path / "b", progress=False)
    assert capfd.readouterr() == ("", "")
    tessera.run(slide, model=MODEL, out=tmp_path / "c", progress=True)
    told = capfd.readouterr()
    assert "tiles/s" in told.err
    assert told.out == ""


def test_a_rejected_slide_is_a_typed_error_with_its_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.svs").write_text("not a slide")
    with pytest.raises(tessera.SlideRejected, match="not a whole-slide image") as rejected:
        tessera.run(tmp_path / "text.svs", model=MODEL, out=tmp_path / "out")
    assert rejected.value.reason == "not_a_slide"
    assert not (tmp_path / "out/summary.json").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"model": "no-such-model"}, "no built-in model or package folder no-such-model"),
        ({"device": "tpu"}, "device is one of cpu, cuda, cuda:all, not tpu"),
        ({"read_level": "third"}, "read_level is one of suitable, finest, not third"),
        ({"region_frame": "world"}, "region_frame is one of full, qupath, not world"),
        ({"workers": 0}, "workers is a whole number from 1, not 0"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(slide: Path, tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(tessera.UsageError, match=sentence):
        tessera.run(slide, **{"model": MODEL, "out": tmp_path / "out", **options})


def test_it_takes_one_slide(slide: Path, tmp_path: Path) -> None:
    for name in ("a.svs", "b.svs"):
        (tmp_path / name).write_bytes(slide.read_bytes() + name.encode())
    with pytest.raises(tessera.UsageError, match="holds 2 slides"):
        tessera.run(tmp_path, model=MODEL, out=tmp_path / "out")
    with pytest.raises(tessera.UsageError, match=r"no file or folder .*absent\.svs"):
        tessera.run(tmp_path / "absent.svs", model=MODEL)


def test_a_slide_on_s3_gives_the_tables_of_its_file(
    slide: Path,
    tmp_path: Path,
    ministack: MiniStack,
    clients: AwsClients,
    fresh_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack.url)
    create_buckets(clients, [fresh_name])
    clients.s3.upload_file(str(slide), fresh_name, "study/a.svs")
    url = f"s3://{fresh_name}/study/a.svs"
    remote = tessera.run(url, model=MODEL, out=tmp_path / "remote")
    here = tessera.run(slide, model=MODEL, out=tmp_path / "here")
    assert (remote.folder / "tiles.csv").read_bytes() == (here.folder / "tiles.csv").read_bytes()
    with tessera.open(url) as far, tessera.open(slide) as near:
        np.testing.assert_array_equal(
            far.read_region((500, 400), 300, mpp=1.0), near.read_region((500, 400), 300, mpp=1.0)
        )
