"""Expands what the user names into a list of slides: files, folders, DICOM series, s3:// URLs and prefixes, a manifest.

First every file is listed (`folders`, `prefixes`), then inspected (`looking`), then grouped (`grouping`): no file is
passed over, and what is no slide is returned with its reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tessera.local_run.inputs.duplicates import drop_copies, drop_same_files, is_part
from tessera.local_run.inputs.folders import Walk, is_folder, list_folder, read_entry
from tessera.local_run.inputs.grouping import Group, collect_mirax_parts, derive_data_folder, group
from tessera.local_run.inputs.kinds import CLAIMING, DICOM, MIRAX, Facts, FileKind
from tessera.local_run.inputs.listing import S3, FileEntry, Remote
from tessera.local_run.inputs.local_paths import resolve_path, strip_slash, with_slashes
from tessera.local_run.inputs.looking import Looking
from tessera.local_run.inputs.manifest import read_manifest
from tessera.local_run.inputs.naming import assign_names as with_names
from tessera.local_run.inputs.near_names import find_near_path, find_same_path, list_normal_forms
from tessera.local_run.inputs.prefixes import select_objects
from tessera.local_run.inputs.slide_input import (
    Found,
    LeftOut,
    LeftOutReason,
    SlideInput,
    UsageError,
    collect_locations,
    describe_names,
)
from wsi.records.slides import Choice


def expand(
    paths: Sequence[str],
    manifest: Path | None = None,
    *,
    mpp: float | None = None,
    choice: Choice | None = None,
    skip: Path | None = None,
    remote: Remote | None = None,
    known: MutableMapping[FileEntry, Facts] | None = None,
    arriving: bool = False,
) -> Found:
    """Return the slides that `paths` and `manifest` name, each once, with distinct names, in the order given, and every
    other file of the folders and prefixes among them with the reason why it is left out.

    `mpp` and `choice` hold for every slide whose manifest row states none. `skip` is a folder that is not searched (the
    output). Without `remote` s3:// is refused. `known` holds what files are, by their sizes and stamps, and grows: a
    caller that searches a place again and again keeps it, so that each file is read once. With `arriving`, files are
    still being written: a folder need not hold a slide yet, and slides are not compared to find equal copies.
    Raises UsageError for a path of the command line that does not exist, a folder without slides, a bad manifest.
    """
    rows = [(SlideInput(location=path, mpp=mpp, choice=choice), True) for path in paths]
    if manifest is not None:
        stated = (replace(row, mpp=row.mpp or mpp, choice=row.choice or choice) for row in read_manifest(manifest))
        rows += [(row, False) for row in stated]
    if not rows:
        raise UsageError("Name at least one slide, or a --manifest.")
    looking = Looking(remote, known)
    searches: dict[SlideInput, _Search] = {}  # by what is stated
    for number, (row, must_exist) in enumerate(rows):
        stated = replace(row, location="")
        search = searches.setdefault(stated, _Search(looking, remote, skip, arriving=arriving))
        search.add(row.location, number, must_exist=must_exist)
    found = [search.find_slides(stated) for stated, search in searches.items()]
    slides = [slide for _, slide in sorted((pair for one in found for pair in one.slides), key=lambda pair: pair[0])]
    of_slides = collect_locations(slides)
    left_out = {
        one.location: one for each in found for one in each.left_out if not (one.files and one.location in of_slides)
    }
    return Found(
        slides=with_names(slides),
        left_out=tuple(left_out.values()),
        entries={file: entry for one in found for file, entry in one.entries.items()},
        notes=tuple(note for search in searches.values() for note in search.notes),
    )


@dataclass(frozen=True, slots=True)
class _SearchResult:
    """The result of one search."""

    slides: list[tuple[tuple[int, int], SlideInput]]  #: with their places in the order given
    left_out: list[LeftOut]
    entries: dict[str, FileEntry]


class _Search:
    """A search of the paths for whose slides the same is stated."""

    def __init__(self, looking: Looking, remote: Remote | None, skip: Path | None, *, arriving: bool) -> None:
        self._looking = looking
        self._remote = remote
        self._walk = Walk(skip)
        self._arriving = arriving
        self._rows: dict[int, str] = {}  #: folders and prefixes, which must hold a slide
        self._asked: dict[str, tuple[int, int]] = {}  #: location -> its place in the order given
        self._entries: dict[str, FileEntry] = {}
        self._named: set[str] = set()
        self._left_out: list[LeftOut] = []
        self.notes: list[str] = []

    def add(self, path: str, row: int, *, must_exist: bool) -> None:
        """List the files that `path` names. Raises UsageError."""
        if path.startswith(S3):
            self._add_remote(path, row)
            return
        path = with_slashes(path)
        if not os.path.lexists(path):
            path = self._find_elsewhere(path, must_exist=must_exist)
        if is_folder(path):
            self._ask(self._walk.list_files(strip_slash(path)), row)
            if not self._walk.met_again:
                self._rows[row] = path
        else:
            self._name(read_entry(path, is_linked=os.path.islink(path)), row)  # noqa: PTH114

    def _find_elsewhere(self, path: str, *, must_exist: bool) -> str:
        same = find_same_path(path)
        if same is not None:
            self.notes.append(f"There is no {path}: {same} is read, whose name means the same")
            return same
        if must_exist:
            near = find_near_path(path)
            raise UsageError(f"There is no file or folder {path}" + (f"; did you mean {near}?" if near else ""))
        return path  # a manifest row whose file is missing is rejected alone, so that it does not stop the rest

    def _add_remote(self, url: str, row: int) -> None:
        if self._remote is None:
            raise UsageError("A slide on S3 is registered with POST /slides, not uploaded again")
        suffix = FileEntry(location=url, size=0, stamp="", real=url).suffix
        if suffix in CLAIMING or suffix == MIRAX:
            self._name(FileEntry(location=url, size=0, stamp="", real=url), row)
            return
        for spelling in (url, *list_normal_forms(url)):
            objects = self._remote.list_entries(spelling)
            exact = [entry for entry in objects if entry.location == spelling]
            if exact:
                self._name(exact[0], row)
                break
            if objects:
                found, left_out = select_objects(objects, spelling)
                self._rows[row] = spelling
                self._ask(found, row)
                self._left_out += left_out
                break
        else:
            if self._arriving:
                return
            raise UsageError(f"No slide lies in {url}")
        if spelling != url:
            self.notes.append(f"There is no {url}: {spelling} is read, whose name means the same")

    def _ask(self, entries: Iterable[FileEntry], row: int) -> None:
        for entry in entries:
            self._asked.setdefault(entry.location, (row, len(self._asked)))
            self._entries.setdefault(entry.location, entry)

    def _name(self, entry: FileEntry, row: int) -> None:
        if entry.location in self._named:
            sentence = "The file is named twice."
            self._left_out.append(
                LeftOut(location=entry.location, reason=LeftOutReason.DUPLICATE, sentence=sentence, files=0)
            )
        self._named.add(entry.location)
        self._ask([entry], row)

    def find_slides(self, stated: SlideInput) -> _SearchResult:
        """Return the slides, and the files that are left out. Raises UsageError for a folder without any slide."""
        entries, left_out = drop_same_files(self._entries.values(), self._named)
        groups, others = self._group_entries(entries)
        asked = [one for one in groups if any(entry.location in self._asked for entry in one.entries)]
        kept, equal = (asked, list[LeftOut]()) if self._arriving else drop_copies(asked, self._named)
        left_out += [*self._left_out, *self._walk.left_out, *others, *equal]
        if not self._arriving:
            self._check_rows(asked, left_out)
        slides = [(self._order(one), _slide(one, stated)) for one in kept]
        return _SearchResult(slides, left_out, {entry.location: entry for one in kept for entry in one.entries})

    def _group_entries(self, entries: Sequence[FileEntry]) -> tuple[list[Group], list[LeftOut]]:
        named = [entry for entry in entries if entry.location in self._named]
        alone = [entry for entry in entries if entry.location in self._named or self._leads_away(entry)]
        facts = self._looking.read_facts([entry for entry in alone if entry.suffix != MIRAX])
        homes = dict.fromkeys(home for entry in alone for home in _homes(entry, facts.get(entry)))
        siblings = [sibling for home in homes for sibling in self._files_of(home)]
        every, _ = drop_same_files([*entries, *siblings], self._asked)
        parts = collect_mirax_parts(every)
        claimed = parts.collect_files()
        looked = self._looking.read_facts([entry for entry in every if entry not in claimed])
        for entry in named:  # whatever it is: its reader says why it is not read
            if entry in looked and looked[entry].kind is FileKind.LEFT_OUT:
                looked[entry] = Facts(kind=FileKind.DICOM if entry.suffix in DICOM else FileKind.WHOLE)
        groups, left_out = group(looked, parts, self._named, self._asked, is_part=is_part)
        return groups, [one for one in left_out if one.location in self._asked]

    def _leads_away(self, entry: FileEntry) -> bool:
        """Return whether a link leads to a folder that was not searched."""
        return entry.is_linked and not self._walk.has_searched(os.path.dirname(entry.real))  # noqa: PTH120

    def _files_of(self, folder: str) -> Sequence[FileEntry]:
        if folder.startswith(S3):
            assert self._remote is not None
            return self._remote.list_entries(f"{folder}/", below=False)
        try:
            return list_folder(strip_slash(folder), resolve_path(strip_slash(folder))).files
        except OSError:  # it is not there, or may not be read: what is missing is for the slide's reader to say
            return ()

    def _check_rows(self, groups: Iterable[Group], left_out: Sequence[LeftOut]) -> None:
        used = {
            self._asked[entry.location][0] for one in groups for entry in one.entries if entry.location in self._asked
        }
        for row, path in self._rows.items():
            its = [one for one in left_out if self._asked.get(one.location, (row,))[0] == row]
            if row in used or any(one.reason is LeftOutReason.DUPLICATE for one in its):
                continue
            why = describe_names([f"{one.location} ({one.reason.value})" for one in its])
            raise UsageError(f"No slide lies in {path}" + (f"; left out: {why}" if why else ""))

    def _order(self, one: Group) -> tuple[int, int]:
        return min(self._asked[entry.location] for entry in one.entries if entry.location in self._asked)


def _homes(entry: FileEntry, facts: Facts | None) -> tuple[str, ...]:
    """Return the folders that hold the other files of the slide: next to the file, and next to the one that it links
    to."""
    if entry.suffix == MIRAX:
        return derive_data_folder(entry.location), derive_data_folder(entry.real)
    if facts is not None and facts.kind in (FileKind.HAMAMATSU, FileKind.DICOM):
        return entry.folder, entry.real.rpartition("/")[0] or "/"
    return ()


def _slide(one: Group, stated: SlideInput) -> SlideInput:
    first, *others = one.entries
    # OpenSlide looks for the other files next to the one that it opens, not next to a link to it.
    beside = all(_is_in(first.folder, other.folder) for other in others)
    opened = first.location if beside else first.real
    return replace(stated, location=one.place, files=(opened, *(other.location for other in others)))


def _is_in(folder: str, other: str) -> bool:
    """Return whether a folder is in another one or is that one; "." is that of a bare name."""
    return other.startswith(folder) or (folder == "." and not Path(other).is_absolute() and not other.startswith(".."))
