"""Slides that lie on S3: listed, named, read by ranges. MiniStack stands for S3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_buckets
from local.ministack import MiniStack
from tessera.cli import app
from tessera.local_run.inputs import UsageError
from tests.ministack import REGION
from tests.slides import write_svs
from tests.slides.scn import write_scn


@pytest.fixture
def bucket(
    ministack: MiniStack,
    clients: AwsClients,
    fresh_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack.url)
    create_buckets(clients, [fresh_name])
    return fresh_name


def run(out: Path, path: str | Path) -> Result:
    return CliRunner().invoke(app, ["run", "--model", "stain-density", "--out", str(out), str(path)])


def test_a_prefix_is_a_batch_whose_tables_equal_those_of_the_files(
    clients: AwsClients,
    bucket: str,
    tmp_path: Path,
) -> None:
    write_svs(tmp_path / "a.svs", width=1024, height=1024, seed=1)
    clients.s3.upload_file(str(tmp_path / "a.svs"), bucket, "study/a.svs")
    clients.s3.put_object(Bucket=bucket, Key="study/deep/b.tif", Body=b"not a slide")
    clients.s3.put_object(Bucket=bucket, Key="study/readme.txt", Body=b"x")
    clients.s3.put_object(Bucket=bucket, Key="study/deep/", Body=b"")
    remote = run(tmp_path / "remote", f"s3://{bucket}/study/")
    assert remote.exit_code == 3, remote.output
    assert "3 inputs = 1 completed + 1 rejected + 1 left_out" in remote.stdout
    assert "3 files = 2 in 2 slides + 1 left out" in remote.stdout
    assert run(tmp_path / "local", tmp_path / "a.svs").exit_code == 0
    assert (tmp_path / "remote/a/tiles.csv").read_bytes() == (tmp_path / "local/tiles.csv").read_bytes()
    assert "1 skipped + 1 rejected" in run(tmp_path / "remote", f"s3://{bucket}/study/").stdout


def test_an_object_that_is_not_there_is_rejected(bucket: str, tmp_path: Path) -> None:
    result = run(tmp_path, f"s3://{bucket}/absent.svs")
    assert result.exit_code == 3
    assert "rejected (source_missing): " in result.stderr


def test_a_bucket_that_is_not_there_is_a_wrong_call(bucket: str, tmp_path: Path) -> None:
    assert isinstance(run(tmp_path, "s3://nobodys-bucket/x/").exception, UsageError)


def test_a_slide_that_only_openslide_reads_is_copied_and_the_copy_is_gone_afterwards(
    clients: AwsClients, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    write_scn(tmp_path / "a.scn")
    clients.s3.upload_file(str(tmp_path / "a.scn"), bucket, "a.scn")
    inspected = CliRunner().invoke(app, ["inspect", "--json", f"s3://{bucket}/a.scn"])
    assert inspected.exit_code == 0, inspected.output
    facts = json.loads(inspected.stdout)
    assert (facts["format"], facts["reading_path"]) == ("scn", "scratch")
    assert facts["path_reason"].endswith(".")
    assert run(tmp_path / "remote", f"s3://{bucket}/a.scn").exit_code == 0
    assert run(tmp_path / "local", tmp_path / "a.scn").exit_code == 0
    assert (tmp_path / "remote/tiles.csv").read_bytes() == (tmp_path / "local/tiles.csv").read_bytes()
    assert list(scratch.iterdir()) == []
