"""What `make image-check` builds from, and what it tells of layers. Its run of a worker is a check of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cdk.templates import ROOT
from tools.base_digest import read_base
from tools.image_check.__main__ import make_context, read_suite
from tools.image_check.buildah import Buildah
from tools.image_check.container import USER
from tools.locks.entries import read_entries
from tools.locks.worker import LOCKS, PARTS

needs_buildah = pytest.mark.skipif(
    shutil.which("buildah") is None or os.geteuid() != 0, reason="It takes buildah and root."
)


def test_the_base_is_made_of_the_release_that_the_dockerfile_names() -> None:
    assert read_suite(read_base()) == "bookworm"


def test_the_user_is_the_one_that_the_dockerfile_makes() -> None:
    assert f"useradd --uid {USER} " in (ROOT / "gpu_worker/Dockerfile").read_text()


def test_the_whole_image_is_made_of_the_whole_lock(tmp_path: Path) -> None:
    context = make_context(tmp_path, without_cuda=False)
    for part in PARTS:
        assert (context / f"gpu_worker/locks/{part}.lock").read_text() == (LOCKS / f"{part}.lock").read_text()


def test_without_cuda_two_layers_are_empty_and_the_third_is_whole(tmp_path: Path) -> None:
    context = make_context(tmp_path, without_cuda=True)
    installed = {part: read_entries((context / f"gpu_worker/locks/{part}.lock").read_text()) for part in PARTS}
    assert not installed["cuda"]
    assert not installed["torch"]
    assert installed["packages"] == read_entries((LOCKS / "packages.lock").read_text())
    assert (context / "gpu_worker/Dockerfile").read_text() == (ROOT / "gpu_worker/Dockerfile").read_text()


@needs_buildah
def test_each_layer_is_listed_with_its_size(tmp_path: Path) -> None:
    (context := tmp_path / "context").mkdir()
    (context / ".dockerignore").write_text("*\n!large\n!small\n")
    (context / "large").write_bytes(b"x" * 200_000)
    (context / "small").write_bytes(b"x" * 1_000)
    (context / "Dockerfile").write_text("FROM scratch\nCOPY large /\nENV A=1\nCOPY small /\n")
    buildah = Buildah(tmp_path)
    buildah.build("layered", context=context, dockerfile=context / "Dockerfile")
    large, small = buildah.list_layers("layered")
    assert 200_000 <= large.bytes < 210_000
    assert 1_000 <= small.bytes < 10_000
    assert "A=1" in buildah.read_config("layered")["Env"]


@needs_buildah
def test_a_builder_other_than_buildkit_sees_the_folders_of_our_packages(tmp_path: Path) -> None:
    context = make_context(tmp_path, without_cuda=True)
    (dockerfile := tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY adapters/settings/processes.py /\n")
    Buildah(tmp_path).build("seen", context=context, dockerfile=dockerfile)  # fails where the folder is skipped
