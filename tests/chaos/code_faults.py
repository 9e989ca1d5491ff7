"""Faults that are put into a copy of the code on purpose: a harness that does not see them would prove nothing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local.workers import ROOT

COPIED = ("wsi", "adapters", "inference", "gpu_worker", "lambdas", "local", "tests/chaos", "docs/openapi.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeFault:
    file: str
    changes: tuple[tuple[str, str], ...]  #: text, and what stands in its place; each is there exactly once
    faults: tuple[str, ...]  #: of `faults.FAULTS`, that bring it to light


_LOCKED = """            check_count(count, lease.tiles)
            job = lock_job(cursor, lease.job.id)
            shard = _lock_leased_shard(cursor, lease)
"""

CODE_FAULTS: Mapping[str, CodeFault] = {
    "count, then update": CodeFault(
        file="adapters/postgres/shards.py",
        changes=(
            (
                _LOCKED,
                """            check_count(count, lease.tiles)
            job = rows.read_job(cursor.execute("SELECT * FROM jobs WHERE id = %s", (lease.job.id,)).fetchone())
            shard = _lock_leased_shard(cursor, lease)
            left = cursor.execute(
                "SELECT count(*) AS n FROM shards WHERE job_id = %s AND state <> 'DONE'", (lease.job.id,)
            ).fetchone()["n"]
""",
            ),
            ("            if job.shards_remaining == 0:\n", "            if left == 1:\n"),
        ),
        faults=("slow commits",),
    ),
    "blind decrement": CodeFault(
        file="adapters/postgres/shards.py",
        changes=(
            (
                _LOCKED,
                _LOCKED
                + """            if job is not None and shard is None:
                cursor.execute(
                    "UPDATE jobs SET shards_remaining = greatest(0, shards_remaining - 1) WHERE id = %s", (job.id,)
                )
                return True
""",
            ),
        ),
        faults=("pause worker at result",),
    ),
    "delete before commit": CodeFault(
        file="local/pollers.py",
        changes=(
            (
                "        try:\n            answer = mapped.handler(",
                "        for message in messages:\n"
                "            self._queues.delete(mapped.queue, message.receipt)\n"
                "        try:\n            answer = mapped.handler(",
            ),
        ),
        faults=("kill inspect or stitch at put",),
    ),
    "relay that remembers the last id": CodeFault(
        file="adapters/postgres/outbox.py",
        changes=(
            (
                "WHERE sent_at IS NULL AND (claimed_until IS NULL OR claimed_until < now())",
                "WHERE id > (SELECT coalesce(max(id), 0) FROM outbox WHERE claimed_until IS NOT NULL)",
            ),
        ),
        faults=("slow commits", "kill relay before send"),
    ),
    "blame the shard for a full disk": CodeFault(
        file="gpu_worker/leases/settlement.py",
        changes=((" if number in FULL_DISK:", " if number == 0:"),),
        faults=("fill scratch in a copy",),
    ),
    "trust the clock": CodeFault(
        file="adapters/postgres/moves.py",
        changes=(
            (
                "greatest(0, extract(epoch FROM now() - %(since)s::timestamptz))",
                "coalesce(extract(epoch FROM now() - %(since)s::timestamptz), 0)",
            ),
        ),
        faults=("clock back",),
    ),
}


def copy_with(fault: CodeFault, folder: Path) -> Path:
    """Copy the code that a stack's processes run into `folder`, with the fault; return the folder."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    (folder / "tests/__init__.py").touch()
    path = folder / fault.file
    text = path.read_text()
    for before, after in fault.changes:
        assert text.count(before) == 1, f"{fault.file} does not hold this once: {before}"
        text = text.replace(before, after)
    path.write_text(text)
    return folder
