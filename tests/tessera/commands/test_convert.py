"""Vectors as .pt files, read as CLAM reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tessera.cli import app, main
from tests.wsi.plans import inspection, plan, shard_results
from tests.wsi.results.features.test_features_h5 import encoder, vectors_of
from wsi.records.outputs import Stored
from wsi.results.sink import FolderSink
from wsi.results.stitching import stitch


def write_results(folder: Path, stored: Stored = Stored.FP32) -> np.ndarray:
    made = plan(inspection(640, 640, mpp=0.5), card=encoder(stored))
    vectors = vectors_of(made, np.float16 if stored is Stored.FP16 else np.float32)
    stitch(made, shard_results(made, vectors), FolderSink(folder), run={})
    return vectors


@pytest.mark.parametrize("stored", Stored)
def test_clam_reads_a_plain_tensor_of_float32_for_each_slide(tmp_path: Path, stored: Stored) -> None:
    torch = pytest.importorskip("torch")
    vectors = [write_results(tmp_path / "study" / name, stored) for name in ("a", "b")]
    ran = CliRunner().invoke(app, ["convert", str(tmp_path / "study"), "--pt", str(tmp_path / "pt_files")])
    assert ran.exit_code == 0, ran.output
    for name, expected in zip(("a", "b"), vectors, strict=True):
        features = torch.load(tmp_path / "pt_files" / f"{name}.pt")  # dataset_generic.py of CLAM, weights only
        assert features.dtype == torch.float32
        np.testing.assert_array_equal(features.numpy(), expected.astype(np.float32))


def test_folders_without_vectors_and_two_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("first/a", "second/a"):
        write_results(tmp_path / folder)
    (tmp_path / "empty").mkdir()
    for given, said in (("empty", "There is no features.h5"), ("first second", "Two results are named a")):
        folders = [str(tmp_path / name) for name in given.split()]
        monkeypatch.setattr("sys.argv", ["tessera", "convert", *folders, "--pt", str(tmp_path / "out")])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
