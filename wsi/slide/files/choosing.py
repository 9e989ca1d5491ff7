"""The choice of the slide among the files that came together: decided by what they are, never by their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from wsi.concurrency import map_concurrently
from wsi.errors import RejectReason, SlideRejected
from wsi.slide import tiff
from wsi.slide.dicom.buffered_range_reader import HEAD as DICOM_HEAD
from wsi.slide.dicom.identity import read_identity
from wsi.slide.files.copies import are_copies
from wsi.slide.files.recognition import HAMAMATSU_SUFFIXES, HEAD, MIRAX_SUFFIX, Container, find_container, recognise
from wsi.slide.files.source import SlideSource
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.windows import CachedEndsSource, CachedHeadSource

DICOM_SUFFIXES: Final = (".dcm", ".dicom")


@dataclass(frozen=True, slots=True)
class SlideCandidate:
    """Files that may be a slide."""

    container: Container
    opened: int  #: the number of the file that the slide is opened with
    members: frozenset[int]  #: the numbers of its files, with `opened`


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundSlide:
    container: Container
    opened: int  #: the number of the file that the slide is opened with
    files: tuple[tuple[str, RangeSource], ...]  #: all files in the order of the source; first bytes are held
    left_out: int = 0  #: files that belong to no slide
    copies: int = 0  #: files whose bytes are those of `opened`

    @property
    def file(self) -> RangeSource:
        return self.files[self.opened][1]

    @property
    def warnings(self) -> tuple[str, ...]:
        return describe_left_out(self.left_out, self.copies)


def find_slide(source: SlideSource) -> FoundSlide:
    """Return the slide among the files of `source`. First bytes are read in parallel, and only of files whose names do
    not tell what they are. The reader of a DICOM series inspects all files itself.

    Raises SlideRejected: NOT_A_SLIDE, UNSUPPORTED_FORMAT, MISSING_FILES, SEVERAL_SLIDES; SourceError.
    """
    names = [name for name, _ in source.files]
    needed = select_files_to_inspect(names)
    held = dict(
        zip(needed, map_concurrently(_cache_file, [(source.files[n], len(names) == 1) for n in needed]), strict=True)
    )
    heads = {number: file.read(ByteRange(0, min(HEAD, file.size))) for number, file in held.items()}
    files = tuple((name, held.get(number, file)) for number, (name, file) in enumerate(source.files))
    found = group_candidates(names, heads)
    if not found:
        raise _no_slide(names, heads)
    copies = list[SlideCandidate]()
    if len(found) > 1:
        slides = [one for one in found if _is_slide(one, files)] or found[:1]
        copies = [one for one in slides[1:] if _is_copy(one, slides[0], files)]
        if len(slides) > len(copies) + 1:
            raise make_several_slides_error(len(slides) - len(copies))
        found = slides
    slide = found[0]
    name = names[slide.opened]
    if slide.container is Container.OTHER:
        recognise(heads[slide.opened], name, names)  # for parts that are missing
    if len(files) > 1 and slide.container is Container.TIFF:
        files = tuple(
            (name, CachedEndsSource(file) if n == slide.opened else file) for n, (name, file) in enumerate(files)
        )
    left_out = len(names) - len(slide.members) - len(copies)
    return FoundSlide(
        container=slide.container, opened=slide.opened, files=files, left_out=left_out, copies=len(copies)
    )


def select_files_to_inspect(names: Sequence[str]) -> list[int]:
    """Return the numbers of the files that must be inspected: all but those in the folder of a MIRAX slide, which can
    be ten thousand."""
    inside = {number for numbers in _mirax_folders(names).values() for number in numbers}
    return [number for number in range(len(names)) if number not in inside]


def group_candidates(names: Sequence[str], heads: dict[int, bytes]) -> list[SlideCandidate]:
    """Return the possible slides, in the order of the files. `heads` are the first bytes of the files that are not
    `select_files_to_inspect`."""
    kinds = {number: find_container(head, names[number]) for number, head in heads.items()}
    folders = _mirax_folders(names)
    dicom = frozenset(number for number, kind in kinds.items() if kind is Container.DICOM)
    if dicom:  # By name too: a damaged file of the series must not be left out silently.
        dicom |= {number for number, kind in kinds.items() if kind is None and is_named_dicom(names[number])}
    rest = frozenset(number for number, kind in kinds.items() if kind is None)
    found = [SlideCandidate(Container.DICOM, min(dicom), dicom)] if dicom else []
    for number, kind in kinds.items():
        if kind is None or kind is Container.DICOM:
            continue
        members = {number}
        if kind is Container.OTHER and _suffix(names[number]) == MIRAX_SUFFIX:
            members.update(folders[_stem(names[number])])
        elif kind is Container.OTHER and _suffix(names[number]) in HAMAMATSU_SUFFIXES:
            members |= rest  # its images and its map, which it names itself
        found.append(SlideCandidate(kind, number, frozenset(members)))
    return sorted(found, key=lambda one: one.opened)


def is_named_dicom(name: str) -> bool:
    """Return whether the name is one of a DICOM file. macOS stores a file of attributes, "._a.dcm", with each."""
    return _suffix(name) in DICOM_SUFFIXES and not PurePosixPath(name).name.startswith("._")


def make_several_slides_error(count: int) -> SlideRejected:
    return SlideRejected(
        RejectReason.SEVERAL_SLIDES,
        f"The files are those of {count:,} slides: send each slide by itself, with the files that belong to it.",
    )


def describe_left_out(left_out: int, copies: int) -> tuple[str, ...]:
    said = list[str]()
    if left_out:
        said.append(f"Of the files sent, {left_out:,} hold something else than the slide and were left out.")
    if copies:
        said.append(f"Of the files sent, {copies:,} are copies of another one and were left out.")
    return tuple(said)


def _cache_file(file: tuple[tuple[str, RangeSource], bool]) -> RangeSource:
    """Return the file with its first bytes cached. Of a file that came alone and is not named DICOM the last ones are
    cached too: the directories of a TIFF are often there."""
    (name, source), alone = file
    return (
        CachedEndsSource(source)
        if alone and _suffix(name) not in DICOM_SUFFIXES
        else CachedHeadSource(source, DICOM_HEAD)
    )


def _is_slide(candidate: SlideCandidate, files: Sequence[tuple[str, RangeSource]]) -> bool:
    """Return whether one of several candidates is a slide. A TIFF without tiles is a label or a figure, and DICOM
    without a level a report."""
    try:
        if candidate.container is Container.TIFF:
            parsed = tiff.parse(files[candidate.opened][1])
            return parsed.ndpi or any(tiff.TILE_WIDTH in page for page in parsed.directories)
        if candidate.container is Container.DICOM:
            known = map_concurrently(read_identity, [files[number][1] for number in sorted(candidate.members)])
            return any(identity is not None and identity.is_level for identity in known)
    except SlideRejected:  # damaged: its reader says how
        return True
    return True


def _is_copy(one: SlideCandidate, other: SlideCandidate, files: Sequence[tuple[str, RangeSource]]) -> bool:
    alone = len(one.members) == len(other.members) == 1
    return alone and are_copies(files[one.opened][1], files[other.opened][1])


def _no_slide(names: Sequence[str], heads: dict[int, bytes]) -> SlideRejected:
    reasons = list[SlideRejected]()
    for number, head in heads.items():
        try:
            recognise(head, names[number], ())
        except SlideRejected as rejected:
            reasons.append(rejected)
    of_slides = [rejected for rejected in reasons if rejected.reason is not RejectReason.NOT_A_SLIDE]
    if len(names) == 1 or of_slides:
        return [*of_slides, *reasons][0]
    return SlideRejected(
        RejectReason.NOT_A_SLIDE,
        f"None of the {len(names):,} files is a whole-slide image: send what the scanner wrote (SVS, TIFF, NDPI, MRXS, "
        "SCN, DICOM).",
    )


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _stem(name: str) -> str:
    return str(PurePosixPath(name).with_suffix(""))


def _mirax_folders(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the numbers of the files in the folder of each MIRAX slide."""
    folders: dict[str, list[int]] = {_stem(name): [] for name in names if _suffix(name) == MIRAX_SUFFIX}
    for number, name in enumerate(names):
        for parent in PurePosixPath(name).parents if folders else ():
            if str(parent) in folders:
                folders[str(parent)].append(number)
    return folders
