"""Finds the column or class of a model that a class of the truth is."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from tessera.evaluation.samples import ScoredClasses
from tessera.local_run.inputs import UsageError

REST: Final = "other"  #: what a model of one column does not look for, where it is more than one class
_POSITIVE: Final = frozenset({"1", "true", "yes", "positive"})  #: labels of a table that mean the one class
_PREFIX: Final = "prob_"  #: that WSInfer puts before a class in tiles.csv


def normalise_class(name: str) -> str:
    """Return the name as it is compared: without case, WSInfer's prefix, and differences of spaces and hyphens."""
    return re.sub(r"[\s_-]+", "_", name.strip().casefold()).removeprefix(_PREFIX)


def parse_map(texts: Iterable[str]) -> Mapping[str, str]:
    """Return the names that `--map "Tumor=prob_tumour"` states, by the folded name of the truth. Raises UsageError."""
    mapped: dict[str, str] = {}
    for text in texts:
        truth, equals, name = text.partition("=")
        if not (equals and truth.strip() and name.strip()):
            raise UsageError(
                f'--map takes a class of the truth and one of the model, as "Tumor=prob_tumour", not {text}'
            )
        if mapped.setdefault(normalise_class(truth), name.strip()) != name.strip():
            raise UsageError(f"--map states two classes for {truth.strip()}: a class of the truth is one of the model")
    return mapped


def choose_columns(columns: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are classes: all, or those asked for. Raises UsageError."""
    if not asked:
        return tuple(columns)
    missing = [name for name in asked if name not in columns]
    if missing:
        raise UsageError(f"The model has no column {missing[0]}; its columns are {', '.join(columns)}")
    return tuple(dict.fromkeys(asked))


def match_classes(
    truth: Collection[str], known: Sequence[str], *, mapped: Mapping[str, str], ignored: Collection[str]
) -> dict[str, str | None]:
    """Return the known name that each class of the truth is, None for one that is ignored. Raises UsageError for a
    class that is none."""
    folded = {normalise_class(name): name for name in known}
    left_out = {normalise_class(name) for name in ignored}
    wrong = [to for to in mapped.values() if normalise_class(to) not in folded]
    if wrong:
        raise UsageError(f"--map names what the model does not have: {', '.join(wrong)}. It has {', '.join(known)}")
    found: dict[str, str | None] = {}
    unknown: list[str] = []
    for name in sorted(truth):
        key = normalise_class(name)
        if key in left_out:
            found[name] = None
        elif key in mapped or key in folded:
            found[name] = folded[normalise_class(mapped.get(key, key))]
        else:
            unknown.append(name)
    if unknown:
        raise UsageError(
            f"The model has no class {', '.join(unknown)}; it has {', '.join(known)}. Say which each is with "
            f'--map "{unknown[0]}={known[0]}", or leave it out with --ignore "{unknown[0]}"'
        )
    return found


def resolve_classes(
    truth: Collection[str],
    columns: Sequence[str],
    *,
    mapped: Mapping[str, str],
    ignored: Collection[str],
    threshold: float,
) -> tuple[ScoredClasses, Mapping[str, int | None]]:
    """Return the classes, and the number of the one that each class of the truth is; None: ignored. Raises UsageError.

    Of one column, each class of the truth that is not the column's is the rest.
    """
    if len(columns) > 1:
        found = match_classes(truth, columns, mapped=mapped, ignored=ignored)
        classes = ScoredClasses(names=tuple(columns), columns=tuple(columns), threshold=threshold)
        return classes, {name: None if to is None else columns.index(to) for name, to in found.items()}
    only = columns[0]
    wrong = [to for to in mapped.values() if normalise_class(to) != normalise_class(only)]
    if wrong:
        raise UsageError(f"--map names {wrong[0]}, but the column that is evaluated is {only}")
    left_out = {normalise_class(name) for name in ignored}
    positive = {*mapped, normalise_class(only), *_POSITIVE}
    numbers = {
        name: None if normalise_class(name) in left_out else int(normalise_class(name) in positive)
        for name in sorted(truth)
    }
    rest = [name for name, number in numbers.items() if number == 0]
    if 1 not in numbers.values():
        raise UsageError(
            f"No class of the truth is what the column {only} scores; the truth has {', '.join(sorted(truth))}. Say "
            f'which is with --map "{(rest or ["Tumor"])[0]}={only}"'
        )
    if not rest:
        raise UsageError(
            f"The truth has no class but that of the column {only}, so there is nothing to tell it from. Annotate the "
            "rest, or name the class of all that is outside of the regions with --background NAME"
        )
    name = rest[0] if len(rest) == 1 and rest[0] != only else REST
    return ScoredClasses(names=(name, only), columns=(only,), threshold=threshold), numbers
