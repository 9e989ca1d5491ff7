"""One slide and one model: open, examine, plan, compute each shard, stitch, publish. Needs no service.

The same functions as the lambdas and the worker call, with a folder in place of S3 and of the ledger.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from client.inputs import UsageError
from client.opened import OpenedSlide
from client.outcomes import Outcome, SlideOutcome
from client.partial import Partial, alone_in
from client.shards import Computing, ModelToRun, Planned, Watched, cut
from client.sources import plan_uris
from wsi.builtin_models import BUILTIN
from wsi.cores import available_cores
from wsi.errors import ModelError, SlideRejected, SourceChanged
from wsi.jobs import result_identity
from wsi.model_card import ModelCard
from wsi.plan import Plan
from wsi.planning import THREADS, make_plan
from wsi.records.jobs import JobOptions
from wsi.results.sink import FolderSink
from wsi.results.summary import NAME as SUMMARY
from wsi.stitching import stitch


def choose_card(name: str) -> tuple[ModelCard, Path | None]:
    """A built-in model by its name, or a package folder; its weights are not loaded. Raises UsageError."""
    from gpu_worker.models.package import read_package  # whoever has a card needs no schema of packages

    package = None if name in BUILTIN else Path(name)
    if package is not None and not package.is_dir():
        raise UsageError(f"There is no built-in model or package folder {name}; built in: {', '.join(BUILTIN)}")
    try:
        return (read_package(package) if package is not None else BUILTIN[name]), package
    except ModelError as error:
        raise UsageError(error.sentence) from error


def choose_models(names: Sequence[str], device: str, threads: int | None = None) -> tuple[ModelToRun, ...]:
    """Their weights are not loaded. `device`: "cpu" | "cuda". `threads`: of a network on the CPU; None for as many as
    this process may use. Raises UsageError, also for two of one name."""
    chosen: dict[str, ModelToRun] = {}
    for name in names:
        card, package = choose_card(name)
        if card.name in chosen:
            raise UsageError(f"Two of the models are named {card.name}: run them into folders of their own.")
        # Built-in models are computed as the queue's workers compute them, to the last bit and with the same plan
        # digest. For a network on the CPU one thread would waste the machine.
        of_network = THREADS if package is None or device != "cpu" else threads or available_cores()
        chosen[card.name] = ModelToRun(card=card, package=package, device=device, threads=of_network)
    return tuple(chosen.values())


def run_slide(
    opened: OpenedSlide,
    name: str,
    folder: Path,
    model: ModelToRun,
    *,
    computing: Computing,
    watched: Watched,
    options: JobOptions,
) -> SlideOutcome:
    """Results of the slide in `folder`, or nothing of them. `options` holds what is not stated with the slide itself.
    Raises every error as it is, and KeyboardInterrupt once `watched.stop` is set: what was computed stays in the folder
    and the next run takes it up."""
    began = time.monotonic()
    slide = opened.slide
    options = replace(options, mpp=slide.mpp, region=slide.region, choice=slide.choice)
    with alone_in(folder):
        identity = result_identity(opened.digest, model.card, options)
        partial = Partial(folder, f"{identity} {model.device} {model.threads}")
        if _finished(folder) == identity:
            partial.remove()  # of a run that was killed after its last file stood
            return SlideOutcome(name=name, outcome=Outcome.SKIPPED)
        try:
            plan = _compute(opened, options, partial, model, computing, watched)
            opened.check_unchanged()
        except SlideRejected:
            partial.remove()  # nothing in it that a later run could use
            raise
        except SourceChanged:
            partial.remove()  # nobody knows which of its tiles are of which version
            raise
        run = {
            "identity": identity,
            "options": options.as_json(),
            "device": model.device,
            "seconds": round(time.monotonic() - began, 3),
        }
        shards = (partial.shard(index) for index in range(len(plan.shard_sizes)))
        stitch(plan, shards, FolderSink(partial.results), run=run)
        outcome = _publish(partial, folder, name, time.monotonic() - began)
        partial.remove()
        return outcome


def _compute(
    opened: OpenedSlide,
    options: JobOptions,
    partial: Partial,
    model: ModelToRun,
    computing: Computing,
    watched: Watched,
) -> Plan:
    """Every shard's result in `partial`, by the plan that lies there or a new one."""

    def on_copy(done: int, total: int) -> None:
        if watched.stop.is_set():
            raise KeyboardInterrupt
        watched.on_copy(done, total)

    plan = partial.plan()
    # Without the plan's index, which is of one copy of the file: the same bytes under another date go on too.
    reader = opened.reader(on_copy)
    if plan is None:
        plan = make_plan(
            slide_digest=opened.digest,
            slide_uris=plan_uris(opened.slide, opened.source),
            reader=reader,
            examination=opened.examination(on_copy),
            card=model.card,
            package_uri=None,
            options=options,
            shard_tiles=None,
            threads=model.threads,
        )
        plan = cut(plan, computing.devices)
        partial.save_plan(plan)
    watched.on_planned(len(plan.tiles))
    planned = Planned(
        slide=opened.slide, source=opened.source, reader=reader, reads=opened.reads, plan=plan, partial=partial
    )
    computing.compute(planned, model, watched)
    return plan


def _finished(folder: Path) -> str | None:
    """The identity of the result that stands in `folder`."""
    try:
        summary = json.loads((folder / SUMMARY).read_bytes())
        if any((folder / file["name"]).stat().st_size != file["size"] for file in summary["files"]):
            return None  # changed by hand since
        return summary["run"]["identity"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None  # none, not whole, not one of ours, or of an older version: it is replaced


def _publish(partial: Partial, folder: Path, name: str, seconds: float) -> SlideOutcome:
    """Moves each file into place, the summary last: where it stands, the others stand. What a run that was killed
    began to write beside them stays behind."""
    summary = json.loads((partial.results / SUMMARY).read_bytes())
    (folder / SUMMARY).unlink(missing_ok=True)
    for file_name in (*(file["name"] for file in summary["files"]), SUMMARY):
        (partial.results / file_name).replace(folder / file_name)
    tiles = summary["tiles"]
    return SlideOutcome(
        name=name,
        outcome=Outcome[summary["status"]],
        tiles=tiles["planned"],
        unreadable=tiles["unreadable"],
        seconds=round(seconds, 3),
    )
