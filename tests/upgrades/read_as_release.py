"""Reads plans and results of another release, and prints what it makes of them as JSON. Only modules of one release are
imported: `tools.release_fixtures.checkout.make_command` starts it so. Its argument is a folder of such files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from gpu_worker.leases.settlement import decide_settlement
from wsi.planning.plan import PLAN_SCHEMA, Plan
from wsi.results.shard_result import RESULT_SCHEMA, ShardResult


def read(path: Path) -> dict[str, Any]:
    try:
        if path.name.endswith(".npz"):
            result = ShardResult.from_bytes(path.read_bytes())
            return {"digest": result.plan_digest, "done": result.done}
        plan = Plan.from_bytes(path.read_bytes())
        return {"digest": plan.digest, "schema": plan.schema, "shards": len(plan.shard_sizes)}
    except Exception as error:  # noqa: BLE001  # the release says what becomes of any
        return {"error": type(error).__name__, "failed": decide_settlement(error).failed}


if __name__ == "__main__":
    found = {path.name: read(path) for path in sorted(Path(sys.argv[1]).iterdir())}
    schemas = {"plan": PLAN_SCHEMA, "result": RESULT_SCHEMA}
    sys.stdout.write(json.dumps({"files": found, "schemas": schemas}))
