"""The pixels of a slide, for looking at it: regions at any scale, and an overview."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from types import TracebackType

from tessera.local_run.slide_session import SlideSession
from tessera.local_run.sources import Sources
from tessera.progress import open_copy_bar
from tessera.public.inputs import SlidePath, find_slide, shows_progress
from wsi.errors import SlideRejected
from wsi.inspection.thumbnail import make_thumbnail
from wsi.planning.scale import Microns, compute_grid_mpp
from wsi.records.slides import Choice, Inspection, LevelInfo
from wsi.slide.slide import RGB, SlideReader
from wsi.viewer.regions import read_region


class WholeSlideImage:
    """An open slide, for one thread. `tessera.open` makes it; close it, or use it in a `with` statement."""

    def __init__(self, session: SlideSession, reader: SlideReader) -> None:
        """Wrap an open reader of the session; `close` closes both."""
        self._session = session
        self._open_reader: SlideReader | None = reader

    def __enter__(self) -> WholeSlideImage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        width, height = self.dimensions
        scale = f", {self.mpp:.4g} µm/px" if self.mpp is not None else ""
        return f"<WholeSlideImage {self.inspection.format}: {width:,} x {height:,} px{scale}>"

    def close(self) -> None:
        """Close the slide's files. What is asked of the slide afterwards raises ValueError."""
        self._open_reader = None  # the number of a file that is closed may be that of another one soon
        self._session.close()

    @property
    def inspection(self) -> Inspection:
        """Everything that the file's header says: format, vendor, levels, scale and its source, warnings."""
        return self._reader.inspection

    @property
    def dimensions(self) -> tuple[int, int]:
        """Width and height of level 0 in pixels."""
        return self.inspection.width, self.inspection.height

    @property
    def levels(self) -> Sequence[LevelInfo]:
        """The levels of the pyramid, level 0 first: width, height, downsample, and the size of the file's tiles."""
        return self.inspection.levels

    @property
    def mpp(self) -> float | None:
        """Microns per level-0 pixel, across. None where the file states no usable scale, which `tessera.open(path,
        mpp=…)` states in its place; `read_region` with `mpp` then raises why."""
        microns = self._microns()
        return microns[0] if microns is not None else None

    @property
    def mpp_y(self) -> float | None:
        """Microns per level-0 pixel, down: `mpp` unless pixels are longer than wide by more than 1 %."""
        microns = self._microns()
        return microns[1] if microns is not None else None

    def read_region(self, location: tuple[int, int], size: int | tuple[int, int], mpp: float | None = None) -> RGB:
        """Return a rectangle of the slide as RGB, uint8 [height, width, 3].

        `location` is the x and y of its upper left corner in level-0 pixels, at any `mpp`. `size` is the width and
        height of what is returned, in its own pixels; one number for a square.

        `mpp` is the scale of what is returned, in microns a pixel: the rectangle covers width * mpp x height * mpp
        microns of the slide. It is made from the coarsest level that is no coarser than `mpp`, shrunk with an
        antialiasing triangle filter; where level 0 is coarser it is enlarged. Without `mpp` the pixels are those of
        level 0, as the file has them, and `slide.mpp * level.downsample` gives those of a level.

        What lies past the slide's edge and what the scanner left out is white. Raises SlideRejected for `mpp` on a
        slide without a usable scale, TileUnreadable where the file is damaged (no white takes the place of what cannot
        be read), and SourceError.
        """
        across, down = (size, size) if isinstance(size, int) else size
        x, y, width, height = map(index, (*location, across, down))
        if width < 1 or height < 1:
            raise ValueError(f"size must be at least 1 x 1 px, not {width} x {height}")
        if mpp is not None and not mpp > 0:
            raise ValueError(f"mpp must be above 0, not {mpp}")
        return read_region(self._reader, (x, y), (width, height), mpp)

    def thumbnail(self, max_size: int = 1024) -> RGB:
        """Return the whole slide as RGB, uint8 [height, width, 3], with at most `max_size` pixels on the longer side:
        averages of whole squares of one level. Label and macro are not part of it. Tiles that cannot be decoded are
        painted as glass."""
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1 px, not {max_size}")
        return make_thumbnail(self._reader, max_size).pixels

    @property
    def _reader(self) -> SlideReader:
        if self._open_reader is None:
            raise ValueError("The slide is closed: open it again.")
        return self._open_reader

    def _microns(self) -> Microns | None:
        try:
            return compute_grid_mpp(self.inspection)
        except SlideRejected:  # `read_region` raises it where the scale is needed
            return None


def open(
    slide: SlidePath,
    *,
    mpp: float | None = None,
    optical_path: str | None = None,
    focal_plane: int | None = None,
    picture: int | None = None,
    progress: bool | None = None,
) -> WholeSlideImage:
    """Open a slide for looking at it: a file, a folder of one DICOM series, or an s3:// URL, which is read by ranges.

    `mpp` states the microns a pixel in place of the file; `optical_path`, `focal_plane` and `picture` choose from a
    slide that holds several images. `progress` draws a bar while a slide on S3 is copied that only OpenSlide reads;
    unless stated, on a terminal and in a notebook. Raises SlideRejected and SourceError with one sentence, and
    UsageError where there is no slide.
    """
    shown, sources = shows_progress(progress), Sources()
    found = find_slide(slide, sources, mpp=mpp, choice=Choice.of(optical_path, focal_plane, picture), shown=shown)
    session = SlideSession(found, sources)
    try:
        with open_copy_bar(shown=shown) as on_copy:
            return WholeSlideImage(session, session.get_reader(on_copy))
    except BaseException:
        session.close()
        raise
