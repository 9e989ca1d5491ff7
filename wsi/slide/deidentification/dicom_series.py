"""De-identification of a DICOM series: the levels stay, with their other values blanked. Label, overview and thumbnail
are files of their own and are removed, as are files that hold something else."""

from __future__ import annotations

from collections.abc import Sequence

from wsi.concurrency import map_concurrently
from wsi.records.slides import Choice, Removed
from wsi.slide.deidentification.clean_slide import CleanFile, CleanSlide, check_unharmed
from wsi.slide.deidentification.dicom_file import clean_dicom_file
from wsi.slide.deidentification.overwrites import OverwrittenSource
from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader
from wsi.slide.dicom.identity import VOLUME
from wsi.slide.dicom.levels import read_part
from wsi.slide.dicom.series import SeriesFile, drop_copies, read_index, read_slide_files
from wsi.slide.ranges import ByteRange, RangeSource

_HEAD = 65_536  #: bytes of a file that are requested first


def clean_series(files: Sequence[tuple[str, RangeSource]], *, choice: Choice | None, salt: bytes) -> CleanSlide:
    """Return the series without what identifies somebody. Raises SlideRejected, SourceError."""
    pictures = drop_copies(read_slide_files(files))
    levels = [file for file in pictures if file.header.kind == VOLUME]
    staying = [files[file.number] for file in levels]
    before = read_index(staying or files, choice)  # without a level it says what is wrong

    def clean_file(pair: tuple[int, SeriesFile]) -> tuple[CleanFile, Removed]:
        place, file = pair
        source = files[file.number][1]
        reader = BufferedRangeReader(source, source.read(ByteRange(0, min(_HEAD, source.size))))
        frames = read_part(file.reader, file.number, file.header).frames
        overwrites, removed = clean_dicom_file(reader, implicit=file.header.implicit, salt=salt, frames=frames)
        return CleanFile(file.number, f"{place:05d}.dcm", OverwrittenSource(source, overwrites)), removed

    done = map_concurrently(clean_file, list(enumerate(levels)))
    check_unharmed(before, read_index([(file.name, file.source) for file, _ in done], choice))
    left_out = Removed(images=len(pictures) - len(levels), files=len(files) - len(pictures))
    return CleanSlide(tuple(file for file, _ in done), sum((removed for _, removed in done), left_out))
