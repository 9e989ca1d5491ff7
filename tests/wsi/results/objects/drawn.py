"""Drawn objects of a planned slide, for the writers of objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tests.wsi.objects.drawing import draw_objects
from tests.wsi.plans import inspection, plan
from wsi.models.builtin import STAIN_DENSITY
from wsi.objects.blocks import slice_table
from wsi.objects.table import ObjectTable, PixelLattice
from wsi.records.model_card import ModelCard, OutputKind
from wsi.records.outputs import CoreRule, ObjectOutput
from wsi.records.slides import Inspection
from wsi.results.objects.slide_objects import SlideObjects

LATTICE = PixelLattice(step_x=1.9873, step_y=1.9873, mpp_x=0.2517, mpp_y=0.2517)


def detection_card(*classes: str) -> ModelCard:
    rule = CoreRule(inside=128, core=128, least_core=4, reach=3)
    found = ObjectOutput(classes=classes, rule=rule, stride=16, margin=16, largest=64)
    return replace(STAIN_DENSITY, columns=(), output=OutputKind.DETECTION, objects=found)


def found_objects(
    blocks: Iterable[ObjectTable] | None = None,
    *,
    seen: Inspection | None = None,
    classes: tuple[str, ...] = ("Nucleus",),
    lattice: PixelLattice = LATTICE,
) -> SlideObjects:
    if blocks is None:
        blocks = [draw_objects(60, classes=len(classes), spread=500, holes=True)]
    made = plan(seen or inspection(), card=detection_card(*classes))
    return SlideObjects(plan=made, lattice=lattice, blocks=blocks)


def cut(table: ObjectTable, rows: int) -> list[ObjectTable]:
    """The table in blocks of so many rows."""
    return [slice_table(table, start, min(start + rows, len(table))) for start in range(0, len(table), rows)]
