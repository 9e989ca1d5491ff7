"""The files that a slide of several files names in its own list: missing ones are reported before anything is copied.

Names may hold a patient's name. So a missing file is called by what it is for, and by its own name only where the
format gives every slide the same ones.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Collection
from pathlib import PurePosixPath

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.files.source import SlideSource
from wsi.slide.ranges import ByteRange

MAX_LIST = 1024**2  #: bytes; Slidedat.ini of large slides has 200 KB
_VMS_PARTS = re.compile(r"(imagefile(?:\(\d+(?:,\d+)*\))?|mapfile|macroimage)")
_COMMON_NAME = re.compile(r"(Data|Index)\d{0,5}\.dat")  #: the same for every slide of the format


def check_parts(source: SlideSource) -> None:
    """Raise SlideRejected MISSING_FILES if a listed file is missing, FLUORESCENCE if a MIRAX slide says so itself;
    SourceError. A list that cannot be read is left to the slide's reader."""
    name = PurePosixPath(source.files[0][0])
    suffix = name.suffix.lower()
    present = {file for file, _ in source.files}
    if suffix == ".mrxs":
        _check_mirax(source, name.with_suffix(""), present)
    elif suffix in (".vms", ".vmu"):
        _check_hamamatsu(source, name, present)


def _check_mirax(source: SlideSource, folder: PurePosixPath, present: Collection[str]) -> None:
    contents = read_list(source, str(folder / "Slidedat.ini"))
    if contents is None:
        return
    if contents.get("GENERAL", "SLIDE_TYPE", fallback="").strip() == "SLIDE_TYPE_FLUORESCENCE":
        raise SlideRejected(
            RejectReason.FLUORESCENCE, "The slide was scanned in fluorescence: models expect stained tissue."
        )
    needed = [contents.get("HIERARCHICAL", "INDEXFILE", fallback="")]
    if contents.has_section("DATAFILE"):
        needed += [value for key, value in contents.items("DATAFILE") if re.fullmatch(r"file_\d+", key)]
    missing = [part for part in (value.strip() for value in needed) if part and str(folder / part) not in present]
    if missing:
        first = missing[0] if _COMMON_NAME.fullmatch(missing[0]) else "a file of pixels"
        raise _missing(first, len(missing), "Send the .mrxs file with all of the folder of the same name.")


def _check_hamamatsu(source: SlideSource, name: PurePosixPath, present: Collection[str]) -> None:
    contents = read_list(source, str(name))
    if contents is None or not contents.sections():
        return
    parts = contents.items(contents.sections()[0])
    needed = {key: value.strip() for key, value in parts if _VMS_PARTS.fullmatch(key)}
    missing = [key for key, part in needed.items() if part and str(name.with_name(part)) not in present]
    if missing:
        roles = {"mapfile": "the map image", "macroimage": "the macro image"}
        part = missing[0].removeprefix("imagefile") or "(0,0)"
        what = roles.get(missing[0], f"the image of part {part}")
        raise _missing(what, len(missing), f"Send the {name.suffix} file with all the images that the scanner wrote.")


def _missing(first: str, count: int, advice: str) -> SlideRejected:
    others = f" and {count - 1} more" if count > 1 else ""
    return SlideRejected(RejectReason.MISSING_FILES, f"Of the slide's files {first}{others} did not come. {advice}")


def read_list(source: SlideSource, wanted: str) -> configparser.RawConfigParser | None:
    """Return the list of that name; None where there is none that can be read. Raises SourceError."""
    file = next((file for name, file in source.files if name == wanted), None)
    if file is None or file.size > MAX_LIST:
        return None
    text = file.read(ByteRange(0, file.size)).decode("utf-8-sig", errors="replace")
    contents = configparser.RawConfigParser(strict=False)  # keys in lower case
    try:
        contents.read_string(text)
    except configparser.Error:
        return None
    return contents
