"""Reads the first bytes of files, in parallel, and each file once."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from pathlib import Path

from tessera.local_run.inputs.kinds import (
    DICOM,
    Facts,
    classify_by_head,
    classify_by_name,
    classify_unreadable,
    is_dicom,
)
from tessera.local_run.inputs.listing import FileEntry, Remote
from tessera.local_run.inputs.slide_input import LeftOutReason
from wsi.concurrency import map_concurrently
from wsi.errors import SlideRejected, SourceError
from wsi.slide.dicom.identity import read_identity
from wsi.slide.files.recognition import HEAD
from wsi.slide.ranges import ByteRange, FileSource, RangeSource

DICOM_HEAD = 65_536  #: bytes; what identifies a file of a series is in its first 2 KB, behind private groups in 64 KB


class Looking:
    """A reader of the first bytes of files, which tell their kinds. `known` holds what earlier searches read, and
    grows."""

    def __init__(self, remote: Remote | None = None, known: MutableMapping[FileEntry, Facts] | None = None) -> None:
        self._remote = remote
        self._known: MutableMapping[FileEntry, Facts] = {} if known is None else known

    def read_facts(self, entries: Iterable[FileEntry]) -> dict[FileEntry, Facts]:
        """Return the facts of each file. This reads 4 KiB of a file, or up to 64 KiB if it has a DICOM suffix, has no
        suffix, or turns out to be DICOM. An object takes one request, or two if it is DICOM under another suffix."""
        entries = list(entries)
        unread: list[FileEntry] = []
        for entry in entries:
            if entry not in self._known:
                facts = classify_by_name(entry)
                if facts is None:
                    unread.append(entry)
                else:
                    self._known[entry] = facts
        read = dict(zip(unread, map_concurrently(self._read, unread), strict=True))
        # What cannot be read now may be readable later, with the same size and stamp.
        self._known.update((one, facts) for one, facts in read.items() if facts.reason is not LeftOutReason.UNREADABLE)
        return {entry: read[entry] if entry in read else self._known[entry] for entry in entries}

    def _read(self, entry: FileEntry) -> Facts:
        try:
            source = self._source(entry)
            try:
                return _facts(entry, source)
            finally:
                if isinstance(source, FileSource):
                    source.close()
        except SourceError:
            return classify_unreadable(entry)

    def _source(self, entry: FileEntry) -> RangeSource:
        if not entry.is_remote:
            return FileSource(Path(entry.location))
        assert self._remote is not None
        return self._remote.open_source(entry)


def _facts(entry: FileEntry, source: RangeSource) -> Facts:
    may_be_dicom = entry.suffix in DICOM or not entry.suffix
    head = source.read(ByteRange(0, min(DICOM_HEAD if may_be_dicom else HEAD, source.size)))
    if not is_dicom(head):
        return classify_by_head(entry, head)
    try:
        return classify_by_head(entry, head, read_identity(source, head))
    except SlideRejected:  # its reader says what is wrong with it
        return classify_by_head(entry, head)
