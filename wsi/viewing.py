"""Slides opened for a viewer: what it may ask for, and the JPEG of each tile. Needs numpy and codecs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import simplejpeg  # pyright: ignore[reportMissingTypeStubs]

from wsi.deep_zoom import VERSION, ViewLevel, needs_overview, of_file, with_overview
from wsi.errors import Conflict, NotFound, SourceChanged, SourceMissing
from wsi.ledger_rules import archive_sentence
from wsi.numerics import PARSER_VERSION
from wsi.ports.objects import Objects, SlideStore
from wsi.records.slides import Choice, Inspection, Slide
from wsi.slide import jpeg
from wsi.slide.coding import REDUCTIONS, Reduction
from wsi.slide.opening import open_slide
from wsi.slide.reducing import reduced
from wsi.slide.slide import RGB, SlideReader
from wsi.slide.source import SlideSource
from wsi.states import SlideState
from wsi.stored_examination import stored_index
from wsi.view_tiles import ViewTile, tile_of_file, tile_of_picture

THUMBNAIL_SIDE: Final = 512  #: px
_THUMBNAIL_QUALITY: Final = 80

ONLY_OVERVIEW: Final = (
    "Only an overview of this slide can be shown: its format is read from a copy of the whole file, which takes longer "
    "than a viewer can wait. Analyses read it in full."
)
NOT_FINEST: Final = (
    "The finest level of this slide can not be shown: its tiles are too large to be cut for a viewer. Analyses read it "
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
        """For people, where less is shown than the file holds."""
        if self.reader is None:
            return ONLY_OVERVIEW
        return None if self.levels[-1].level == 0 else NOT_FINEST


def view_etag(slide: Slide) -> str:
    """32 hex digits, of the slide's files and of the rules by which tiles are made."""
    files = [(file.uri, file.etag, file.size) for file in slide.files]
    said = json.dumps([VERSION, PARSER_VERSION, files, slide.choice and slide.choice.as_json()])
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def check_viewable(slide: Slide) -> None:
    """Raises NotFound for one that was deleted, Conflict for one that is not READY."""
    _not_deleted(slide)
    if slide.state is SlideState.REJECTED:
        raise Conflict(f"The slide can not be shown: {slide.sentence}")
    if sentence := archive_sentence(slide):
        raise Conflict(sentence)
    if slide.state is not SlideState.READY:
        raise Conflict(f"The slide is {slide.state.value}; it can be looked at once it is READY.")


def open_view(slide: Slide, *, slides: SlideStore, objects: Objects) -> View:
    """From what inspection kept: of the slide itself the head of each file is asked for and no byte. Raises what
    `check_viewable` does, SourceError, SlideRejected."""
    check_viewable(slide)
    assert slide.inspection is not None, "a slide that is READY was inspected"
    inspection = Inspection.from_json(slide.inspection)
    reader = _reader(slide, slides, objects) if inspection.reading_path == "native" else None
    found = of_file(reader.inspection.levels) if reader is not None else ()
    overview: RGB | None = None
    if needs_overview(found):
        overview = jpeg.decode(_overview(slide, objects))
        height, width = overview.shape[:2]
        found = with_overview(found, slide=(inspection.width, inspection.height), overview=(width, height))
    return View(
        etag=view_etag(slide),
        inspection=inspection,
        choice=slide.choice,
        levels=tuple(reversed(found)),
        reader=reader,
        overview=overview,
    )


def told_anew(view: View, slide: Slide) -> View:
    """Return the view of the same tiles with what the slide's latest inspection found: another scale, say."""
    assert slide.inspection is not None, "a slide that is READY was inspected"
    inspection = Inspection.from_json(slide.inspection)
    return view if inspection == view.inspection else replace(view, inspection=inspection)


def view_tile(view: View, level: int, column: int, row: int) -> ViewTile:
    """Raises NotFound for a tile that there is none of, SourceError."""
    box = view.levels[level].box(column, row) if 0 <= level < len(view.levels) else None
    if box is None:
        raise NotFound("The slide has no such tile; see its pyramid for levels, columns and rows.")
    shown = view.levels[level]
    if shown.level is not None and view.reader is not None:
        return tile_of_file(view.reader, shown.level, box, shown.reduction)
    assert view.overview is not None, "levels that are of no file are of the overview"
    return tile_of_picture(view.overview, box, shown.reduction)


def thumbnail_jpeg(slide: Slide, objects: Objects) -> bytes:
    """At most `THUMBNAIL_SIDE` px, of the overview that inspection kept. Raises NotFound where there is none, and for a
    slide that was deleted."""
    overview = _overview(slide, objects)
    pixels = jpeg.decode(overview)
    fitting: list[Reduction] = [each for each in REDUCTIONS if max(pixels.shape) <= each * THUMBNAIL_SIDE]
    pixels = reduced(pixels, fitting[0] if fitting else REDUCTIONS[-1])
    return simplejpeg.encode_jpeg(pixels, quality=_THUMBNAIL_QUALITY, colorspace="RGB", colorsubsampling="420")


def _reader(slide: Slide, slides: SlideStore, objects: Objects) -> SlideReader:
    source = SlideSource(files=tuple((file.name, slides.open(file.uri, etag=file.etag)) for file in slide.files))
    opened = partial(open_slide, source, mpp=slide.mpp, choice=slide.choice, max_scratch_bytes=0)
    try:
        return opened(index=stored_index(objects, slide))
    except SourceChanged:  # the index is of other files than the slide's, of which nothing was asked yet
        return opened()


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
