"""The watched folder or S3 prefix, searched again and again; each version of a file is read once."""

from __future__ import annotations

import os
from pathlib import Path

from client.inputs import expand
from client.inputs.kinds import Facts
from client.inputs.listing import S3, FileEntry, Remote
from client.inputs.slide_input import Found, SlideInput, UsageError
from wsi.records.slides import Choice

#: What is remembered of files that are gone or were replaced, before all is read anew.
_MOST_STALE = 10_000


class SearchedPlace:
    def __init__(
        self, named: str, *, out: Path, remote: Remote, mpp: float | None = None, choice: Choice | None = None
    ) -> None:
        """Raises UsageError for what is no folder or prefix, and for one that results would go into."""
        self.root = named.rstrip("/") if named.startswith(S3) else os.path.abspath(named)  # noqa: PTH100  # follows no links
        if not named.startswith(S3) and not Path(named).is_dir():
            raise UsageError(f"There is no folder {named}: watch takes a folder or an s3:// prefix")
        if not named.startswith(S3) and out.resolve() == Path(named).resolve():
            raise UsageError(f"Results in {named} would be searched for slides: name another folder with --out")
        self._named = named if named.startswith(S3) else self.root
        self._out = out
        self._remote = remote
        self._mpp = mpp
        self._choice = choice
        self._facts: dict[FileEntry, Facts] = {}
        self._files = 0  #: at the last search
        self._series: dict[str, str] = {}

    def search(self) -> Found:
        """Raises UsageError or TesseraError while the place cannot be listed."""
        if len(self._facts) > self._files + _MOST_STALE:
            self._facts.clear()
        found = expand(
            [self._named],
            mpp=self._mpp,
            choice=self._choice,
            skip=self._out,
            remote=self._remote,
            known=self._facts,
            arriving=True,
        )
        self._files = found.files_of_slides + found.files_left_out
        self._series = {
            slide.location: facts.identity.series
            for slide in found.slides
            if (facts := self._facts.get(found.entries[slide.files[0]])) is not None and facts.identity is not None
        }
        return found

    def key_of(self, slide: SlideInput) -> str:
        """Return what the slide is known by for good. The location of a DICOM series changes when files of another one
        arrive in its folder, its UID never."""
        series = self._series.get(slide.location)
        return slide.location if series is None else f"dicom:{series}"
