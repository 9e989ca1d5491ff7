"""`tessera evaluate`: results against annotations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tessera.evaluation.choices import SlideScore, Task, TileRule
from tessera.local_run.inputs import UsageError
from tessera.local_run.outcomes import OK, REJECTED
from tessera.progress import complain, open_slides_bar
from tessera.terminal import print_json
from wsi.records.outline import Frame


def evaluate(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="DIR…", help="Results of a slide, or folders of them, as `tessera run` writes them."),
    ],
    *,
    truth: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="GeoJSON of one slide; a folder with a file for each slide; or a CSV: slide,label or "
            "slide,minx,miny,label.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where evaluation.json, evaluation.csv and the drawings go.")
    ] = None,
    task: Annotated[
        Task | None, typer.Option(help="What is compared; else objects where results have some, and tiles.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Whose results, where several models ran.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column that is a class; else all.")
    ] = None,
    class_map: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="TRUTH=MODEL", help="A class of the truth is this one of the model."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CLASS", help="A class of the truth to leave out.")
    ] = None,
    within: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Only what is in regions of this class of the truth counts.")
    ] = None,
    background: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Class of tiles that no region or label names; else left out.")
    ] = None,
    tile_truth: Annotated[
        TileRule, typer.Option(help="A tile's class is that of the region that covers most of it, or at its centre.")
    ] = TileRule.OVERLAP,
    min_overlap: Annotated[
        float, typer.Option(min=0, max=1, help="Least share of a tile that its class covers.")
    ] = 0.5,
    threshold: Annotated[
        float, typer.Option(help="Score from which a tile or slide is of the class, for one column.")
    ] = 0.5,
    slide_score: Annotated[
        SlideScore,
        typer.Option(help="Of a slide: mean or max of its tiles, mean of the highest tenth, or share of high tiles."),
    ] = SlideScore.MEAN,
    tile_threshold: Annotated[float, typer.Option(help="Score of a high tile, for --slide-score share.")] = 0.5,
    iou: Annotated[
        float, typer.Option(min=0.01, max=1, help="Least intersection over union of matched objects.")
    ] = 0.5,
    distance: Annotated[
        float | None,
        typer.Option(metavar="UM", min=0.01, help="Match objects also by centroids at most so many microns apart."),
    ] = None,
    any_class: Annotated[bool, typer.Option("--any-class", help="Compare objects without their classes.")] = False,
    split_parts: Annotated[
        bool, typer.Option("--split-parts", help="Each part of a MultiPolygon of the truth is an object.")
    ] = False,
    truth_frame: Annotated[
        Frame | None, typer.Option(help="What outlines count from, on a slide that QuPath shows cropped.")
    ] = None,
    ordinal: Annotated[
        bool, typer.Option("--ordinal", help="The columns' order is a scale, as of grades: adds quadratic kappa.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the resamples that intervals come from.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout: evaluation.json.")] = False,
) -> None:
    """Compare results with annotations: metrics of each slide and of the set, with 95 % intervals. Exit code 3: a
    result or a truth was not evaluated, and is listed."""
    # shapely and scipy are loaded for this command alone.
    from tessera.evaluation.class_names import parse_map
    from tessera.evaluation.evaluating import evaluate_results
    from tessera.evaluation.options import EvaluationOptions
    from tessera.evaluation.report.printing import print_evaluation
    from tessera.evaluation.report.writing import describe_evaluation, write_evaluation

    if out is None and not as_json:
        raise UsageError("name a folder for the evaluation: --out DIR, or print it with --json")
    options = EvaluationOptions(
        mapped=parse_map(class_map or ()),
        ignored=tuple(ignore or ()),
        columns=tuple(column or ()),
        within=within,
        background=background,
        tile_rule=tile_truth,
        least_share=min_overlap,
        threshold=threshold,
        slide_score=slide_score,
        tile_threshold=tile_threshold,
        iou=iou,
        distance=distance,
        any_class=any_class,
        split_parts=split_parts,
        frame=truth_frame,
        ordinal=ordinal,
        seed=seed,
    )
    with ExitStack() as stack:

        def begin(slides: int) -> Callable[[str], None]:
            return stack.enter_context(open_slides_bar(slides))

        evaluation = evaluate_results(results, truth, options, model=model, task=task, begin=begin)
    if out is not None:
        write_evaluation(evaluation, options, out)
    if as_json:
        print_json(describe_evaluation(evaluation, options))
    else:
        print_evaluation(evaluation, Console(highlight=False))
    if evaluation.left_out:
        number = len(evaluation.left_out)
        complain(f"{number:,} result{'s' if number > 1 else ''} or truths were not evaluated, and are listed")
    raise typer.Exit(REJECTED if evaluation.left_out else OK)
