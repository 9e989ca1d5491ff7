"""One slide and one model: open, examine, plan, compute each shard, stitch, publish. Needs no service.

The same functions as the lambdas and the worker call, with a folder in place of S3 and of the ledger.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tessera.local_run.checkpoints import RunCheckpoint, hold_folder
from tessera.local_run.inputs import UsageError
from tessera.local_run.outcomes import Outcome, SlideOutcome
from tessera.local_run.shards import ModelToRun, PlannedSlide, RunCallbacks, ShardRunner, cut_for_devices
from tessera.local_run.slide_session import SlideSession
from tessera.local_run.sources import make_plan_uris
from wsi.cores import count_available_cores
from wsi.errors import Conflict, ModelError, SlideRejected, SourceChanged
from wsi.given.objects import GivenObjects
from wsi.jobs.jobs import compute_result_identity
from wsi.jobs.planning import THREADS, make_plan
from wsi.models.builtin import BUILTIN
from wsi.planning.plan import Plan
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.replacing import replace_file
from wsi.results.sink import FolderSink
from wsi.results.stitching import stitch
from wsi.results.summary import NAME as SUMMARY
from wsi.slide.files.scratch import OnCopy


def choose_card(name: str) -> tuple[ModelCard, Path | None]:
    """Return a built-in model by its name, or that of a package folder, without its weights. Raises UsageError."""
    from inference.models.package import read_package  # a caller that has a card needs no schema of packages

    package = None if name in BUILTIN else Path(name)
    if package is not None and not package.is_dir():
        raise UsageError(f"There is no built-in model or package folder {name}; built in: {', '.join(BUILTIN)}")
    try:
        return (read_package(package) if package is not None else BUILTIN[name]), package
    except ModelError as error:
        raise UsageError(error.sentence) from error


def choose_models(names: Sequence[str], device: str, threads: int | None = None) -> tuple[ModelToRun, ...]:
    """Return the models of these names, without their weights.

    `device`: "cpu" | "cuda". `threads`: of a network on the CPU; None for as many as this process may use. Raises
    UsageError, also for two models of one name.
    """
    chosen: dict[str, ModelToRun] = {}
    for name in names:
        card, package = choose_card(name)
        if card.name in chosen:
            raise UsageError(f"Two of the models are named {card.name}: run them into folders of their own.")
        # Built-in models are computed as the queue's workers compute them, to the last bit and with the same plan
        # digest. For a network on the CPU one thread would waste the machine.
        of_network = THREADS if package is None or device != "cpu" else threads or count_available_cores()
        chosen[card.name] = ModelToRun(card=card, package=package, device=device, threads=of_network)
    return tuple(chosen.values())


def run_slide(
    session: SlideSession,
    name: str,
    folder: Path,
    model: ModelToRun,
    *,
    computing: ShardRunner,
    callbacks: RunCallbacks,
    options: JobOptions,
    objects: GivenObjects | None = None,
) -> SlideOutcome:
    """Put the slide's results into `folder`, all or none. `options` holds what is not stated with the slide itself;
    `objects` are those of `options.objects`.

    Raises every error as it is, and KeyboardInterrupt once `callbacks.stop` is set: what was computed stays in the
    folder, and the next run resumes from it."""
    began = time.monotonic()
    options = complete_options(options, session)
    with hold_folder(folder):
        identity = compute_result_identity(session.digest, model.card, options)
        checkpoint = RunCheckpoint(folder, f"{identity} {model.device} {model.threads}")
        if read_identity(folder) == identity:
            checkpoint.remove()  # of a run that was killed after it wrote its last file
            return SlideOutcome(name=name, outcome=Outcome.SKIPPED)
        try:
            plan = _compute(session, options, checkpoint, model, computing, callbacks, objects)
            session.check_unchanged()
        except SlideRejected:
            checkpoint.remove()  # nothing in it that a later run could use
            raise
        except SourceChanged:
            checkpoint.remove()  # its tiles may be of either version
            raise
        run = {
            "identity": identity,
            "options": options.as_json(),
            "device": model.device,
            "seconds": round(time.monotonic() - began, 3),
        }
        shards = (checkpoint.read_shard(index) for index in range(len(plan.shard_sizes)))
        stitch(plan, shards, FolderSink(checkpoint.results), run=run, given=objects)
        outcome = _publish(checkpoint, folder, name, time.monotonic() - began)
        checkpoint.remove()
        return outcome


def complete_options(options: JobOptions, session: SlideSession) -> JobOptions:
    """Return the options with what is stated with the slide itself."""
    slide = session.slide
    return replace(options, mpp=slide.mpp, region=slide.region, choice=slide.choice)


def _compute(
    session: SlideSession,
    options: JobOptions,
    checkpoint: RunCheckpoint,
    model: ModelToRun,
    computing: ShardRunner,
    callbacks: RunCallbacks,
    objects: GivenObjects | None,
) -> Plan:
    """Save every shard's result in `checkpoint`, by the plan that is there or a new one."""
    plan = checkpoint.read_plan()
    if plan is None:
        plan = cut_for_devices(plan_slide(session, options, model, callbacks, objects), computing.devices)
        checkpoint.save_plan(plan)
    callbacks.on_planned(len(plan.tiles))
    computing.compute(open_planned(session, plan, checkpoint, callbacks), model, callbacks)
    return plan


