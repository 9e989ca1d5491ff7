"""`python -m tests.chaos [--minutes 3] [--seed N]`: `make chaos`. Exits 1 if anything was lost, doubled or wrong."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.faults import FAULTS
from tests.chaos.run import run
from tests.chaos.schedule import make_schedule

PAUSE = 2.0  #: s between two faults


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--plan", action="store_true", help="print the plan of faults and end")
    parser.add_argument("--keep", type=Path, help="a new folder for logs, which stays")
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else int(time.time())
    schedule = make_schedule(
        seed, asked.minutes * 60, {name: fault.weight for name, fault in FAULTS.items()}, pause=PAUSE
    )
    if asked.plan:
        sys.stdout.write(f"{schedule}\n")
        return 0

    def tell(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    tell(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as own:
        folder = asked.keep or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        command = f"make chaos MINUTES={asked.minutes:g} SEED={seed}"
        report = run(folder, schedule, tell=tell, command=command)
    tell(f"\n{report}")
    return 0 if report.count.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
