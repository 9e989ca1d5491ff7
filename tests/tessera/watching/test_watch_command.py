"""`tessera watch` over real files, in a folder, on S3 (MiniStack) and against the real API in memory."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_buckets
from local.ministack import MiniStack
from tessera.cli import app
from tessera.local_run.checkpoints import FOLDER as PARTIAL
from tessera.local_run.checkpoints import hold_folder
from tessera.local_run.inputs import UsageError
from tessera.local_run.outcomes import Outcome
from tessera.watching.journal import FOLDER, Journal
from tests.installation import ANALYST
from tests.ministack import REGION
from tests.slides import write_svs
from tests.slides.dicoms import Writing, tissue, write_picture
from tests.slides.mirax import write_mirax
from tests.tessera.watching.installation import KEY, ServedInstallation, serving
from wsi.errors import Conflict, NotFound, Unauthenticated
from wsi.uploads.uploads import abort_upload

QUICK = ("--settle", "0.2", "--interval", "0.1", "--once", "--json")


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slides") / "slide.svs"
    write_svs(path, width=1024, height=1024)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.mkdir()
    return path


def watch(place: Path | str, out: Path, *arguments: object) -> Result:
    options = ["--model", "stain-density", "--out", str(out), *QUICK, *map(str, arguments)]
    return CliRunner().invoke(app, ["watch", str(place), *options])


def told(result: Result) -> list[dict[str, Any]]:
    """The lines, each a JSON object."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def outcomes(result: Result) -> dict[str, str]:
    end = told(result)[-1]
    assert end["event"] == "end"
    assert not end["interrupted"]
    return {one["name"]: one["outcome"] + (f": {one['reason']}" if "reason" in one else "") for one in end["slides"]}


def started(result: Result) -> list[str]:
    return [line["name"] for line in told(result) if line["event"] == "started"]


def results_in(out: Path) -> Counter[str]:
    return Counter(path.parent.name for path in out.rglob("summary.json"))


def test_mixed_folder_is_analysed_once_and_the_table_adds_up(slide: Path, folder: Path, tmp_path: Path) -> None:
    shutil.copy(slide, folder / "a.svs")
    (folder / "cut.svs").write_bytes(slide.read_bytes()[:-1000])
    write_mirax(folder / "m.mrxs", tissue(512, 512))
    write_mirax(folder / "lonely.mrxs", tissue(512, 512))
    shutil.rmtree(folder / "lonely")
    (folder / "notes.txt").write_text("x")
    shutil.copy(slide, folder / "b.svs.part")
    result = watch(folder, tmp_path / "out")
    assert result.exit_code == 3, result.output
    assert outcomes(result) == {
        "a": "completed",
        "cut": "rejected: truncated",
        "m": "completed",
        "lonely": "rejected: missing_files",
        "notes.txt": "left_out: not_a_slide",
    }
    assert "1 files with temporary names" in result.stderr
    again = watch(folder, tmp_path / "out")
    assert (again.exit_code, outcomes(again), started(again)) == (0, {}, [])
    assert told(again)[0]["count"] == 5
    (folder / "b.svs.part").rename(folder / "b.svs")
    assert outcomes(watch(folder, tmp_path / "out")) == {"b": "completed"}
    assert results_in(tmp_path / "out") == {"a": 1, "b": 1, "m": 1}


def test_people_see_lines_and_a_table(slide: Path, folder: Path, tmp_path: Path) -> None:
    shutil.copy(slide, folder / "a.svs")
    command = ["watch", str(folder), "--model", "stain-density", "--out", str(tmp_path / "out"), *QUICK[:-1]]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    told = [line.split(None, 1)[1] for line in result.stdout.splitlines() if line[:1].isdigit() and ":" in line[:3]]
    assert [line.split()[:2] for line in told] == [["arrived", "a.svs"], ["started", "a.svs"], ["completed", "a:"]]
    assert "1 slide = 1 completed" in result.stdout


def test_series_is_not_analysed_again_when_another_one_arrives_in_its_folder(folder: Path, tmp_path: Path) -> None:
    first = Writing(series="1.2.3.1", place="1.2.3.1.1")
    write_picture(folder / "1.dcm", tissue(512, 512), first)
    one = watch(folder, tmp_path / "out")
    assert list(outcomes(one).values()) == ["completed"], one.output
    write_picture(folder / "2.dcm", tissue(512, 512, 1), Writing(series="1.2.3.2", place="1.2.3.2.1"))
    two = watch(folder, tmp_path / "out")
    assert list(outcomes(two).values()) == ["completed"], two.output
    level = np.ascontiguousarray(tissue(512, 512)[::2, ::2])
    write_picture(folder / "0.dcm", level, Writing(series="1.2.3.1", place="1.2.3.1.1", spacing=(0.001, 0.001)))
    three = watch(folder, tmp_path / "out")
    assert started(three) == started(one)
    assert len(results_in(tmp_path / "out")) == 2


