"""Folders of results, checked against the digests that their summaries list."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tessera.local_run.inputs import UsageError
from tessera.public.result import RunResult
from wsi.results.summary import NAME as SUMMARY

OBJECTS: Final = "objects.geojson.gz"
FULL_OBJECTS: Final = "objects.full.geojson.gz"  #: the same in level-0 px, of slides that QuPath crops
_PARTIAL: Final = ".tessera-partial"


class SlideLeftOut(Exception):
    """A slide that cannot be evaluated; the others can."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultFolder:
    """Results of one model over one slide."""

    name: str  #: of the slide, as the folder is named
    folder: Path
    summary: dict[str, Any]

    @property
    def model(self) -> str:
        return str(self.summary["model"]["name"])

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column["name"] for column in self.summary["model"]["columns"])

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in level-0 px."""
        return self.summary["slide"]["width"], self.summary["slide"]["height"]

    @property
    def mpp(self) -> tuple[float, float]:
        """Microns a level-0 px, across and down."""
        slide = self.summary["slide"]
        return slide["mpp"], slide.get("mpp_y") or slide["mpp"]

    @property
    def corner(self) -> tuple[int, int] | None:
        """The level-0 px from which QuPath counts, of a slide that it crops."""
        bounds = self.summary["slide"].get("bounds")
        return None if bounds is None or bounds == [0, 0, *self.size] else (bounds[0], bounds[1])

    @property
    def objects(self) -> Path | None:
        """The file of objects, that in level-0 px where there are two."""
        return next((path for name in (FULL_OBJECTS, OBJECTS) if (path := self.folder / name).is_file()), None)

    def read(self) -> RunResult:
        return RunResult(self.folder)

    def compute_digest(self, path: Path) -> str:
        """Return the SHA-256 of a file. Raises SlideLeftOut if the summary lists another."""
        digest = compute_file_sha256(path)
        listed = {one["name"]: one["sha256"] for one in self.summary.get("files", ())}
        if listed.get(path.name, digest) != digest:
            raise SlideLeftOut(f"{path.name} is not the file that {SUMMARY} lists: run the slide again")
        return digest


def compute_file_sha256(path: Path) -> str:
    """Return the hex SHA-256 of the file's bytes. Raises SlideLeftOut."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SlideLeftOut(f"{path.name} cannot be read: {error.strerror}") from error


def find_results(paths: Sequence[Path], model: str | None) -> tuple[ResultFolder, ...]:
    """Return the results in the folders, of `model` where several ran. Raises UsageError for none, for results of
    several models, and for two results of one slide."""
    found = [one for path in paths for one in _search(path, is_only=len(paths) == 1)]
    chosen = [one for one in found if model in (None, one.model)]
    models = sorted({one.model for one in found})
    if not chosen:
        raise UsageError(f"No result is of the model {model}; there are results of {', '.join(models)}")
    if len({one.model for one in chosen}) > 1:
        raise UsageError(f"The results are of several models: choose one with --model, of {', '.join(models)}")
    if len({one.summary["model"]["digest"] for one in chosen}) > 1:
        raise UsageError("The results are of several versions of the model: evaluate each version on its own")
    names = [one.name.casefold() for one in chosen]
    twice = next((one.name for one in chosen if names.count(one.name.casefold()) > 1), None)
    if twice is not None:
        raise UsageError(f"Two results are of a slide named {twice}: evaluate them one after the other")
    return tuple(chosen)


def _search(path: Path, *, is_only: bool) -> list[ResultFolder]:
    if not path.is_dir():
        raise UsageError(f"{path} is no folder: name the folder that `tessera run --out` wrote")
    if (path / SUMMARY).is_file():
        whole = path.resolve()
        summary = _read_summary(path / SUMMARY)
        is_model = not is_only and whole.name == _name_folder(summary)  # DIR/<slide>/<model>, named one by one
        return [ResultFolder(name=whole.parent.name if is_model else whole.name, folder=path, summary=summary)]
    found: list[ResultFolder] = []
    for file in sorted(path.rglob(SUMMARY)):
        parts = file.parent.relative_to(path).parts
        if _PARTIAL in parts:
            continue
        summary = _read_summary(file)
        if len(parts) > 1 and parts[-1] == _name_folder(summary):
            parts = parts[:-1]
        found.append(ResultFolder(name="/".join(parts), folder=file.parent, summary=summary))
    if not found:
        raise UsageError(f"{path} holds no {SUMMARY}: name the folder that `tessera run --out` wrote")
    return found


def _name_folder(summary: dict[str, Any]) -> str:
    """Return what `tessera run` with several models calls the folder of this one."""
    return str(summary["model"]["name"]).replace("/", "-")


def _read_summary(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_bytes())
        _ = value["model"]["name"], value["model"]["digest"], value["model"]["columns"], value["slide"]["width"]
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, LookupError, TypeError) as error:
        raise UsageError(f"{file} is no summary of a run: run the slide again") from error
    return value
