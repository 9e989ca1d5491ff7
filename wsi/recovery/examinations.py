"""Stored inspections under new ETags. An index and a tissue mask name the versions of the files that they are of: a
slide whose files were copied unchanged keeps its inspection, and a plan still reads no byte of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wsi import keys
from wsi.errors import SourceMissing
from wsi.inspection.stored_mask import rename_versions
from wsi.ports.objects import Objects
from wsi.records.slides import Slide
from wsi.recovery.verifying import Finding, ObjectProblem
from wsi.slide.index import SlideIndex


def move_examination(objects: Objects, slide: Slide, etags: Sequence[str | None]) -> list[Finding]:
    """Write the new `etags` of the slide's files into what its last inspection stored. Return what of it is missing.
    Idempotent: what is of other versions than the slide's, old or new, stays as it is."""
    folder = keys.find_inspection_folder(slide.thumbnail_key)
    if folder is None:
        return []
    found = {key: _find(objects, key) for key in (keys.of_slide_index(folder), keys.of_tissue_mask(folder))}
    index, mask = found.values()
    renames = [{file.etag: etag, etag: etag} for file, etag in zip(slide.files, etags, strict=True)]
    if index is not None and (moved := _rename_index(index, renames)) not in (None, index):
        objects.put(keys.of_slide_index(folder), moved)
    if mask is not None and (moved := rename_versions(mask, renames)) not in (None, mask):
        objects.put(keys.of_tissue_mask(folder), moved, media_type="application/json")
    # A slide that OpenSlide reads has no index.
    lost = [keys.of_tissue_mask(folder)] if mask is None else []
    if slide.thumbnail_key is not None and _find(objects, slide.thumbnail_key) is None:
        lost.append(slide.thumbnail_key)
    return [Finding("inspection", str(slide.id), key.rpartition("/")[2], ObjectProblem.MISSING) for key in lost]


def _rename_index(data: bytes, renames: Sequence[dict[str | None, str | None]]) -> bytes | None:
    """Return the index with new ETags; None for one of other files or of another version of this code."""
    index = SlideIndex.from_bytes(data)
    if index is None or len(index.files) > len(renames):
        return None
    files = [replace(file, etag=renames[n].get(file.etag) or "") for n, file in enumerate(index.files)]
    return replace(index, files=tuple(files)).to_bytes() if all(file.etag for file in files) else None


def _find(objects: Objects, key: str) -> bytes | None:
    try:
        return objects.get(key)
    except SourceMissing:
        return None