def test_killed_watch_is_resumed_and_each_slide_has_one_result(slide: Path, folder: Path, tmp_path: Path) -> None:
    shutil.copy(slide, folder / "a.svs")
    write_svs(folder / "b.svs", width=3072, height=3072)
    shutil.copy(slide, folder / "c.svs")
    for number, name in enumerate("abc"):  # their turns come in this order
        os.utime(folder / f"{name}.svs", (number, number))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tessera", "watch", str(folder), "--model", "stain-density", "--out", str(out)]
    with subprocess.Popen([*command, *QUICK], stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        lines = map(json.loads, watching.stdout)
        assert any(line["event"] == "started" and line["name"] == "b" for line in lines)
        while not (out / "b" / PARTIAL).exists():
            assert watching.poll() is None
            time.sleep(0.02)
        watching.send_signal(signal.SIGKILL)
    done = set(results_in(out))
    assert "a" in done
    assert "c" not in done
    resumed = watch(folder, out)
    assert resumed.exit_code == 0, resumed.output
    assert started(resumed) in (["b", "c"], ["c"])  # the machine may have been so busy that b ended before its kill
    assert results_in(out) == {"a": 1, "b": 1, "c": 1}
    assert {one.outcome for one in Journal(out / FOLDER).entries.values()} <= {Outcome.COMPLETED, Outcome.SKIPPED}
    assert started(watch(folder, out)) == []


def test_signal_ends_a_watch_with_its_table(slide: Path, folder: Path, tmp_path: Path) -> None:
    shutil.copy(slide, folder / "a.svs")
    command = [sys.executable, "-m", "tessera", "watch", str(folder), "--model", "stain-density", "--settle", "99"]
    watching = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    assert "arrived" in watching.stdout.readline()
    watching.send_signal(signal.SIGTERM)
    stdout, stderr = watching.communicate(timeout=60)
    assert watching.returncode == 130, stderr
    assert "1 slide = 1 waiting" in stdout
    assert "run the same command again" in stderr
    assert "Traceback" not in stderr


def test_second_watch_into_the_same_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    with hold_folder(tmp_path / "out" / FOLDER):
        result = watch(folder, tmp_path / "out")
    assert isinstance(result.exception, Conflict)
    assert "Another watch writes into" in str(result.exception)


@pytest.mark.parametrize(
    ("place", "options", "sentence"),
    [
        ("absent", (), "There is no folder"),
        ("in", ("--out", "in"), "name another folder"),
        ("in", ("--label", "x"), "are for --api"),
        ("in", ("--api", "http://127.0.0.1:9", "--api-key", "k", "--workers", "2"), "for runs on this machine"),
        ("in", ("--api", "http://127.0.0.1:9"), "needs an API key"),
    ],
)
def test_wrong_calls_are_refused_with_a_message(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    options: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TESSERA_API_KEY", raising=False)
    result = CliRunner().invoke(app, ["watch", place, "--model", "stain-density", *options])
    assert isinstance(result.exception, UsageError)
    assert sentence in str(result.exception)


# --- S3
@pytest.fixture
def bucket(ministack: MiniStack, clients: AwsClients, fresh_name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack.url)
    create_buckets(clients, [fresh_name])
    return fresh_name


def test_objects_below_a_prefix_are_analysed_at_once_and_replaced_ones_again(
    slide: Path, clients: AwsClients, bucket: str, tmp_path: Path
) -> None:
    prefix, out = f"s3://{bucket}/study/", tmp_path / "out"
    assert outcomes(watch(prefix, out)) == {}
    clients.s3.upload_file(str(slide), bucket, "study/a.svs")
    clients.s3.put_object(Bucket=bucket, Key="study/deep/notes.txt", Body=b"x")
    write_mirax(tmp_path / "m.mrxs", tissue(512, 512))
    clients.s3.upload_file(str(tmp_path / "m.mrxs"), bucket, "study/m.mrxs")
    first = watch(prefix, out, "--settle", "2")
    assert outcomes(first) == {
        "a": "completed",
        "m": "rejected: missing_files",
        "deep/notes.txt": "left_out: not_a_slide",
    }, first.output
    ended = [line["slide"] for line in told(first) if line["event"] == "ended"]
    assert ended.index(f"{prefix}a.svs") == 0  # it need not settle
    for part in (tmp_path / "m").iterdir():
        clients.s3.upload_file(str(part), bucket, f"study/m/{part.name}")
    write_svs(tmp_path / "other.svs", width=1024, height=1024, seed=9)
    clients.s3.upload_file(str(tmp_path / "other.svs"), bucket, "study/a.svs")
    assert outcomes(watch(prefix, out)) == {"a": "completed", "m": "completed"}
    assert results_in(out) == {"a": 1, "m": 1}


def test_bucket_that_is_not_there_is_a_wrong_call(bucket: str, tmp_path: Path) -> None:
    assert isinstance(watch("s3://nobodys-bucket/x/", tmp_path / "out").exception, UsageError)


# --- an installation
@pytest.fixture
def installation() -> ServedInstallation:
    return ServedInstallation()


@pytest.fixture
def url(installation: ServedInstallation) -> Iterator[str]:
    with serving(installation) as url:
        yield url


def submit(url: str, place: Path | str, out: Path, *arguments: object) -> Result:
    return watch(place, out, "--api", url, "--api-key", KEY, *arguments)


def test_slides_are_submitted_and_results_collected(
    installation: ServedInstallation, url: str, slide: Path, folder: Path, tmp_path: Path
) -> None:
    for name in "ab":
        write_svs(folder / f"{name}.svs", width=1024, height=1024, seed=ord(name))
    result = submit(url, folder, tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert outcomes(result) == {"a": "no_tissue", "b": "no_tissue"}
    assert {path.parent.name for path in (tmp_path / "out").glob("*/tiles.csv")} == {"a", "b"}
    again = submit(url, folder, tmp_path / "out")
    assert (outcomes(again), len(installation.known_jobs()), len(installation.known_slides())) == ({}, 2, 2)


def test_jobs_that_run_when_a_watch_ends_are_collected_by_the_next(
    installation: ServedInstallation, url: str, slide: Path, folder: Path, tmp_path: Path
) -> None:
    shutil.copy(slide, folder / "a.svs")
    installation.ends_jobs = False
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tessera", "watch", str(folder), "--model", "stain-density", "--out", str(out)]
    with subprocess.Popen(
        [*command, "--api", url, "--api-key", KEY, *QUICK], stdout=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout is not None
        assert any(json.loads(line)["event"] == "ended" for line in watching.stdout)
        watching.kill()
    installation.ends_jobs = True
    result = submit(url, folder, out)
    assert outcomes(result) == {"a": "no_tissue"}
    assert started(result) == []
    assert (out / "a/tiles.csv").exists()
    assert len(installation.known_jobs()) == 1


def test_upload_that_broke_off_is_resumed_and_makes_one_job(
    installation: ServedInstallation,
    url: str,
    slide: Path,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tessera.api.upload.ATTEMPTS", 1)
    shutil.copy(slide, folder / "a.svs")
    with (folder / "a.svs").open("ab") as file:
        file.truncate(40 * 1024**2)  # three parts
    installation.most_parts = 1
    first = submit(url, folder, tmp_path / "out")
    assert outcomes(first) == {"a": "failed: source_unavailable"}
    assert "--resume" not in first.stderr
    installation.most_parts = None
    second = submit(url, folder, tmp_path / "out")
    assert outcomes(second) == {"a": "no_tissue"}, second.output
    assert (installation.parts, len(installation.known_slides()), len(installation.known_jobs())) == (3, 1, 1)


def test_upload_that_was_aborted_meanwhile_is_begun_anew(
    installation: ServedInstallation,
    url: str,
    slide: Path,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tessera.api.upload.ATTEMPTS", 1)
    shutil.copy(slide, folder / "a.svs")
    installation.most_parts = 0
    assert outcomes(submit(url, folder, tmp_path / "out")) == {"a": "failed: source_unavailable"}
    (begun,) = installation.known_slides()
    abort_upload(ANALYST, begun.id, ledger=installation.ledger, slides=installation.slides)
    installation.most_parts = None
    assert outcomes(submit(url, folder, tmp_path / "out")) == {"a": "no_tissue"}


def test_failed_job_is_asked_for_again_by_the_next_watch(
    installation: ServedInstallation, url: str, slide: Path, folder: Path, tmp_path: Path
) -> None:
    shutil.copy(slide, folder / "a.svs")
    installation.fails_jobs = 1
    assert outcomes(submit(url, folder, tmp_path / "out")) == {"a": "failed: poison_shard"}
    assert outcomes(submit(url, folder, tmp_path / "out")) == {"a": "no_tissue"}
    assert len(installation.known_jobs()) == 2
    assert len(installation.known_slides()) == 1


def test_object_on_s3_is_registered_where_it_is(slide: Path, clients: AwsClients, bucket: str, tmp_path: Path) -> None:
    installation = ServedInstallation(buckets=(bucket,))
    clients.s3.upload_file(str(slide), bucket, "in/a.svs")
    installation.slides.put_object(f"s3://{bucket}/in/a.svs", slide.read_bytes())
    with serving(installation) as url:
        result = submit(url, f"s3://{bucket}/in/", tmp_path / "out")
    assert outcomes(result) == {"a": "no_tissue"}, result.output
    (known,) = installation.known_slides()
    assert known.files[0].uri == f"s3://{bucket}/in/a.svs"


def test_wrong_key_and_unknown_model_end_the_watch(
    installation: ServedInstallation, url: str, slide: Path, folder: Path, tmp_path: Path
) -> None:
    shutil.copy(slide, folder / "a.svs")
    wrong = submit(url, folder, tmp_path / "out", "--api-key", "tsk_wrong")
    unknown = submit(url, folder, tmp_path / "out", "--model", "nobodys")
    assert isinstance(wrong.exception, Unauthenticated)
    assert isinstance(unknown.exception, NotFound)
    assert installation.known_slides() == ()
