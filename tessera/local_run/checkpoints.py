"""Files of an interrupted run: the plan, finished shards, the last checkpoint of the one that was running.

DIR/.tessera-partial/
    run.json              which result this is on the way to
    plan.json.gz
    shard-00000.npz       finished
    checkpoint-00001.npz  as far as it got
    results/              files on their way to DIR
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from wsi.errors import Conflict
from wsi.folder_lock import lock_folder
from wsi.planning.plan import Plan
from wsi.replacing import replace_file
from wsi.results.shard_result import ShardResult

FOLDER = ".tessera-partial"


@contextmanager
def hold_folder(
    folder: Path, *, busy: str = "Another run is writing into the slide's folder: wait for it, or name another."
) -> Iterator[None]:
    """Keep every other run out of `folder`, which is made when it is missing. Two at once would resume from each
    other's shards. The system releases the lock when a run is killed. Raises Conflict, with the message `busy`."""
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = lock_folder(folder)
    except OSError:  # network mounts that know no locks: runs there are not kept apart
        lock = nullcontext()
    if lock is None:
        raise Conflict(busy)
    try:
        with lock:
            yield
    finally:
        if made and not any(folder.iterdir()):  # of a slide that was rejected
            folder.rmdir()


class RunCheckpoint:
    """The state of one slide's run on disk. Every file is written under a temporary name and renamed, so that none is
    ever half written."""

    def __init__(self, folder: Path, key: str) -> None:
        """Take the `key` that names the result (identity and device), and remove what a run for another result left."""
        self.folder = folder / FOLDER
        self._marker = self.folder / "run.json"
        self.key = key
        if self.folder.exists() and self._read_key() != key:
            self.remove()

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def read_plan(self) -> Plan | None:
        data = _read(self.folder / "plan.json.gz")
        return Plan.from_bytes(data) if data is not None else None

    def save_plan(self, plan: Plan) -> None:
        self._write(self._marker, json.dumps({"key": self.key}).encode())
        self._write(self.folder / "plan.json.gz", plan.to_bytes())

    def has_shard(self, shard: int) -> bool:
        return self._shard(shard).exists()

    def read_shard(self, shard: int) -> ShardResult:
        return ShardResult.from_bytes(self._shard(shard).read_bytes())

    def save_shard(self, shard: int, result: ShardResult) -> None:
        self._write(self._shard(shard), result.to_bytes())
        self._checkpoint(shard).unlink(missing_ok=True)

    def read_checkpoint(self, shard: int) -> ShardResult | None:
        data = _read(self._checkpoint(shard))
        return ShardResult.from_bytes(data) if data is not None else None

    def save_checkpoint(self, shard: int, result: ShardResult) -> None:
        self._write(self._checkpoint(shard), result.to_bytes())

    def remove(self) -> None:
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def _read_key(self) -> str | None:
        data = _read(self._marker)
        return json.loads(data)["key"] if data is not None else None

    def _shard(self, shard: int) -> Path:
        return self.folder / f"shard-{shard:05d}.npz"

    def _checkpoint(self, shard: int) -> Path:
        return self.folder / f"checkpoint-{shard:05d}.npz"

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".new")
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # else a power cut can leave the name with nothing in it
        replace_file(temporary, path)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
