"""The watched folder or S3 prefix, searched again and again; each version of a file is read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tessera.local_run.inputs import expand
from tessera.local_run.inputs.folders import read_entry
from tessera.local_run.inputs.kinds import Facts
from tessera.local_run.inputs.listing import S3, FileEntry, Remote
from tessera.local_run.inputs.local_paths import with_slashes
from tessera.local_run.inputs.slide_input import Found, SlideInput, UsageError
from wsi.records.slides import Choice

#: Facts that are kept of files which are gone or were replaced, before all files are read again.
_MOST_STALE = 10_000


class SearchedPlace:
    def __init__(
        self, named: str, *, out: Path, remote: Remote, mpp: float | None = None, choice: Choice | None = None
    ) -> None:
        """Take the place that the user `named`. Raises UsageError for what is no folder or prefix, and for one that
        results would go into."""
        self.root = named.rstrip("/") if named.startswith(S3) else with_slashes(os.path.abspath(named))  # noqa: PTH100  # follows no links
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
        self._entries: Mapping[str, FileEntry] = {}  #: of the last search
        self._files = 0  #: at the last search
        self._series: dict[str, str] = {}

    def search(self) -> Found:
        """Search the place. Raises UsageError or TesseraError while it cannot be listed."""
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
        self._entries = found.entries
        self._files = found.files_of_slides + found.files_left_out
        self._series = {
            slide.location: facts.identity.series
            for slide in found.slides
            if (facts := self._facts.get(found.entries[slide.files[0]])) is not None and facts.identity is not None
        }
        return found

    def get_key(self, slide: SlideInput) -> str:
        """Return the key by which the slide is known for good. The location of a DICOM series changes when files of
        another one arrive in its folder, its UID never."""
        series = self._series.get(slide.location)
        return slide.location if series is None else f"dicom:{series}"

    def is_as_found(self, slide: SlideInput) -> bool:
        """Return whether the slide's files are as the last search found them. Those in S3 count as such: a request for
        each would cost more than a second analysis, and nobody reads half an object."""
        return slide.is_remote or all(_is_unchanged(self._entries[file]) for file in slide.files)


def _is_unchanged(before: FileEntry) -> bool:
    now = read_entry(before.location)
    return (now.size, now.stamp) == (before.size, before.stamp)
