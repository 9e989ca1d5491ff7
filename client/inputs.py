"""From what the user names to a list of slides: files, folders, DICOM series, s3:// URLs and prefixes, a manifest."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from wsi.records.slides import Choice

DICOM_SUFFIX = ".dcm"
MIRAX_SUFFIX = ".mrxs"
SLIDE_SUFFIXES = frozenset(
    {".svs", ".tif", ".tiff", ".btf", ".ndpi", ".scn", MIRAX_SUFFIX, ".vms", ".vmu", ".bif", ".svslide"}
)
#: Our own output: a folder of results under the input folder is no slide.
RESULT_NAMES = frozenset({"heatmap.ome.tif"})
MAX_NAME = 200  #: bytes of an output folder's name; file systems end at 255, and a number may follow

Listing = Callable[[str], Sequence[str]]  #: all object URLs below an s3:// prefix


class UsageError(Exception):
    """The command was called wrongly. One sentence; nothing has run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideInput:
    location: str  #: a path or an s3:// URL; of a DICOM series its folder or prefix
    files: tuple[str, ...] = ()  #: s3:// URLs of the slide's files, the opened one first; empty for a local path
    name: str = ""  #: of the output folder; unique within a run
    mpp: float | None = None  #: microns per level-0 px that the user states
    choice: Choice | None = None  #: of the pictures that the slide holds
    region: tuple[int, int, int, int] | None = None  #: x, y, width, height in level-0 px

    @property
    def is_remote(self) -> bool:
        return self.location.startswith("s3://")


def expand(
    paths: Sequence[str],
    manifest: Path | None = None,
    *,
    mpp: float | None = None,
    choice: Choice | None = None,
    skip: Path | None = None,
    listing: Listing,
) -> tuple[SlideInput, ...]:
    """The slides that `paths` and `manifest` name, each once, with distinct names, in the order given.

    `mpp` and `choice` hold for every slide whose manifest row states none. `skip` is a folder that is not searched (the
    output).
    Raises UsageError for a path of the command line that does not exist, a folder without slides, a bad manifest.
    """
    rows = [(path, SlideInput(location=path, mpp=mpp, choice=choice), True) for path in paths]
    if manifest is not None:
        stated = (replace(row, mpp=row.mpp or mpp, choice=row.choice or choice) for row in read_manifest(manifest))
        rows += [(row.location, row, False) for row in stated]
    if not rows:
        raise UsageError("Name at least one slide, or a --manifest.")
    found: list[SlideInput] = []
    for path, row, must_exist in rows:
        found += _expand_one(path, row, must_exist=must_exist, skip=skip, listing=listing)
    return _named(tuple(dict.fromkeys(found)))


def _expand_one(
    path: str, row: SlideInput, *, must_exist: bool, skip: Path | None, listing: Listing
) -> Iterator[SlideInput]:
    if path.startswith("s3://"):
        found = [replace(row, location=files[0], files=files) for files in _remote_slides(path, listing)]
    elif _is_folder(path):
        found = [replace(row, location=str(slide)) for slide in local_slides(Path(path), skip=skip)]
    elif must_exist and not os.path.exists(path):  # noqa: PTH110  # as in _is_folder
        raise UsageError(f"There is no file or folder {path}")
    else:  # a manifest row whose file is missing is rejected alone, so that it does not stop the rest
        found = [replace(row, location=path)]
    if not found:
        raise UsageError(f"No slide lies in {path}")
    yield from found


def local_slides(folder: Path, *, skip: Path | None = None) -> tuple[Path, ...]:
    """Slides in `folder` and below (but not in `skip` below it), sorted. A folder that holds DICOM files is one slide:
    one series a folder. Raises UsageError for a folder that can not be read."""
    try:
        with os.scandir(folder) as entries:
            visible = sorted((each for each in entries if not each.name.startswith(".")), key=lambda each: each.name)
    except OSError as error:
        raise UsageError(f"The folder {folder} can not be read: {error.strerror}") from error
    # Links that lead nowhere too: a slide that is named and can not be read is told, not left out.
    files = [Path(entry.path) for entry in visible if not _is_folder(entry.path)]
    folders = [Path(entry.path) for entry in visible if entry.is_dir(follow_symlinks=False)]
    found = [folder] if any(file.suffix.lower() == DICOM_SUFFIX for file in files) else []
    found += [file for file in files if _is_slide_name(file.name)]
    for below in folders:
        if skip is None or below.resolve() != skip.resolve():
            found += local_slides(below, skip=skip)
    return tuple(found)


def _is_folder(path: str) -> bool:
    """False, where pathlib raises, for links in a circle and below folders that may not be searched."""
    return os.path.isdir(path)  # noqa: PTH112


