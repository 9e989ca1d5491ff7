"""A worker's disk is full as long as the harness says."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.disks import FILLER, Disks
from tests.stack.lab import eventually


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Disks]:
    disks = Disks()
    if refusal := disks.mount("worker", tmp_path):
        pytest.skip(f"No disk can be mounted here: {refusal}. Run this as root.")
    yield disks
    disks.remove()


def test_a_disk_is_full_until_it_is_cleared(disks: Disks, tmp_path: Path) -> None:
    disks.fill("worker", seconds=60, wait=0)
    eventually(lambda: disks.happened["disk full"] > 0, seconds=20, what="a full disk")
    with pytest.raises(OSError, match="space") as full:
        (tmp_path / "more").write_bytes(b"a page")
    assert full.value.errno == errno.ENOSPC
    disks.clear()
    (tmp_path / "more").write_bytes(b"a page")
    assert not (tmp_path / FILLER).exists()


def test_a_disk_becomes_full_once_a_copy_begins(disks: Disks, tmp_path: Path) -> None:
    (tmp_path / "tessera-slide-of-before").mkdir()
    disks.fill("worker", seconds=60, wait=20)
    (tmp_path / "more").write_bytes(b"a page")
    assert not disks.happened
    (tmp_path / "tessera-slide-new").mkdir()
    eventually(lambda: disks.happened["disk full in a copy"] > 0, seconds=20, what="a full disk")
