"""One run: a calm beginning, faults over a load, a calm end of bounded length, and the count."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local.workers import ROOT
from tests.chaos.counter import Count, count, unsent
from tests.chaos.faults import FAULTS
from tests.chaos.load import Load
from tests.chaos.schedule import Schedule
from tests.chaos.world import World
from wsi.states import JobState

CALM_SECONDS = 120.0  #: after the last fault, everything has come to its end
HANDLER_SECONDS = 12.0  #: a message that was in hand for longer is not worked on any more, once it is calm
LIVE = [state.value for state in JobState if not state.is_final]


@dataclass(frozen=True, kw_only=True)
class Report:
    schedule: Schedule
    command: str
    faults: Counter[str]  #: done, by name
    happened: Counter[str]  #: what they came to
    restarts: Counter[str]
    calm_seconds: float
    count: Count
    missing: tuple[str, ...] = ()  #: what the machine lacks for some faults

    def __str__(self) -> str:
        jobs = ", ".join(f"{number} {state}" for state, number in sorted(self.count.jobs.items()))
        rows = [
            ("jobs", f"{self.count.jobs.total()}: {jobs}"),
            ("tiles in results", str(self.count.tiles)),
            ("faults", f"{self.faults.total()} of {len(self.faults)} kinds in {self.schedule.seconds:g} s"),
            ("processes started again", ", ".join(f"{name} {times}" for name, times in sorted(self.restarts.items()))),
            ("calm again after", f"{self.calm_seconds:.0f} s"),
            ("lost", str(len(self.count.lost))),
            ("duplicated", str(len(self.count.duplicated))),
            ("inconsistent", str(len(self.count.inconsistent))),
            ("across tenants", str(len(self.count.across))),
            *(("not here", line) for line in self.missing),
            ("seed", str(self.schedule.seed)),
            ("command", self.command),
        ]
        lines = [f"{name:<26}{value}" for name, value in rows]
        lines += ["", *(f"{times:5d}  {name}" for name, times in sorted(self.faults.items()))]
        lines += ["", "what requests and messages met:"]
        lines += [f"{times:5d}  {name}" for name, times in sorted(self.happened.items())]
        broken = [*self.count.lost, *self.count.duplicated, *self.count.inconsistent, *self.count.across]
        return "\n".join([*lines, *(f"BROKEN: {sentence}" for sentence in broken[:40])])


def run(
    folder: Path,
    schedule: Schedule,
    *,
    root: Path = ROOT,
    pause: float = 1.5,
    calm_limit: float = CALM_SECONDS,
    tell: Callable[[str], None] = lambda line: None,
    command: str = "",
) -> Report:
    """Run the plan in `folder`, over the code in `root`."""
    world = World(folder, schedule.seed, root)
    load = Load(world, schedule.seed, pause)
    done: Counter[str] = Counter()
    restarts: Counter[str] = Counter()
    try:
        world.start()
        calm = load.prepare(folder)
        for line in world.missing.values():
            tell(line)
        tell("the calm run is complete; faults begin")
        load.start()
        try:
            _make_faults(world, schedule, done, restarts, tell)
        finally:
            load.stop(lambda: restarts.update(world.parts.keep_alive()))
        calm_seconds = _become_calm(world, restarts, calm_limit)
        counted = count(world, load, calm)
    finally:
        load.stopping.set()
        world.stop()
    return Report(
        schedule=schedule,
        command=command,
        faults=done,
        happened=world.weather.happened + world.messages.count + world.disks.happened,
        restarts=restarts,
        calm_seconds=calm_seconds,
        count=counted,
        missing=tuple(world.missing.values()),
    )


def _make_faults(
    world: World, schedule: Schedule, done: Counter[str], restarts: Counter[str], tell: Callable[[str], None]
) -> None:
    began = told = time.monotonic()
    waiting = list(schedule.planned)
    while (now := time.monotonic()) - began < schedule.seconds:
        restarts.update(world.parts.keep_alive())
        if waiting and now - began >= waiting[0].at:
            planned = waiting.pop(0)
            if FAULTS[planned.fault].needs not in world.missing:
                FAULTS[planned.fault].do(world, random.Random(planned.draw))
                done[planned.fault] += 1
        if now - told > 10:
            told = now
            states = Counter(
                {row["state"]: row["n"] for row in world.sql("SELECT state, count(*) AS n FROM jobs GROUP BY 1")}
            )
            tell(f"{now - began:5.0f} s  {done.total()} faults, {states.total()} jobs, {states['COMPLETED']} completed")
        time.sleep(0.1)


def _become_calm(world: World, restarts: Counter[str], limit: float) -> float:
    """End all faults, let time pass for messages, and wait until nothing is left to do. Return how long it took."""
    world.weather.clear()
    world.disks.clear()
    began = time.monotonic()
    names = ("relay", "stages")
    for name in names:  # those of processes that died meanwhile too
        world.messages.expire(older=HANDLER_SECONDS, holder=name)
    while time.monotonic() - began < limit:
        restarts.update(world.parts.keep_alive())
        for name in names:
            world.messages.expire(older=HANDLER_SECONDS, holder=name)
        world.messages.redrive()
        live = world.sql("SELECT 1 FROM jobs WHERE state = ANY(%s) LIMIT 1", LIVE)
        if not live and not unsent(world):
            break
        time.sleep(0.5)
    return time.monotonic() - began