def plan_slide(
    session: SlideSession,
    options: JobOptions,
    model: ModelToRun,
    callbacks: RunCallbacks,
    objects: GivenObjects | None,
) -> Plan:
    """Return a new plan of the slide for the model."""
    on_copy = _follow_copy(callbacks)
    return make_plan(
        slide_digest=session.digest,
        slide_uris=make_plan_uris(session.slide, session.source),
        reader=session.get_reader(on_copy),
        examination=session.get_examination(on_copy),
        card=model.card,
        package_uri=None,
        options=options,
        shard_tiles=None,
        threads=model.threads,
        objects=objects,
    )


def open_planned(session: SlideSession, plan: Plan, checkpoint: RunCheckpoint, callbacks: RunCallbacks) -> PlannedSlide:
    """Return the slide with a plan, and the folder of its shards."""
    # Without the plan's index, which is of one copy of the file: the same bytes under another date go on too.
    reader = session.get_reader(_follow_copy(callbacks))
    return PlannedSlide(
        slide=session.slide, source=session.source, reader=reader, reads=session.reads, plan=plan, checkpoint=checkpoint
    )


def _follow_copy(callbacks: RunCallbacks) -> OnCopy:
    def on_copy(done: int, total: int) -> None:
        if callbacks.stop.is_set():
            raise KeyboardInterrupt
        callbacks.on_copy(done, total)

    return on_copy


def read_identity(folder: Path) -> str | None:
    """Return the identity of the result in `folder`; None if there is none that is complete."""
    try:
        summary = json.loads((folder / SUMMARY).read_bytes())
        if any((folder / file["name"]).stat().st_size != file["size"] for file in summary["files"]):
            return None  # changed by hand since
        return summary["run"]["identity"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None  # none, not whole, not one of ours, or of an older version: it is replaced


def _publish(checkpoint: RunCheckpoint, folder: Path, name: str, seconds: float) -> SlideOutcome:
    """Move each file into place, the summary last: if it is there, the others are. Unfinished files of a run that was
    killed stay behind."""
    summary = json.loads((checkpoint.results / SUMMARY).read_bytes())
    (folder / SUMMARY).unlink(missing_ok=True)
    for file_name in (*(file["name"] for file in summary["files"]), SUMMARY):
        try:
            replace_file(checkpoint.results / file_name, folder / file_name)
        except PermissionError as error:  # Windows replaces no file that is open
            raise Conflict(
                f"{file_name} cannot be replaced: close it in other programs and run the same command again, which "
                "computes nothing twice."
            ) from error
    tiles = summary["tiles"]
    return SlideOutcome(
        name=name,
        outcome=Outcome[summary["status"]],
        tiles=tiles["planned"],
        unreadable=tiles["unreadable"],
        seconds=round(seconds, 3),
    )
