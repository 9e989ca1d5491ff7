"""Opens a slide with the first reader that claims it: from its index, natively, else through OpenSlide."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from wsi.errors import RejectReason, SlideRejected, SourceMissing
from wsi.records.slides import Choice
from wsi.slide.dicom import series
from wsi.slide.index import SlideIndex
from wsi.slide.layouts.registry import UNCLAIMED, read_index
from wsi.slide.mpp import overridden
from wsi.slide.native import NativeReader
from wsi.slide.parts import check_parts
from wsi.slide.ranges import ByteRange, FileSource
from wsi.slide.recognition import HEAD, Container, recognise
from wsi.slide.scratch import OnCopy, copy_to_scratch, remove_copy
from wsi.slide.slide import SlideReader
from wsi.slide.source import SlideSource
from wsi.slide.windows import EndsHeld

MAX_SCRATCH = 8 * 1024**3  #: bytes; a slide above it must have an index of ours

#: What another reader would not do better: OpenSlide turns 16 bits into 8 and inks into colours unasked, reads the
#: first of many planes, and tears apart a picture that is stored turned.
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
    scratch: Path | None = None,
    max_scratch_bytes: int = MAX_SCRATCH,
    on_copy: OnCopy | None = None,
) -> SlideReader:
    """`mpp` (um per level-0 px) wins over what the file says; `choice` says which picture of several is meant. With the
    `index` of an earlier reader, which is of one picture, nothing is asked of the source. `scratch` is the folder for
    copies of remote slides that only OpenSlide reads (default: the system's); `on_copy` follows such a copy. Raises
    SlideRejected, SourceError."""
    name, file = source.files[0]
    known = SlideIndex.from_bytes(index) if index is not None else None
    if known is not None:
        return NativeReader(source, _with_mpp(known, mpp))
    if not name.lower().endswith(".dcm"):  # whose end is pixels
        file = EndsHeld(file)
    head = file.read(ByteRange(0, min(HEAD, file.size)))
    container = recognise(head, name, [sibling for sibling, _ in source.files[1:]])
    if container is Container.DICOM:
        return NativeReader(source, _with_mpp(series.read_index([(name, file), *source.files[1:]], choice), mpp))
    why: SlideRejected | None = None
    if container is Container.TIFF:
        try:
            return NativeReader(source, _with_mpp(read_index(file, choice), mpp))
        except SlideRejected as rejected:
            # OpenSlide lets nothing be chosen.
            if rejected.reason in _FINAL or choice is not None:
                raise
            why = rejected
    else:
        if choice is not None:
            raise SlideRejected(
                RejectReason.NO_SUCH_CHOICE, "This format lets nothing be chosen from it: leave the choice out."
            )
        check_parts(source)
    return _open_with_openslide(source, why, mpp, scratch, max_scratch_bytes, on_copy)


def local_source(path: Path) -> SlideSource:
    """A slide on this disk: a file (with the files that belong to it), or a folder that holds one DICOM series. Raises
    SourceMissing."""
    try:
        if path.is_dir():
            paths, root = [file for file in sorted(path.iterdir()) if file.is_file() and _is_dicom(file)], path
        else:
            paths, root = [path, *_siblings(path)], path.parent
    except OSError as error:
        raise SourceMissing(f"The slide can not be opened: {error.strerror}.") from error
    if not paths:
        raise SourceMissing("The folder holds no DICOM files.")
    files = tuple((file.relative_to(root).as_posix(), FileSource(file)) for file in paths)
    return SlideSource(files=files, local_path=paths[0])


def _open_with_openslide(
    source: SlideSource,
    why: SlideRejected | None,
    mpp: float | None,
    scratch: Path | None,
    max_bytes: int,
    on_copy: OnCopy | None,
) -> SlideReader:
    """`why` says what kept the native reader away: the better reason when OpenSlide does not open the file either."""
    from wsi.slide.openslide import OpenSlideReader  # Only where it is needed: the API's Lambdas ship without it.

    reason = why.sentence if why is not None else "Only OpenSlide reads this format."
    with ExitStack() as undo:
        folder, path = None, source.local_path
        if path is None:
            folder, path = copy_to_scratch(source, scratch=scratch, max_bytes=max_bytes, on_copy=on_copy)
            undo.callback(remove_copy, folder)
        try:
            gave_up = why is not None and why.sentence != UNCLAIMED
            reader = OpenSlideReader(path, scratch=folder, mpp=mpp, reason=reason, gave_up=gave_up)
        except SlideRejected as rejected:
            raise (why or rejected) from rejected
        undo.pop_all()
    return reader


def _with_mpp(index: SlideIndex, mpp: float | None) -> SlideIndex:
    return replace(index, inspection=overridden(index.inspection, mpp))


def _siblings(path: Path) -> list[Path]:
    """The other files of the same slide, where the format keeps several."""
    folder, suffix = path.parent, path.suffix.lower()
    if suffix == ".mrxs":
        data = path.with_suffix("")
        return sorted(file for file in data.iterdir() if file.is_file()) if data.is_dir() else []
    if suffix in (".vms", ".vmu"):
        beside = (file for file in folder.iterdir() if file.name.startswith(path.stem) and file != path)
        return sorted(file for file in beside if file.is_file())
    if path.is_file() and _is_dicom(path):
        return sorted(file for file in folder.iterdir() if file.is_file() and file != path and _is_dicom(file))
    return []


def _is_dicom(path: Path) -> bool:
    """By name too: a damaged file of a series must not be left out in silence."""
    if path.suffix.lower() == ".dcm" and not path.name.startswith("._"):  # what macOS keeps beside a file
        return True
    with path.open("rb") as file:
        return file.read(132)[128:] == b"DICM"
