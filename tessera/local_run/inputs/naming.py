"""Names of output folders: each slide has its own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from tessera.local_run.inputs.local_paths import make_folder_name
from tessera.local_run.inputs.slide_input import SlideInput, get_place

MAX_NAME = 200  #: bytes of an output folder's name; file systems end at 255, and a number may follow


def assign_names(slides: Iterable[SlideInput]) -> tuple[SlideInput, ...]:
    """Return each slide with a name of its own: the stem; the file's name where different files share the stem; then
    that with its folder; then one with a number (two regions of one file). Case is ignored, since file systems do."""
    slides = tuple(slides)
    places = [get_place(slide) for slide in slides]
    names = [_stem(slide, where) for slide, where in zip(slides, places, strict=True)]
    for longer in (lambda place: place.name, lambda place: f"{place.parent.name}_{place.name}"):
        counts = Counter(
            name for name, _ in {(name.casefold(), place) for name, place in zip(names, places, strict=True)}
        )
        names = [
            longer(place) if counts[name.casefold()] > 1 else name for name, place in zip(names, places, strict=True)
        ]
    taken: set[str] = set()
    unique: list[SlideInput] = []
    for slide, name in zip(slides, map(_short, map(make_folder_name, names)), strict=True):
        chosen, number = name, 1
        while chosen.casefold() in taken:
            number += 1
            chosen = f"{name}-{number}"
        taken.add(chosen.casefold())
        unique.append(replace(slide, name=chosen))
    return tuple(unique)


def _stem(slide: SlideInput, place: PurePosixPath) -> str:
    """Return the name without its suffix. A folder has none, and the last number of a UID is none."""
    is_folder = bool(slide.files) and all(file.startswith(f"{slide.location}/") for file in slide.files)
    return place.name if is_folder or place.suffix[1:].isdigit() else place.stem


def _short(name: str) -> str:
    data = os.fsencode(name)
    return name if len(data) <= MAX_NAME else data[:MAX_NAME].decode(errors="ignore")
