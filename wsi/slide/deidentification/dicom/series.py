"""De-identification of a DICOM series: the levels stay. Label, overview and thumbnail are files of their own and are
removed, as are files that hold something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np

from wsi.concurrency import map_concurrently
from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice, Removed
from wsi.slide.deidentification.clean_slide import CleanFile, CleanSlide, check_unharmed
from wsi.slide.deidentification.dicom.file import SeriesSecrets, clean_dicom_file, is_path_number
from wsi.slide.deidentification.dicom.pixels import PixelCleaner
from wsi.slide.deidentification.edits import Edit, EditedSource
from wsi.slide.dicom.buffered_range_reader import HEAD, BufferedRangeReader
from wsi.slide.dicom.identity import VOLUME
from wsi.slide.dicom.levels import PartialLevel, read_part
from wsi.slide.dicom.meta import read_meta
from wsi.slide.dicom.series import SeriesFile, drop_copies, read_index, read_slide_files
from wsi.slide.ranges import ByteRange, RangeSource


def clean_series(files: Sequence[tuple[str, RangeSource]], *, choice: Choice | None, salt: bytes) -> CleanSlide:
    """Return the series without what identifies somebody. Raises SlideRejected, SourceError."""
    pictures = drop_copies(read_slide_files(files))
    levels = [file for file in pictures if file.header.kind == VOLUME]
    staying = [files[file.number] for file in levels]
    before = read_index(staying or files, choice)  # without a level it says what is wrong
    secrets = SeriesSecrets(salt=salt, paths=_number_paths(levels))
    _check_choice(choice, secrets)

    def clean_file(pair: tuple[int, SeriesFile]) -> tuple[CleanFile, Removed, int]:
        place, file = pair
        source = files[file.number][1]
        reader = BufferedRangeReader(source, source.read(ByteRange(0, min(HEAD, source.size))))
        part = read_part(file.reader, file.number, file.header)
        edits, removed = clean_dicom_file(
            reader,
            read_meta(reader),
            instance=file.header.instance,
            implicit=file.header.implicit,
            secrets=secrets,
            pixels=PixelCleaner(reader, source, part.frames, part.coding.codec),
        )
        clean = CleanFile(file.number, f"{place:05d}.dcm", EditedSource(source, edits))
        return clean, removed, _measure_shift(edits, part)

    done = map_concurrently(clean_file, list(enumerate(levels)))
    left = [(file.name, file.source) for file, _, _ in done]
    check_unharmed(before, lambda: read_index(left, choice), np.array([shift for _, _, shift in done], np.int64))
    left_out = Removed(images=len(pictures) - len(levels), files=len(files) - len(pictures))
    return CleanSlide(
        tuple(file for file, _, _ in done), sum((removed for _, removed, _ in done), left_out), salted=True
    )


def _number_paths(levels: Sequence[SeriesFile]) -> dict[str, str]:
    """Return numbers for the identifiers of optical paths that are text. Numbers of up to four digits stay."""
    names = sorted({path.identifier for file in levels for path in file.header.paths})
    taken = {name for name in names if is_path_number(name)}
    free: Iterator[str] = (text for text in map(str, count(1)) if text not in taken)
    return {name: next(free) for name in names if name not in taken}


def _check_choice(choice: Choice | None, secrets: SeriesSecrets) -> None:
    if choice is not None and choice.optical_path in secrets.paths:
        raise SlideRejected(
            RejectReason.CAN_NOT_DEIDENTIFY,
            "The chosen optical path has a text as its name, which does not stay: send the files of that path alone, "
            "without a choice.",
        )


def _measure_shift(edits: Sequence[Edit], part: PartialLevel) -> int:
    """Return the number of bytes by which the frames of a file move."""
    first = int(part.frames.offsets.min())
    return sum(len(edit.data) - edit.place.size for edit in edits if edit.data is not None and edit.place.end <= first)
