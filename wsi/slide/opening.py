"""The opening of a slide with the first reader that claims it: from its index, natively, else through OpenSlide."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wsi.errors import RejectReason, SlideRejected, SourceMissing
from wsi.records.slides import Choice
from wsi.slide.dicom import series
from wsi.slide.dicom.identity import read_identity
from wsi.slide.dicom.meta import is_dicom
from wsi.slide.files.choosing import FoundSlide, find_slide, is_named_dicom
from wsi.slide.files.parts import check_parts
from wsi.slide.files.recognition import Container
from wsi.slide.files.scratch import DEFAULT_SCRATCH, ScratchSpace, copy_to_scratch, remove_copy
from wsi.slide.files.source import SlideSource, put_first
from wsi.slide.index import IndexedFile, SlideIndex
from wsi.slide.layouts.registry import UNCLAIMED, read_index
from wsi.slide.mpp import override_mpp
from wsi.slide.native import NativeReader
from wsi.slide.ranges import FileSource
from wsi.slide.slide import SlideReader

if TYPE_CHECKING:
    from wsi.slide.openslide import OpenSlideReader

#: Refusals that another reader would not improve on: OpenSlide silently turns 16 bits into 8 and inks into colours,
#: reads the first of many planes, and tears apart an image that is stored turned.
_FINAL = frozenset(
    {
        RejectReason.TRUNCATED,
        RejectReason.BIT_DEPTH,
        RejectReason.UNSUPPORTED_PIXELS,
        RejectReason.FLUORESCENCE,
        RejectReason.Z_STACK,
        RejectReason.MISSING_FILES,
        RejectReason.CLAIMS_TOO_MUCH,
        RejectReason.NOT_A_SLIDE,
        RejectReason.SEVERAL_PICTURES,
        RejectReason.NO_SUCH_CHOICE,
    }
)


def open_slide(
    source: SlideSource,
    *,
    mpp: float | None = None,
    choice: Choice | None = None,
    index: bytes | None = None,
    scratch: ScratchSpace = DEFAULT_SCRATCH,
) -> SlideReader:
    """Open a slide. `mpp` (um per level-0 px) wins over what the file says; `choice` says which image of several is
    meant. With the `index` of an earlier reader, which is of one image, nothing is requested from the source. `scratch`
    takes the copy of a remote slide that only OpenSlide reads. Raises SlideRejected, SourceError."""
    known = SlideIndex.from_bytes(index) if index is not None else None
    if known is not None:
        return NativeReader(source, _with_mpp(known, mpp))
    found = find_slide(source)
    if found.container is Container.DICOM:
        return NativeReader(source, _with_mpp(series.read_index(found.files, choice), mpp))
    why: SlideRejected | None = None
    if found.container is Container.TIFF:
        try:
            return NativeReader(source, _with_mpp(read_tiff_index(found, choice), mpp))
        except SlideRejected as rejected:
            # OpenSlide lets nothing be chosen.
            if rejected.reason in _FINAL or choice is not None:
                raise
            why = rejected
    elif choice is not None:
        raise SlideRejected(
            RejectReason.NO_SUCH_CHOICE, "This format lets nothing be chosen from it: leave the choice out."
        )
    source = put_first(source, found.opened)
    if found.container is Container.OTHER:
        check_parts(source)
    reader = _open_with_openslide(source, why, mpp, scratch)
    reader.add_warnings(found.warnings)
    return reader


def read_tiff_index(found: FoundSlide, choice: Choice | None) -> SlideIndex:
    """Return the index of a slide in one TIFF, whichever of the files that is. Raises SlideRejected, SourceError."""
    index = read_index(found.file, choice)
    if len(found.files) == 1:
        return index
    files = [IndexedFile(file.etag, file.size) for _, file in found.files]
    warnings = (*index.inspection.warnings, *found.warnings)
    index = replace(index, inspection=replace(index.inspection, warnings=warnings))
    return index.of_file(found.opened, files)


def open_local_source(path: Path) -> SlideSource:
    """Return a slide on this disk: a file (with the files that belong to it), or a folder that holds one DICOM series.
    Raises SourceMissing."""
    try:
        if path.is_dir():
            paths, root = [file for file in sorted(path.iterdir()) if file.is_file() and _is_dicom(file)], path
        else:
            paths, root = [path, *_siblings(path)], path.parent
    except OSError as error:
        raise SourceMissing(f"The slide cannot be opened: {error.strerror}.") from error
    if not paths:
        raise SourceMissing("The folder holds no DICOM files.")
    files = tuple((file.relative_to(root).as_posix(), FileSource(file)) for file in paths)
    return SlideSource(files=files, local_path=paths[0])


def _open_with_openslide(
    source: SlideSource, why: SlideRejected | None, mpp: float | None, scratch: ScratchSpace
) -> OpenSlideReader:
    """Open a slide with OpenSlide. `why` says why the native reader did not: the better reason when OpenSlide does not
    open the file either."""
    from wsi.slide.openslide import OpenSlideReader  # Only where it is needed: the API's Lambdas ship without it.

    reason = why.sentence if why is not None else "Only OpenSlide reads this format."
    with ExitStack() as undo:
        folder, path = None, source.local_path
        if path is None:
            folder, path = copy_to_scratch(source, scratch)
            undo.callback(remove_copy, folder)
        try:
            gave_up = why is not None and why.sentence != UNCLAIMED
            reader = OpenSlideReader(path, scratch=folder, mpp=mpp, reason=reason, gave_up=gave_up)
        except SlideRejected as rejected:
            raise (why or rejected) from rejected
        undo.pop_all()
    return reader


def _with_mpp(index: SlideIndex, mpp: float | None) -> SlideIndex:
    return replace(index, inspection=override_mpp(index.inspection, mpp))


def _siblings(path: Path) -> list[Path]:
    """Return the other files of the same slide, where the format keeps several."""
    folder, suffix = path.parent, path.suffix.lower()
    if suffix == ".mrxs":
        data = path.with_suffix("")
        return sorted(file for file in data.iterdir() if file.is_file()) if data.is_dir() else []
    if suffix in (".vms", ".vmu"):
        beside = (file for file in folder.iterdir() if file.name.startswith(path.stem) and file != path)
        return sorted(file for file in beside if file.is_file())
    if path.is_file() and _is_dicom(path):
        series = _series(path)
        beside = (file for file in folder.iterdir() if file.is_file() and file != path and _is_dicom(file))
        return sorted(file for file in beside if _series(file) in (series, None))
    return []


def _series(path: Path) -> str | None:
    """Return the series of a DICOM file; None where it does not say, so that its reader says why."""
    source = FileSource(path)
    try:
        identity = read_identity(source)
        return identity.series or None if identity is not None else None
    except SlideRejected:
        return None
    finally:
        source.close()


def _is_dicom(path: Path) -> bool:
    """Return whether a file is DICOM, by its name too: a damaged file of a series must not be left out silently."""
    if is_named_dicom(path.name):
        return True
    with path.open("rb") as file:
        return is_dicom(file.read(132))
