"""The objects of all tiles of a plan, as every writer of objects reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wsi.objects.table import ObjectTable, PixelLattice
from wsi.planning.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideObjects:
    """All objects of a plan, some at a time. How many at a time changes no file; their order does."""

    plan: Plan  #: of a DETECTION
    lattice: PixelLattice
    blocks: Iterable[ObjectTable]  #: every writer iterates it once, from the beginning

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the names of the objects' classes."""
        assert self.plan.card.objects is not None
        return self.plan.card.objects.classes
