"""A manifest: a table with a row a slide, and what the user states of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from tessera.local_run.inputs.listing import S3
from tessera.local_run.inputs.slide_input import SlideInput, UsageError
from tessera.local_run.inputs.tables import read_rows
from wsi.records.slides import Choice

COLUMNS = ("path", "mpp", "roi", "optical_path", "focal_plane", "picture")
_NUMBER = re.compile(r"\d+(?:[.,]\d*)?(?:[eE][+-]?\d+)?|[.,]\d+")


def read_manifest(path: Path) -> tuple[SlideInput, ...]:
    """Return the rows of a CSV with the columns `COLUMNS`, of which only path must be there; other columns are left
    alone. Relative paths start at the manifest's folder. Raises UsageError naming the line."""
    rows = tuple(
        _slide(row, f"{path}, line {line}", path.parent) for line, row in read_rows(path, "path", "path,mpp,roi")
    )
    if not rows:
        raise UsageError(f"The manifest {path} names no slide")
    return rows


def _slide(row: Mapping[str, str], where: str, folder: Path) -> SlideInput:
    location = row["path"]
    if not location:
        raise UsageError(f"{where}: the path is empty")
    if "\0" in location:
        raise UsageError(f"{where}: the path holds a zero byte")
    if not location.startswith(S3):
        location = str(folder / location)
    roi = row.get("roi", "")
    return SlideInput(
        location=location,
        mpp=_mpp(row.get("mpp", ""), where),
        region=parse_region(roi, where) if roi else None,
        choice=Choice.of(
            row.get("optical_path") or None, _count(row, "focal_plane", where), _count(row, "picture", where)
        ),
    )


def _mpp(stated: str, where: str) -> float | None:
    if not stated:
        return None
    mpp = _number(stated)
    if mpp is None or not 0 < mpp < math.inf:
        raise UsageError(f"{where}: mpp must be a number of microns above 0, not “{stated}”")
    return mpp


def _count(row: Mapping[str, str], name: str, where: str) -> int | None:
    stated = row.get(name, "")
    if not stated:
        return None
    if not re.fullmatch(r"[1-9]\d{0,8}(?:[.,]0*)?", stated, re.ASCII):  # spreadsheets write 2 as 2.0
        raise UsageError(f"{where}: {name} must be a whole number from 1, not “{stated}”")
    return int(re.split("[.,]", stated)[0])


def _number(text: str) -> float | None:
    """Return the number, also with a decimal comma, or None."""
    return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) and text.isascii() else None


def parse_region(text: str, where: str) -> tuple[int, int, int, int]:
    """Return "x,y,w,h" in level-0 px; "10.0,20.0,…" and "10;20;…" mean the same. Raises UsageError."""
    parts = re.split(r"\s*;\s*|\s+", text) if ";" in text or "," not in text else re.split(r"\s*,\s*", text)
    numbers = [_number(part) for part in parts]
    whole = [int(number) for number in numbers if number is not None and number.is_integer()]
    if len(whole) != 4 or len(parts) != 4:
        raise UsageError(f"{where}: roi must be x,y,w,h in whole level-0 pixels, not “{text}”")
    x, y, width, height = whole
    if width <= 0 or height <= 0:
        raise UsageError(f"{where}: roi must begin inside the slide and have a size, not “{text}”")
    return x, y, width, height
