"""The epithelium network, whose weights come from a package index, through `tessera run`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tessera.cli import app
from tessera.local_run.inputs import UsageError
from tests.slides import write_svs


def run(slide: Path, *options: str):
    return CliRunner().invoke(app, ["run", str(slide), "--model", "epithelium", *options])


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that never fetched the weights, and has no index to fetch them from."""
    for name, value in {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_FIND_LINKS": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("offline")
def test_without_an_index_the_call_is_refused_with_a_sentence_and_nothing_is_written(tmp_path: Path) -> None:
    slide = write_svs(tmp_path / "a.svs", width=512, height=512)
    result = run(slide, "--out", str(tmp_path / "out"))
    assert isinstance(result.exception, UsageError)
    assert "fetched once from a Python package index, as lavlab-shell==0.9.1" in str(result.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("offline")
def test_a_dry_run_needs_no_weights(tmp_path: Path) -> None:
    slide = write_svs(tmp_path / "a.svs", width=1024, height=1024, mpp=1.0)
    result = run(slide, "--dry-run", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["slides"][0]["tiles"] == 1