def _is_slide_name(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in SLIDE_SUFFIXES and name not in RESULT_NAMES


def _remote_slides(url: str, listing: Listing) -> tuple[tuple[str, ...], ...]:
    """Files of each slide below an s3:// URL, the opened one first."""
    is_mirax = url.lower().endswith(MIRAX_SUFFIX)
    if _is_slide_name(url) and not is_mirax:
        return ((url,),)
    objects = sorted(listing(_mirax_folder(url) if is_mirax else url))
    if is_mirax:
        objects = [item for item in objects if item == url or item.startswith(f"{_mirax_folder(url)}/")]
    series: dict[str, list[str]] = {}
    slides: list[tuple[str, ...]] = []
    for item in objects:
        if item.lower().endswith(DICOM_SUFFIX):
            series.setdefault(item.rpartition("/")[0], []).append(item)
        elif item.lower().endswith(MIRAX_SUFFIX):
            slides.append((item, *(other for other in objects if other.startswith(f"{_mirax_folder(item)}/"))))
        elif _is_slide_name(item):
            slides.append((item,))
    return (*slides, *(tuple(files) for files in series.values()))


def _mirax_folder(url: str) -> str:
    """A MIRAX slide is its .mrxs and the folder of the same name beside it."""
    return url[: -len(MIRAX_SUFFIX)]


def read_manifest(path: Path) -> tuple[SlideInput, ...]:
    """Rows of a CSV with the columns path, mpp, roi ("x,y,w,h"), optical_path and focal_plane; other columns are left
    alone. Relative paths start at the manifest's folder. Raises UsageError naming the line."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets write a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The manifest {path} can not be read: {error}") from error
    # Strict: a quote that is never closed would swallow the rows behind it. Lines end where CSV says, and not at the
    # separators that str.splitlines knows and file names may hold.
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        if "path" not in reader.fieldnames:
            raise UsageError(f"The manifest {path} has no column named path; its first line must be: path,mpp,roi")
        rows = [_manifest_row(row, f"{path}, line {reader.line_num}", path.parent) for row in reader]
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.reader.line_num}: {error}") from error
    if not rows:
        raise UsageError(f"The manifest {path} names no slide")
    return tuple(rows)


def _manifest_row(row: dict[str, str | None], where: str, folder: Path) -> SlideInput:
    location = (row["path"] or "").strip()
    if not location:
        raise UsageError(f"{where}: the path is empty")
    if "\0" in location:
        raise UsageError(f"{where}: the path holds a zero byte")
    if not location.startswith("s3://"):
        location = str(folder / location)
    stated, roi = (row.get("mpp") or "").strip(), (row.get("roi") or "").strip()
    try:
        mpp = float(stated) if stated else None
    except ValueError:
        raise UsageError(f"{where}: mpp must be a number, not {stated!r}") from None
    if mpp is not None and not 0 < mpp < math.inf:
        raise UsageError(f"{where}: mpp must be a number of microns above 0, not {stated!r}")
    region = parse_region(roi, where) if roi else None
    return SlideInput(location=location, mpp=mpp, region=region, choice=_choice(row, where))


def _choice(row: dict[str, str | None], where: str) -> Choice | None:
    optical_path, plane = ((row.get(name) or "").strip() for name in ("optical_path", "focal_plane"))
    if plane and not re.fullmatch("[1-9][0-9]{0,8}", plane):
        raise UsageError(f"{where}: focal_plane must be a whole number from 1, not {plane!r}")
    return Choice.of(optical_path or None, int(plane) if plane else None)


def parse_region(text: str, where: str) -> tuple[int, int, int, int]:
    """ "x,y,w,h" in level-0 px. Raises UsageError."""
    try:
        x, y, width, height = (int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{where}: roi must be x,y,w,h in whole level-0 pixels, not {text!r}") from None
    if x < 0 or y < 0 or width <= 0 or height <= 0:
        raise UsageError(f"{where}: roi must begin inside the slide and have a size, not {text!r}")
    return x, y, width, height


def _named(slides: Iterable[SlideInput]) -> tuple[SlideInput, ...]:
    """Each slide with a name of its own: the stem; where different files share it the file's name; then that with its
    folder; then a number (two regions of one file). Case is ignored, since file systems do."""
    slides = tuple(slides)
    places = [place(slide) for slide in slides]
    names = [place.stem for place in places]
    for longer in (lambda place: place.name, lambda place: f"{place.parent.name}_{place.name}"):
        counts = Counter(
            name for name, _ in {(name.casefold(), place) for name, place in zip(names, places, strict=True)}
        )
        names = [
            longer(place) if counts[name.casefold()] > 1 else name for name, place in zip(names, places, strict=True)
        ]
    taken: set[str] = set()
    unique: list[SlideInput] = []
    for slide, name in zip(slides, map(_short, names), strict=True):
        chosen, number = name, 1
        while chosen.casefold() in taken:
            number += 1
            chosen = f"{name}-{number}"
        taken.add(chosen.casefold())
        unique.append(replace(slide, name=chosen))
    return tuple(unique)


def _short(name: str) -> str:
    data = os.fsencode(name)
    return name if len(data) <= MAX_NAME else data[:MAX_NAME].decode(errors="ignore")


def place(slide: SlideInput) -> PurePosixPath:
    """What the slide is known by: its first file, of a DICOM series the folder."""
    if not slide.is_remote:
        return PurePosixPath(Path(slide.location).resolve().as_posix())
    place = PurePosixPath(slide.location.removeprefix("s3:/"))
    return place.parent if place.suffix.lower() == DICOM_SUFFIX else place
