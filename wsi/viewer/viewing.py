"""Slides opened for a viewer: the levels that it may request, and the JPEG of each tile. Needs numpy and codecs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import simplejpeg  # pyright: ignore[reportMissingTypeStubs]

from wsi.errors import Conflict, NotFound, SourceMissing
from wsi.inspection.stored_examination import open_indexed, open_slide_source
from wsi.ledger_rules import describe_archive
from wsi.numerics import PARSER_VERSION
from wsi.ports.objects import Objects, SlideStore
from wsi.records.slides import Choice, Inspection, Slide
from wsi.slide.codecs import jpeg
from wsi.slide.coding import REDUCTIONS, Reduction
from wsi.slide.files.scratch import NO_COPIES
from wsi.slide.opening import open_slide
from wsi.slide.reducing import reduce_pixels
from wsi.slide.slide import RGB, SlideReader
from wsi.states import SlideState
from wsi.viewer.deep_zoom import VERSION, ViewLevel, build_levels, needs_overview, with_overview
from wsi.viewer.view_tiles import ViewTile, make_file_tile, make_overview_tile

THUMBNAIL_SIDE: Final = 512  #: px
_THUMBNAIL_QUALITY: Final = 80

ONLY_OVERVIEW: Final = (
    "Only an overview of this slide can be shown: its format is read from a copy of the whole file, which takes longer "
    "than a viewer can wait. Analyses read it in full."
)
NOT_FINEST: Final = (
    "The finest level of this slide cannot be shown: its tiles are too large to be cut for a viewer. Analyses read it "
    "in full."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A slide that is open for a viewer. Safe to use from several threads."""

    etag: str  #: of all that decides its tiles
    inspection: Inspection
    choice: Choice | None  #: whose pixels these are, of several images
    levels: tuple[ViewLevel, ...]  #: coarsest first
    reader: SlideReader | None  #: None where the overview is all there is
    overview: RGB | None  #: where levels are made of it

    @property
    def note(self) -> str | None:
        """A message for people if less is shown than the file holds, else None."""
        if self.reader is None:
            return ONLY_OVERVIEW
        return None if self.levels[-1].level == 0 else NOT_FINEST


def compute_view_etag(slide: Slide) -> str:
    """Return 32 hex digits of a digest of the slide's files and the rules by which tiles are made."""
    files = [(file.uri, file.etag, file.size) for file in slide.files]
    said = json.dumps([VERSION, PARSER_VERSION, files, slide.choice and slide.choice.as_json()])
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def check_viewable(slide: Slide) -> None:
    """Raise NotFound for a deleted slide, Conflict for one that is not READY."""
    _not_deleted(slide)
    if slide.state is SlideState.REJECTED:
        raise Conflict(f"The slide cannot be shown: {slide.sentence}")
    if sentence := describe_archive(slide):
        raise Conflict(sentence)
    if slide.state is not SlideState.READY:
        raise Conflict(f"The slide is {slide.state.value}; it can be looked at once it is READY.")


def check_sources(slide: Slide, slides: SlideStore) -> None:
    """Raise SourceOutside if a file of the slide lies where its tenant may not read."""
    for file in slide.files:
        slides.check_readable(file.uri, tenant=slide.tenant)


def open_view(slide: Slide, *, slides: SlideStore, objects: Objects) -> View:
    """Open the slide from what inspection stored: only the head of each of its files is requested, and no byte. Raises
    what `check_viewable` does, SourceError, SlideRejected."""
    check_viewable(slide)
    assert slide.inspection is not None, "a slide that is READY was inspected"
    inspection = Inspection.from_json(slide.inspection)
    reader = _reader(slide, slides, objects) if inspection.reading_path == "native" else None
    found = build_levels(reader.inspection.levels) if reader is not None else ()
    overview: RGB | None = None
    if needs_overview(found):
        overview = jpeg.decode(_overview(slide, objects))
        height, width = overview.shape[:2]
        found = with_overview(found, slide=(inspection.width, inspection.height), overview=(width, height))
    return View(
        etag=compute_view_etag(slide),
        inspection=inspection,
        choice=slide.choice,
        levels=tuple(reversed(found)),
        reader=reader,
        overview=overview,
    )


def update_view(view: View, slide: Slide) -> View:
    """Return the view of the same tiles with what the slide's latest inspection found, such as another scale."""
    assert slide.inspection is not None, "a slide that is READY was inspected"
    inspection = Inspection.from_json(slide.inspection)
    return view if inspection == view.inspection else replace(view, inspection=inspection)


def view_tile(view: View, level: int, column: int, row: int) -> ViewTile:
    """Return the tile. Raises NotFound for a tile that does not exist, SourceError."""
    box = view.levels[level].find_box(column, row) if 0 <= level < len(view.levels) else None
    if box is None:
        raise NotFound("The slide has no such tile; see its pyramid for levels, columns and rows.")
    shown = view.levels[level]
    if shown.level is not None and view.reader is not None:
        return make_file_tile(view.reader, shown.level, box, shown.reduction)
    assert view.overview is not None, "levels that are of no file are of the overview"
    return make_overview_tile(view.overview, box, shown.reduction)


def make_thumbnail_jpeg(slide: Slide, *, slides: SlideStore, objects: Objects) -> bytes:
    """Return a JPEG of at most `THUMBNAIL_SIDE` px, made from the overview that inspection stored. Raises NotFound if
    there is none, and for a deleted slide; SourceOutside, since the picture is the tenant's as long as the slide is."""
    check_sources(slide, slides)
    overview = _overview(slide, objects)
    pixels = jpeg.decode(overview)
    fitting: list[Reduction] = [each for each in REDUCTIONS if max(pixels.shape) <= each * THUMBNAIL_SIDE]
    pixels = reduce_pixels(pixels, fitting[0] if fitting else REDUCTIONS[-1])
    return simplejpeg.encode_jpeg(pixels, quality=_THUMBNAIL_QUALITY, colorspace="RGB", colorsubsampling="420")


def _reader(slide: Slide, slides: SlideStore, objects: Objects) -> SlideReader:
    source = open_slide_source(slide, slides)
    opened = partial(open_slide, source, mpp=slide.mpp, choice=slide.choice, scratch=NO_COPIES)
    return open_indexed(objects, slide, opened)


def _overview(slide: Slide, objects: Objects) -> bytes:
    _not_deleted(slide)
    if slide.thumbnail_key is None:
        raise NotFound("The slide has no picture: inspection has not kept one.")
    try:
        return objects.get(slide.thumbnail_key)
    except SourceMissing as error:
        raise NotFound("The picture that inspection kept of the slide is gone; upload the slide again.") from error


def _not_deleted(slide: Slide) -> None:
    if slide.state is SlideState.DELETED:
        raise NotFound("There is no such slide.")
