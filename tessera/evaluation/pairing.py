"""Pairs results with truth by the names of slides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from unicodedata import normalize

from tessera.evaluation.truth.labels import UNNAMED
from tessera.local_run.inputs import UsageError
from tessera.local_run.inputs.local_paths import make_folder_name, with_slashes


@dataclass(frozen=True, kw_only=True, slots=True)
class NamePairs:
    """Every name is in a pair, or alone."""

    truth_of: Mapping[str, str]  #: by the result's name
    results_alone: tuple[str, ...]
    truths_alone: tuple[str, ...]


def pair_names(results: Sequence[str], truths: Sequence[str]) -> NamePairs:
    """Return the pairs: equal names, else those equal without the suffix or the folders of the truth's name. Case and
    Unicode forms are ignored. Raises UsageError for two truths of one result.

    A truth without a name is that of the only result, whatever this one is called.
    """
    if UNNAMED in truths:
        if len(results) > 1 or len(truths) > 1:
            raise UsageError(
                f"The truth names no slide, and there are {len(results)} results: give a folder with a file for each "
                "slide, or a table with the column slide"
            )
        return NamePairs(truth_of={results[0]: UNNAMED}, results_alone=(), truths_alone=())
    known = {_fold(name): name for name in results}
    truth_of: dict[str, str] = {}
    alone: list[str] = []
    for truth in truths:
        found = next((known[form] for form in _list_forms(truth) if form in known), None)
        if found is None:
            alone.append(truth)
        elif found in truth_of:
            raise UsageError(f"{truth_of[found]} and {truth} are both truth of {found}: remove or rename one of them")
        else:
            truth_of[found] = truth
    rest = tuple(name for name in results if name not in truth_of)
    return NamePairs(truth_of=truth_of, results_alone=rest, truths_alone=tuple(alone))


def _list_forms(name: str) -> tuple[str, ...]:
    """Return the folded names that a result of this slide may have: a run names it by the stem."""
    whole = with_slashes(name, windows="/" not in name)
    path = PurePosixPath(whole)
    return tuple(_fold(form) for form in (whole, path.name, make_folder_name(path.name), path.stem))


def _fold(name: str) -> str:
    return normalize("NFC", name).casefold()
