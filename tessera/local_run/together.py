"""Several models over one slide from one decode: their shards are computed side by side and saved for each, as if each
had run alone. What then runs each model finds its shards there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from inference.engine import Engine
from inference.models.loaded import LoadedModel
from inference.models.together import SharedTiles, compute_common_batch, join_plans, make_model_of
from inference.shard_loop import ShardLoop, ShardSink
from inference.shard_meter import ShardMeter
from inference.shard_run import ShardRun
from inference.shard_task import ShardTask
from inference.stages.values import Outputs
from inference.stages.write import convert_numbers
from tessera.local_run.checkpoints import RunCheckpoint, hold_folder
from tessera.local_run.running import complete_options, open_planned, plan_slide, read_identity
from tessera.local_run.shards import ModelToRun, PlannedSlide, RunCallbacks, ShardRunner, SingleDeviceRunner
from tessera.local_run.slide_session import SlideSession
from wsi.errors import ModelError, TesseraError, UnsuitableDevice
from wsi.given.objects import GivenObjects
from wsi.jobs.jobs import compute_result_identity
from wsi.planning.plan import Plan
from wsi.records.jobs import JobOptions
from wsi.results.shard_result import AttemptMeasurements, ShardResult


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedModel:
    """A model, and its plan of a slide."""

    planned: PlannedSlide
    loaded: LoadedModel

    @property
    def plan(self) -> Plan:
        return self.planned.plan


def group_models(models: Sequence[PlannedModel]) -> list[tuple[PlannedModel, ...]]:
    """Return those that read the same boxes in the same shards and that one batch serves, two or more of a group."""
    groups: dict[tuple[SharedTiles, bytes], list[PlannedModel]] = {}
    for one in models:
        if (tiles := SharedTiles.of(one.plan)) is not None:
            groups.setdefault((tiles, one.plan.shard_offsets.tobytes()), []).append(one)
    found = (tuple(group) for group in groups.values() if len(group) > 1)
    return [group for group in found if compute_common_batch([one.plan for one in group]) is not None]


def choose_common_shards(plans: Mapping[str, Plan]) -> dict[str, Plan]:
    """Return plans that have the same tiles with the same shards, the finest of theirs. No digest depends on shards."""
    by_tiles: dict[SharedTiles, list[str]] = {}
    for name, plan in plans.items():
        if (tiles := SharedTiles.of(plan)) is not None:
            by_tiles.setdefault(tiles, []).append(name)
    chosen = dict(plans)
    for names in by_tiles.values():
        finest = max((plans[name].shard_offsets for name in names), key=len)
        chosen |= {name: replace(plans[name], shard_offsets=finest) for name in names}
    return chosen


def compute_group(group: Sequence[PlannedModel], device: str, engine: Engine, callbacks: RunCallbacks) -> bool:
    """Compute and save the shards that all models of the group lack. Return False if `callbacks.stop` ended it. Raises
    every error as it is."""
    port = _GroupPort(group, device, callbacks)
    ShardLoop(engine, port, port).run()
    return port.all_saved


class _GroupPort(ShardSink):
    """A source and a sink of shards of several models: each result is cut into theirs."""

    def __init__(self, group: Sequence[PlannedModel], device: str, callbacks: RunCallbacks) -> None:
        self.all_saved = True
        self._group, self._callbacks = group, callbacks
        plans = [one.plan for one in group]
        batch = compute_common_batch(plans)
        assert batch is not None, "such models are in no group"
        self._joined = join_plans(plans, batch)
        self._model = make_model_of(self._joined.card, [one.loaded for one in group], [plan.numerics for plan in plans])
        self._meter = ShardMeter(group[0].planned.reads, device)
        self._waiting = [
            index
            for index in range(len(self._joined.shard_sizes))
            if not any(one.planned.checkpoint.has_shard(index) for one in group)
        ][::-1]

    def take_next(self, *, wait: bool) -> ShardRun | None:
        if self._callbacks.stop.is_set() or not self._waiting:
            return None
        index = self._waiting.pop()
        task = ShardTask.from_plan(
            self._joined, index, self._group[0].planned.reader, self._model, stop=self._callbacks.stop
        )
        return ShardRun(task, None)

    def on_batch(self, run: ShardRun, outputs: Outputs) -> None:
        self._callbacks.on_tiles(outputs.count)

    def on_finished(self, run: ShardRun, result: ShardResult) -> None:
        measured = self._meter.stop(result, began=run.began).measured
        assert measured is not None
        start = 0
        for number, one in enumerate(self._group):
            end = start + one.plan.card.width
            part = replace(
                result,
                plan_digest=one.plan.digest,
                scores=convert_numbers(np.ascontiguousarray(result.scores[:, start:end], np.float32), one.plan.card),
                measured=_share(measured, number, len(self._group)),
            )
            one.planned.checkpoint.save_shard(run.task.index, part)
            start = end

    def on_stopped(self, run: ShardRun) -> None:
        self.all_saved = False

    def on_failed(self, run: ShardRun, error: Exception) -> None:
        raise error


def _share(measured: AttemptMeasurements, number: int, models: int) -> AttemptMeasurements:
    """Return a model's part of what the shard took, so that the parts add up to it."""

    def divide(total: int) -> int:
        return total * (number + 1) // models - total * number // models

    return replace(
        measured,
        seconds=round(measured.seconds / models, 3),
        requests=divide(measured.requests),
        bytes=divide(measured.bytes),
    )


def share_decode(
    session: SlideSession,
    runs: Sequence[tuple[Path, ModelToRun]],
    *,
    computing: ShardRunner,
    callbacks: RunCallbacks,
    options: JobOptions,
    objects: GivenObjects | None = None,
) -> str | None:
    """Compute the shards of models over a slide, each with its folder, that can share a decode; those of other models,
    of finished results, and on several devices are left to `run_slide`, as is all that comes after.

    Return why the models are computed one after the other all the same, or None. Raises errors of the slide, and
    KeyboardInterrupt once `callbacks.stop` is set.
    """
    if not isinstance(computing, SingleDeviceRunner) or len(runs) < 2:
        return None
    options = complete_options(options, session)
    with ExitStack() as held:
        models: list[PlannedModel] = []
        checkpoints: dict[str, RunCheckpoint] = {}
        plans: dict[str, Plan] = {}
        for folder, model in runs:
            held.enter_context(hold_folder(folder))
            identity = compute_result_identity(session.digest, model.card, options)
            checkpoint = RunCheckpoint(folder, f"{identity} {model.device} {model.threads}")
            if read_identity(folder) == identity or checkpoint.read_plan() is not None:
                continue  # finished, or begun: its shards may be others
            with suppress(TesseraError):  # what does not fit one model is said when it runs
                plans[model.card.name] = plan_slide(session, options, model, callbacks, objects)
                checkpoints[model.card.name] = checkpoint
        by_name = {model.card.name: model for _, model in runs}
        for name, plan in choose_common_shards(plans).items():
            loaded = computing.loaded[by_name[name].card.identity]
            models.append(
                PlannedModel(planned=open_planned(session, plan, checkpoints[name], callbacks), loaded=loaded)
            )
        for group in group_models(models):
            for one in group:
                one.planned.checkpoint.save_plan(one.plan)
            callbacks.on_planned(len(group[0].plan.tiles))
            try:
                saved = compute_group(group, runs[0][1].device, computing.engine, callbacks)
            except (ModelError, UnsuitableDevice) as error:
                return error.sentence
            if not saved:
                raise KeyboardInterrupt
    return None
