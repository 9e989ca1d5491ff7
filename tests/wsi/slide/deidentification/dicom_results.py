"""Clean DICOM files as bytes and as pydicom reads them, and words that may not be in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pydicom
import pytest

from wsi.errors import SlideRejected
from wsi.records.slides import Choice
from wsi.slide.deidentification.clean_slide import CleanSlide
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.opening import open_local_source
from wsi.slide.ranges import ByteRange

SALT = b"salt"
WORD: Final = "ZQXJKV"  #: in no dictionary
MARK: Final = re.compile(b"ZQXJ|19450417|4711471147|Z\\0Q\\0X\\0J|\\0Z\\0Q\\0X\\0J")


def cleaned(path: Path, choice: Choice | None = None, salt: bytes = SALT) -> CleanSlide:
    return clean(open_local_source(path), choice=choice, salt=salt)


def bytes_of(slide: CleanSlide, file: int = 0) -> bytes:
    source = slide.files[file].source
    return source.read(ByteRange(0, source.size))


def dataset_of(slide: CleanSlide, folder: Path, file: int = 0) -> pydicom.Dataset:
    path = folder / f"after-{file}.dcm"
    path.write_bytes(bytes_of(slide, file))
    return pydicom.dcmread(path)


def refused(path: Path, choice: Choice | None = None) -> SlideRejected:
    with pytest.raises(SlideRejected) as caught:
        cleaned(path, choice)
    return caught.value
