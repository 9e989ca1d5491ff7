"""A DICOM slide: the files of one series. Only VOLUME images are levels; label, overview and thumbnail never are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wsi.concurrency import map_concurrently
from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice, Inspection, LevelInfo
from wsi.slide.dicom.buffered_range_reader import HEAD, BufferedRangeReader
from wsi.slide.dicom.choosing import make_ambiguous_error, make_unknown_path_error
from wsi.slide.dicom.header import DicomHeader, read_header
from wsi.slide.dicom.identity import VOLUME
from wsi.slide.dicom.levels import Level, build_level, cut, group_parts, read_part
from wsi.slide.dicom.meta import SLIDE_CLASS, is_dicom, read_meta
from wsi.slide.dicom.pixels import check_header
from wsi.slide.files.choosing import describe_left_out, is_named_dicom, make_several_slides_error
from wsi.slide.files.copies import are_copies
from wsi.slide.index import IndexedFile, LevelIndex, SlideIndex
from wsi.slide.mpp import StatedMpp, is_unit_mistake, resolve
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.tiff import make_damaged_error

_COMPARABLE = 256  #: px; the scale of a smaller level says little, as its sides are rounded
_ROUNDING = 2  #: px by which the sizes of levels and their PixelSpacing differ where nothing is filled up


@dataclass(frozen=True, slots=True)
class SeriesFile:
    number: int  #: its place among the slide's files
    source: RangeSource
    reader: BufferedRangeReader
    header: DicomHeader


def read_index(files: Sequence[tuple[str, RangeSource]], choice: Choice | None = None) -> SlideIndex:
    """Return the index of the slide in all files that were sent for it, in that order. Other objects among them are
    left out with a warning, and files of other optical paths than the chosen one without. Raises SlideRejected,
    SourceError."""
    if choice is not None and choice.picture is not None:
        raise SlideRejected(
            RejectReason.NO_SUCH_CHOICE, "A DICOM series holds one image of the slide: leave the choice of one out."
        )
    every = read_slide_files(files)
    found = drop_copies(every)
    _check_flavours(found)
    volumes = [file for file in found if file.header.kind == VOLUME]
    _check_one_scan(found, volumes)
    left_out = describe_left_out(len(files) - len(every), len(every) - len(found))
    warnings = (*left_out, *_warn_of_places(volumes))
    volumes = _of_path(volumes, choice)
    parts = map_concurrently(lambda file: read_part(file.reader, file.number, file.header), volumes)
    levels = sorted((build_level(group, choice) for group in group_parts(parts)), key=_order)
    sizes = [_compute_unpadded_size(one, levels[0]) for one in levels]
    levels = [cut(one, *size) for one, size in zip(levels, sizes, strict=True)]
    _check_pyramid(levels, sizes)
    warnings = (*_warn_of_planes(levels, choice), *warnings)
    infos = tuple(_info(one.header, size, sizes[0]) for one, size in zip(levels, sizes, strict=True))
    return SlideIndex(
        tuple(IndexedFile(source.etag, source.size) for _, source in files),
        _inspection(levels, infos, warnings),
        tuple(LevelIndex(info, one.coding, one.pieces, one.holes) for info, one in zip(infos, levels, strict=True)),
    )


def drop_copies(files: Sequence[SeriesFile]) -> list[SeriesFile]:
    """Return each image of the series once: copies have the same SOPInstanceUID. Raises SlideRejected DAMAGED where two
    files with the same one differ, SourceError."""
    first: dict[str, SeriesFile] = {}
    kept = list[SeriesFile]()
    for file in files:
        instance = file.header.instance
        known = first.setdefault(instance, file) if instance else file
        if known is file:
            kept.append(file)
        elif not are_copies(known.source, file.source):
            raise make_damaged_error(
                "Two of the slide's DICOM files have the same SOPInstanceUID and hold different bytes: send the right "
                "one alone."
            )
    return kept


def read_slide_files(files: Sequence[tuple[str, RangeSource]]) -> list[SeriesFile]:
    """Return the files that hold an image of a slide, of any kind. Raises SlideRejected, SourceError."""
    heads = map_concurrently(_head, [source for _, source in files])
    looked = (
        _slide_file(number, name, source, head)
        for number, ((name, source), head) in enumerate(zip(files, heads, strict=True))
    )
    return [file for file in looked if file is not None]


def _head(source: RangeSource) -> bytes:
    return source.read(ByteRange(0, min(HEAD, source.size))) if source.size else b""


def _slide_file(number: int, name: str, source: RangeSource, head: bytes) -> SeriesFile | None:
    """Return the file; None for what is clearly something else: no DICOM by content and name, or DICOM of another
    class. Raises SlideRejected, SourceError."""
    if not is_dicom(head):
        if not is_named_dicom(name):
            return None
        raise make_damaged_error("A .dcm file of the slide is no DICOM file: the upload or copy went wrong.")
    reader = BufferedRangeReader(source, head)
    meta = read_meta(reader)
    if meta.sop_class != SLIDE_CLASS:
        return None
    check_header(meta)
    return SeriesFile(number, source, reader, read_header(reader, meta))


def _check_flavours(found: Sequence[SeriesFile]) -> None:
    """Raise SlideRejected if nothing tells the slide from its label (PS3.3, C.8.12.4.1.1)."""
    if found and not any(file.header.kind for file in found):
        raise SlideRejected(
            RejectReason.UNSUPPORTED_FORMAT,
            "The DICOM files do not say whether they hold the slide or its label (the third value of ImageType is "
            "missing): convert the slide with another program.",
        )


def _check_one_scan(found: Sequence[SeriesFile], volumes: Sequence[SeriesFile]) -> None:
    if not found:
        raise SlideRejected(
            RejectReason.UNSUPPORTED_FORMAT,
            "The files are DICOM, but hold no whole-slide image: send the series that the slide scanner wrote.",
        )
    if not volumes:
        raise SlideRejected(
            RejectReason.MISSING_FILES,
            "The files hold a label or an overview of the slide and not the slide: send all files of the series.",
        )
    scans = {file.header.series for file in volumes}
    if len(scans) > 1:
        raise make_several_slides_error(len(scans))


def _warn_of_places(volumes: Sequence[SeriesFile]) -> Iterator[str]:
    """Yield a warning if the levels name several frames of reference. Writers that put levels together give each one of
    its own (dicom-microscopy-viewer#94)."""
    places = {file.header.place for file in volumes} - {None}
    if len(places) > 1:
        yield (
            f"The levels name {len(places):,} frames of reference; they are read as one slide, since they belong to "
            "one series."
        )


def _of_path(volumes: Sequence[SeriesFile], choice: Choice | None) -> list[SeriesFile]:
    """Return the files that hold the chosen optical path: scanners write each into files of its own, or all into
    one."""
    held = {path.identifier: path for file in volumes for path in file.header.paths}
    if choice is None or choice.optical_path is None:
        dark = [file for file in volumes if file.header.paths and all(path.fluorescence for path in file.header.paths)]
        if dark and not all(path.fluorescence for path in held.values()):
            raise make_ambiguous_error(tuple(held.values()), 1)
        return list(volumes)
    if len(held) < 2:
        raise SlideRejected(
            RejectReason.NO_SUCH_CHOICE, "The slide holds one optical path: leave the choice of an optical path out."
        )
    if choice.optical_path not in held:
        raise make_unknown_path_error(tuple(held.values()))
    return [file for file in volumes if choice.optical_path in {path.identifier for path in file.header.paths}]


def _warn_of_planes(levels: Sequence[Level], choice: Choice | None) -> Iterator[str]:
    if choice is None or choice.focal_plane is None:
        return
    flat = sum(one.planes == 1 for one in levels)
    if flat == len(levels):
        raise SlideRejected(
            RejectReason.NO_SUCH_CHOICE, "The slide holds one plane of focus: leave the choice of a plane out."
        )
    if flat:
        yield f"{flat} of the slide's levels hold one plane of focus, which is read whatever plane is chosen."
    unseen = sum(one.unseen for one in levels)
    if unseen:
        yield f"{unseen:,} tiles were scanned in other planes of focus only and are shown as glass."


def _order(one: Level) -> tuple[int, tuple[float, ...]]:
    """Return a key that sorts the largest level first; of levels that are padded to one tile each, the finest."""
    return -one.header.width, one.spacing or ()


def _compute_unpadded_size(one: Level, base: Level) -> tuple[int, int]:
    """Return width and height in px without the padding of the last tiles.

    Philips stores whole tiles in every level, and in some a row or column of tiles more, so that sizes say nothing of
    the scale between levels and PixelSpacing says it (openslide PR#576: 53,248 px where half the base is 52,224).
    """
    header = one.header
    if one.spacing is None or base.spacing is None:
        return header.width, header.height
    down, across = (own / largest for own, largest in zip(one.spacing, base.spacing, strict=True))
    width, height = round(base.header.width / across), round(base.header.height / down)
    fills = (
        0 <= stored - filled < 2 * tile and stored % tile == 0
        for stored, filled, tile in (
            (header.width, width, header.tile_width),
            (header.height, height, header.tile_height),
        )
    )
    if max(header.width - width, header.height - height) <= _ROUNDING or not all(fills):
        return header.width, header.height
    stored = base.header.width / header.width, base.header.height / header.height
    if all(map(is_unit_mistake, (across, down), stored)):  # the sizes are right: the scales contradict each other
        return header.width, header.height
    return width, height


def _check_pyramid(levels: Sequence[Level], sizes: Sequence[tuple[int, int]]) -> None:
    base_width, base_height = sizes[0]
    for (one, size), (other, other_size) in pairwise(zip(levels, sizes, strict=True)):
        if size[0] == other_size[0]:
            held = {path.identifier: path for level in levels for path in level.paths}
            if one.paths != other.paths and len(held) > 1:
                raise make_ambiguous_error(tuple(held.values()), 1)
            raise SlideRejected(
                RejectReason.UNSUPPORTED_FORMAT,
                "Two of the slide's DICOM files hold the same level (a copy or another plane of focus): send one of "
                "them.",
            )
    for width, height in sizes[1:]:
        off = abs(width - height * base_width / base_height)
        if off > max(2, 0.02 * width):
            raise SlideRejected(
                RejectReason.UNSUPPORTED_FORMAT,
                "The files hold pictures of different parts of the slide: send the levels of one picture.",
            )


def _info(header: DicomHeader, size: tuple[int, int], base: tuple[int, int]) -> LevelInfo:
    (width, height), (base_width, base_height) = size, base
    return LevelInfo(
        width=width,
        height=height,
        # The mean of both sides, as OpenSlide has it: they differ where a side was rounded.
        downsample=(base_width / width + base_height / height) / 2,
        tile_width=header.tile_width,
        tile_height=header.tile_height,
    )


def _inspection(levels: Sequence[Level], infos: tuple[LevelInfo, ...], warnings: tuple[str, ...]) -> Inspection:
    base = infos[0]
    said = (_compute_stated_mpp(number, one, infos[number], base) for number, one in enumerate(levels))
    mpp = resolve([stated for stated in said if stated is not None])
    return Inspection(
        format="dicom",
        reading_path="native",
        vendor="dicom",
        width=base.width,
        height=base.height,
        levels=infos,
        mpp_x=mpp.x,
        mpp_y=mpp.y,
        mpp_source=mpp.source,
        mpp_conflict=mpp.conflict,
        icc=any(one.header.icc for one in levels),
        warnings=(*mpp.warnings, *warnings),
    )


def _compute_stated_mpp(number: int, one: Level, info: LevelInfo, base: LevelInfo) -> StatedMpp | None:
    """Return the scale of level 0 that a level states; None if it states none or is too small to count."""
    if one.spacing is None or (number and min(info.width, info.height) < _COMPARABLE):
        return None
    down, across = (1_000 * spacing for spacing in one.spacing)
    return StatedMpp(
        "dicom" if number == 0 else f"dicom level {number}",
        across * info.width / base.width,
        down * info.height / base.height,
    )
