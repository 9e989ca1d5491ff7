"""The cost of stitching a job: seconds, CPU seconds, peak memory, requests and bytes. `python -m benchmarks.stitching
[TILES] [--columns N] [--shard-tiles N] [--processors N]`.

An invocation (`benchmarks.invocations`) runs the handler of `lambdas.stitch` on one message. Its objects lie in
`benchmarks.slow_store`, as a worker writes them: the plan, and one result a shard with the qualities of its tiles. The
ledger is in memory; on Postgres it takes three transactions. The seconds are those of the calls, without the import of
the handler. The digest of all result files is printed, so that two versions can be compared.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np

from adapters.aws_clients import AwsClients
from adapters.s3.objects import S3Objects
from benchmarks.invocations import invoke_twice, measure_invocation
from benchmarks.machine import describe_machine
from benchmarks.one_job import JOB, NOW, TENANT, make_job
from benchmarks.slow_store import BUCKET, BYTES_A_SECOND, FIRST_BYTE_SECONDS, serve_bucket
from lambdas.stitch import make_handler
from tests.fakes.queues import MemoryQueues
from tests.wsi.plans import inspection, plan
from wsi import keys
from wsi.errors import FailReason
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.shards import MOST
from wsi.ports.ledger import StitchBrief
from wsi.records.model_card import OutputColumn
from wsi.records.results import ResultFile
from wsi.records.shards import ShardOutput
from wsi.results.shard_result import AttemptMeasurements, ShardResult
from wsi.states import JobState

TILES = 100_000


class OneJobLedger:
    """The ledger of one job that waits for stitching."""

    def __init__(self, brief: StitchBrief) -> None:
        self._brief = brief
        self.results: Sequence[ResultFile] = ()

    def find_stitch_brief(self, job_id: UUID) -> StitchBrief:
        return self._brief

    def commit_results(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        self.results = results
        return True

    def fail_job(self, job_id: UUID, reason: FailReason, sentence: str) -> bool:
        raise AssertionError(f"the job failed, {reason}: {sentence}")

    @property
    def digest(self) -> str:
        """The digest of all result files."""
        text = "".join(sorted(f"{file.name}{file.sha256}" for file in self.results))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tiles", nargs="?", type=int, default=TILES)
    parser.add_argument("--columns", type=int, default=4, help="scores a tile")
    parser.add_argument("--shard-tiles", type=int, default=MOST, help="tiles a shard")
    parser.add_argument("--processors", type=int, default=1, help="that the invocation may use")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--invoke", nargs=2, metavar=("URL", "SHARDS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.invoke:
        invoke(given.invoke[0], int(given.invoke[1]))
        return
    print(
        f"{describe_machine()}; {given.processors} of them for the call; {FIRST_BYTE_SECONDS * 1000:.0f} ms a request"
        f" and {BYTES_A_SECOND / 1e6:.0f} MB/s a connection"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shards, size = write_job(folder, given.tiles, given.columns, given.shard_tiles)
        print(f"{given.tiles:,} tiles, {given.columns} columns, {shards} shards of {size / 1e6:.1f} MB in all")
        with serve_bucket(folder) as url:
            for _ in range(given.runs):
                measure_invocation("benchmarks.stitching", ["--invoke", url, str(shards)], url, given.processors)


def write_job(folder: Path, tiles: int, columns: int, shard_tiles: int) -> tuple[int, int]:
    """Write the objects that a job leaves for stitching. Return the number of shards and their bytes."""
    names = tuple(OutputColumn(name=f"class {number}") for number in range(columns))
    across = round(tiles**0.5)
    down = -(-tiles // across)
    side = 256
    card = replace(STAIN_DENSITY, tile_px=side, input_px=side, columns=names, tiles_per_second=122.0)
    seen = inspection(across * side, down * side, mpp=STAIN_DENSITY.mpp, tile=side)
    made = plan(seen, card=card, shard_tiles=shard_tiles, mask=np.ones((2048, 2048), np.bool_))
    assert abs(len(made.tiles) - tiles) < across, len(made.tiles)
    draw = np.random.default_rng(0)
    size = 0
    _write(folder / keys.of_plan(TENANT, JOB), made.to_bytes())
    for index in range(len(made.shard_sizes)):
        numbers = made.shard_tiles(index)
        result = ShardResult(
            plan_digest=made.digest,
            tiles=numbers,
            scores=draw.random((len(numbers), columns), dtype=np.float32),
            unreadable={},
            quality=draw.random((len(numbers), 4), dtype=np.float32),
            measured=AttemptMeasurements(seconds=60.0, requests=900, bytes=10**8, hardware="NVIDIA T4"),
        )
        size += _write(folder / keys.of_shard_result(TENANT, JOB, index, 1), result.to_bytes())
    return len(made.shard_sizes), size


def _write(path: Path, data: bytes) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.write_bytes(data)


def invoke(url: str, shards: int) -> None:
    """Run the handler on the job, as `invoke_twice` does."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "benchmark", "AWS_SECRET_ACCESS_KEY": "benchmark"}
    job = make_job(JobState.STITCHING)
    outputs = tuple(
        ShardOutput(index=index, result_key=keys.of_shard_result(TENANT, JOB, index, 1), tiles=0)
        for index in range(shards)
    )
    ledger = OneJobLedger(StitchBrief(job=job, shards=outputs))
    handler = make_handler(
        ledger=ledger,  # pyright: ignore[reportArgumentType] — the handler calls two of its methods
        objects=S3Objects(AwsClients("eu-central-1", url), BUCKET),
        queues=MemoryQueues(lambda: NOW),
    )
    invoke_twice(handler, {"job_id": str(JOB)}, lambda: ledger.digest)


if __name__ == "__main__":
    main()
