"""Slides of odd layout lose their identifiers, and keep their levels, their scale and their pixels."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final

from tests.cases import test_damaged_data, test_dicom_series, test_images_and_levels, test_scale_of_files
from tests.cases.case import Case, parametrised, read_level
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import ByteRange

#: Each is another way of storing tiles, levels or the scale.
SOURCES: Final = {
    "openslide#546": test_damaged_data,
    "openslide#153, openslide#137": test_images_and_levels,
    "ImageDePHI#141, wsidicomizer#148": test_images_and_levels,
    "bio-formats-examples PR#136": test_images_and_levels,
    "bioformats#3986": test_images_and_levels,
    "bioformats PR#3676": test_scale_of_files,
    "tifffile#181, tiffslide#65": test_scale_of_files,
    "openslide PR#576, libdicom#79": test_dicom_series,
    "OCT-Converter#128": test_dicom_series,
    "wsidicomizer#130": test_dicom_series,
}
CASES: Final = [case for source, module in SOURCES.items() for case in module.CASES if case.source == source]


@parametrised(CASES)
def test_case_is_cleaned_and_reads_the_same(case: Case, tmp_path: Path) -> None:
    (tmp_path / "found").mkdir()
    (tmp_path / "clean").mkdir()
    source = open_local_source(case.write(tmp_path / "found"))
    cleaned = clean(source, salt=bytes(32))
    for file in cleaned.files:
        data = file.source.read(ByteRange(0, file.source.size))
        (tmp_path / "clean" / file.name).write_bytes(data)
    single = tmp_path / "clean" / cleaned.files[0].name
    is_series = single.suffix == ".dcm"
    with (
        closing(open_slide(source)) as before,
        closing(open_slide(open_local_source(single.parent if is_series else single))) as after,
    ):
        assert before.inspection.levels == after.inspection.levels
        assert (before.inspection.mpp_x, before.inspection.mpp_y) == (after.inspection.mpp_x, after.inspection.mpp_y)
        assert (read_level(before)[0] == read_level(after)[0]).all()
