from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.options import StackOptions
from local.stack import Stack
from tests.prerequisites import EMULATOR, NODE
from tests.slides import write_svs
from tests.stack.lab import Lab

#: One core a worker, so that their order is not that of the machine; leases and checkpoints short enough that a test
#: sees several; the schedule often enough that a repair is not waited for.
OPTIONS = StackOptions(
    workers=0,
    durable=False,
    shard_tiles=800,
    schedule_seconds=1.0,
    worker={"lease_seconds": 6.0, "checkpoint_batches": 2, "checkpoint_seconds": 1.0, "decode_workers": 1},
)


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    EMULATOR.require()
    NODE.require()
    stack = Stack(tmp_path_factory.mktemp("stack"), OPTIONS)
    stack.start()
    lab = Lab(stack)
    try:
        yield lab
    finally:
        lab.transport.close()
        stack.stop()
        stack.postgres.remove()


@pytest.fixture(autouse=True)
def _no_worker_outlives_its_test(lab: Lab) -> Iterator[None]:
    yield
    lab.stack.workers.stop_all()


@pytest.fixture(scope="session")
def large_slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """10,000 tiles of 256 px at 0.5 µm, all of them tissue; two levels, since the first look takes the coarse one."""
    path = tmp_path_factory.mktemp("slides") / "large.svs"
    side = 100 * 256
    return write_svs(path, width=side, height=side, levels=(1, 4, 16), tissue=(0, 0, side, side))


@pytest.fixture(scope="session")
def middling_slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,400 tiles: three shards of 800."""
    path = tmp_path_factory.mktemp("slides") / "middling.svs"
    return write_svs(path, width=60 * 256, height=40 * 256, levels=(1, 4), tissue=(0, 0, 60 * 256, 40 * 256))
