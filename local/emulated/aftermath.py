"""Checks after a successful journey: functions that were called, queues that are empty, no dead letters."""

from __future__ import annotations

import time
from pathlib import Path

from adapters.settings.queues import DEAD_LETTERS
from local.emulated.administering import carry_out
from local.emulated.installation import EmulatedInstallation
from local.emulated.report import Report
from local.emulated.synthesis import QUEUE_PREFIX

ON_THE_WAY = (
    *("migrate", "administer", "operate", "authorizer", "api", "submit", "relay"),
    *("inspect", "plan", "stitch", "tiles", "sweep"),
)
SETTLE_SECONDS = 15.0  #: until the last wake-ups are gone


def look_around(installation: EmulatedInstallation, report: Report) -> None:
    deploying, functions = installation.deploying, installation.functions
    with report.step("sweep, called as its schedule does"):
        deploying.invoke(functions["sweep"], {"source": "aws.events", "detail-type": "Scheduled Event"})
    calls = {name: deploying.count_invocations(functions[name]) for name in ON_THE_WAY if name in functions}
    silent = [name for name in ON_THE_WAY if not calls.get(name)]
    report.check(f"functions called: {', '.join(f'{name} {n}' for name, n in calls.items())}", not silent, str(silent))
    waiting = _wait_until_settled(installation)
    dead = {name: count for name, count in waiting.items() if count and name.endswith(DEAD_LETTERS)}
    left = {name: count for name, count in waiting.items() if count and not name.endswith(DEAD_LETTERS)}
    report.check(f"no message is left in {len(waiting)} queues", waiting != {} and not left, str(left))
    kept = carry_out(installation, {"list_dead_letters": {"which": "all"}})
    report.check("no dead letter", not dead and kept == {"dead_letters": []}, f"{dead} {kept}")


def keep_logs(installation: EmulatedInstallation) -> Path:
    """Write each function's log into a file of its own."""
    folder = installation.folder / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    for name, function in installation.functions.items():
        (folder / f"{name}.log").write_text("\n".join(installation.deploying.read_log(function)) + "\n")
    return folder


def _wait_until_settled(installation: EmulatedInstallation) -> dict[str, int]:
    end = time.monotonic() + SETTLE_SECONDS
    while any((waiting := installation.deploying.count_messages(QUEUE_PREFIX)).values()) and time.monotonic() < end:
        time.sleep(0.3)
    return waiting
