"""What a case is: a file as the report describes it, and what a reader must make of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.inspection.examination import examine
from wsi.records.slides import Choice, Inspection
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import RGB, WHITE, SlideReader

#: What belongs to programmers and must not reach a user.
PROGRAMMERS_WORDS = re.compile(r"codec|Errno|object has no attribute|invalid literal|Traceback|NoneType|KeyError")


@dataclass(frozen=True, kw_only=True)
class Read:
    """The slide is read. Fields that are None are not compared."""

    levels: Sequence[tuple[int, int]] | None = None  #: width and height in px of each, the largest first
    mpp: float | tuple[float, float] | None = None  #: um per level-0 px, on both axes or across and down
    path: str = "native"  #: or "scratch", where OpenSlide reads a copy
    pixels: NDArray[np.uint8] | None = None  #: [height, width, 3] of level 0
    tolerance: float = 0.0  #: mean difference of a sample that is allowed, in grey values
    unreadable: Sequence[int] = ()  #: tiles of each level that must be reported as unreadable; none where it is short
    warns: str | None = ""  #: a pattern that one warning holds; empty: there is none; None: whatever there is
    examined: bool = True  #: the overview and the tissue can be made from it


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The slide is refused for this reason, in a sentence that holds the pattern `says`."""

    reason: RejectReason
    says: str = ""


@dataclass(frozen=True, kw_only=True)
class Case:
    source: str  #: where it was reported: "openslide#516"
    met: str  #: what users met, in a few words
    write: Callable[[Path], Path]  #: writes the slide into an empty folder and returns what is opened
    expect: Read | Refused
    mpp: float | None = None  #: what the user states
    choice: Choice | None = None  #: what the user chooses

    def __str__(self) -> str:
        return f"{self.source} {self.met}"


def parametrised(cases: Sequence[Case]) -> pytest.MarkDecorator:
    """Return the mark that makes a test of each case, with its source in the test's id."""
    return pytest.mark.parametrize("case", cases, ids=str)


def check(case: Case, folder: Path) -> Inspection | None:
    """Write the case's slide, open it, and hold what comes of it against what must come of it."""
    source = open_local_source(case.write(folder))
    rejected: SlideRejected | None = None
    found: Inspection | None = None
    try:
        reader = open_slide(source, mpp=case.mpp, choice=case.choice, scratch=ScratchSpace(folder))
        with closing(reader):
            found = _examined(reader, case)
            if isinstance(case.expect, Read):
                _check_read(reader, case.expect)
    except SlideRejected as error:
        rejected = error
    if rejected is not None:
        assert isinstance(case.expect, Refused), f"refused as {rejected.reason}: {rejected.sentence}"
        assert rejected.reason is case.expect.reason, rejected.sentence
        assert re.search(case.expect.says, rejected.sentence), rejected.sentence
        assert not PROGRAMMERS_WORDS.search(rejected.sentence), rejected.sentence
    else:
        assert isinstance(case.expect, Read), f"read, where it must be refused: {found}"
        _check_warnings(found, case.expect)
    return found


def read_level(reader: SlideReader, level: int = 0) -> tuple[RGB, int]:
    """Return the whole level, white where tiles are unreadable, and the number of those."""
    info = reader.inspection.levels[level]
    across, down = -(-info.width // info.tile_width), -(-info.height // info.tile_height)
    pixels = np.full((down * info.tile_height, across * info.tile_width, 3), WHITE, np.uint8)
    unreadable = 0
    for tile in reader.read_tiles(level, range(across * down)):
        row, column = divmod(tile.index, across)
        top, left = row * info.tile_height, column * info.tile_width
        try:
            pixels[top : top + info.tile_height, left : left + info.tile_width] = reader.decode(tile)
        except TileUnreadable:
            unreadable += 1
    return pixels[: info.height, : info.width], unreadable


def difference(seen: NDArray[Any], drawn: NDArray[Any]) -> float:
    """Return the mean difference of a sample, in grey values."""
    return float(np.abs(seen.astype(np.int16) - drawn.astype(np.int16)).mean())


def _examined(reader: SlideReader, case: Case) -> Inspection:
    if isinstance(case.expect, Read) and not case.expect.examined:
        return reader.inspection
    return examine(reader, max_px=256).inspection


def _check_read(reader: SlideReader, expect: Read) -> None:
    found = reader.inspection
    assert found.reading_path == expect.path, found.path_reason
    if expect.levels is not None:
        assert [(level.width, level.height) for level in found.levels] == list(expect.levels)
    if expect.mpp is not None:
        wanted = expect.mpp if isinstance(expect.mpp, tuple) else (expect.mpp, expect.mpp)
        assert (found.mpp_x, found.mpp_y) == pytest.approx(wanted, rel=1e-4)
    if found.reading_path == "native" or expect.pixels is not None:
        for level in range(len(found.levels)):
            pixels, unreadable = read_level(reader, level)
            assert unreadable == (expect.unreadable[level] if level < len(expect.unreadable) else 0), f"level {level}"
            if level == 0 and expect.pixels is not None:
                assert difference(pixels, expect.pixels) <= expect.tolerance


def _check_warnings(found: Inspection | None, expect: Read) -> None:
    if expect.warns is None or found is None:
        return
    if not expect.warns:
        assert not found.warnings
        return
    assert any(re.search(expect.warns, warning) for warning in found.warnings), found.warnings
