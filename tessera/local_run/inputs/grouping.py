"""Groups files into slides by the facts known of each.

- A MIRAX slide is its .mrxs and the files of the folder of the same name.
- A Hamamatsu VMS or VMU slide is the list and the files that it names.
- A DICOM slide is all files of one SeriesInstanceUID, whatever their names and in whichever of the searched folders
  they are: UIDs are unique in the world (PS3.5, chapter 9). Of files with one SOPInstanceUID copies, whole or cut
  short, are left out. Where they differ all stay, and the slide's reader refuses to choose.
- Any other file is a slide of its own, or left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tessera.local_run.inputs.kinds import HAMAMATSU, MIRAX, RESULT_NAMES, Facts, FileKind, is_system
from tessera.local_run.inputs.listing import FileEntry, find_common_folder
from tessera.local_run.inputs.slide_input import LeftOut, LeftOutReason

_NO_LEVEL = frozenset({"LABEL", "OVERVIEW", "THUMBNAIL"})  #: third value of ImageType (PS3.3, C.8.12.4.1.1)
_SLIDEDAT = "slidedat.ini"
_HAMAMATSU_PARTS = frozenset({".jpg", ".jpeg", ".opt", ".ngr"})

_NO_COVER = "The file belongs to a MIRAX slide whose .mrxs file is missing: put both into one folder."
_NO_VOLUME = "The DICOM series holds a label or an overview, and no level of a slide."


IsPart = Callable[[FileEntry, FileEntry], bool]


@dataclass(frozen=True, slots=True)
class Group:
    """One slide."""

    place: str  #: what it is known by: a file, or the folder of a series
    entries: tuple[FileEntry, ...]  #: the opened one first


@dataclass(frozen=True, slots=True)
class MiraxParts:
    """Files that belong to MIRAX slides by their place alone, so that none of them need be read."""

    of: Mapping[FileEntry, tuple[FileEntry, ...]]  #: by the .mrxs
    orphans: tuple[FileEntry, ...]

    def collect_files(self) -> frozenset[FileEntry]:
        return frozenset(self.orphans).union(*self.of.values())


def collect_mirax_parts(entries: Iterable[FileEntry]) -> MiraxParts:
    """Return the data of each .mrxs, from the folder next to it or, of a link, next to its target; and the data whose
    .mrxs is missing."""
    by_folder: dict[str, list[FileEntry]] = defaultdict(list)
    covers: list[FileEntry] = []
    for entry in entries:
        if entry.suffix == MIRAX:
            covers.append(entry)
        elif not is_system(entry.name) and entry.name not in RESULT_NAMES:
            by_folder[entry.folder].append(entry)
    of: dict[FileEntry, tuple[FileEntry, ...]] = {}
    for cover in covers:
        data = by_folder.pop(derive_data_folder(cover.location), None) or by_folder.pop(
            derive_data_folder(cover.real), []
        )
        of[cover] = tuple(sorted(data, key=_by_location))
    lists = [folder for folder, data in by_folder.items() if any(one.name.lower() == _SLIDEDAT for one in data)]
    return MiraxParts(of, tuple(entry for folder in lists for entry in by_folder[folder]))


def derive_data_folder(cover: str) -> str:
    """Return the folder of a MIRAX slide's data."""
    return cover[: -len(MIRAX)]


def group(
    looked: Mapping[FileEntry, Facts],
    parts: MiraxParts,
    named: Collection[str] = (),
    asked: Collection[str] | None = None,
    *,
    is_part: IsPart,
) -> tuple[list[Group], list[LeftOut]]:
    """Return the slides and what is left out, both sorted by location. `looked` holds every file that `parts` does not
    claim. Files of the locations `named` were named one by one: their slide is known by that name. Of the others only
    those in `asked` (default: all) lie where the user pointed; a slide is known by these. `is_part` tells of
    two files with one SOPInstanceUID whether the first is a copy of the second, whole or cut short."""
    kinds: dict[FileKind, list[FileEntry]] = defaultdict(list)
    for entry in sorted(looked, key=_by_location):
        kinds[looked[entry].kind].append(entry)
    groups = [Group(cover.location, (cover, *parts.of.get(cover, ()))) for cover in kinds[FileKind.MIRAX]]
    hamamatsu = [_hamamatsu(entry, looked) for entry in kinds[FileKind.HAMAMATSU]]
    claimed = {entry for one in hamamatsu for entry in one.entries}
    groups += hamamatsu
    groups += [Group(entry.location, (entry,)) for entry in kinds[FileKind.WHOLE] if entry not in claimed]
    series, left_out = _series({entry: looked[entry] for entry in kinds[FileKind.DICOM]}, named, is_part)
    groups += _place_series(series, groups, named, {entry.location for entry in looked} if asked is None else asked)
    left_out += [
        LeftOut(location=entry.location, reason=LeftOutReason.MISSING_FILES, sentence=_NO_COVER)
        for entry in parts.orphans
    ]
    for entry in kinds[FileKind.LEFT_OUT]:
        facts = looked[entry]
        if entry not in claimed and facts.reason is not None:
            left_out.append(LeftOut(location=entry.location, reason=facts.reason, sentence=facts.sentence))
    return sorted(groups, key=lambda one: one.place), sorted(left_out, key=lambda one: one.location)


def _hamamatsu(entry: FileEntry, looked: Mapping[FileEntry, Facts]) -> Group:
    """Return the slide of a list. A part's name that the list does not spell as the disk does still begins with the
    list's own name."""
    stem, listed = entry.name[: -len(entry.suffix)], looked[entry].parts
    homes = (entry.folder, entry.real.rpartition("/")[0])

    def belongs(other: FileEntry) -> bool:
        if other.folder not in homes or other.suffix in HAMAMATSU:
            return False
        if other.name in listed:
            return True
        rest = other.name.removeprefix(stem)
        return other.suffix in _HAMAMATSU_PARTS and rest != other.name and not rest[:1].isalnum()

    return Group(entry.location, (entry, *sorted(filter(belongs, looked), key=_by_location)))


def _series(
    looked: Mapping[FileEntry, Facts], named: Collection[str], is_part: IsPart
) -> tuple[list[list[FileEntry]], list[LeftOut]]:
    """Return the files of each slide. A .dcm file whose header is damaged belongs to the one series of its folder, so
    that the slide is rejected for it and not analysed without."""
    series: dict[str, list[FileEntry]] = defaultdict(list)
    folders: dict[str, set[str]] = defaultdict(set)
    damaged: list[FileEntry] = []
    for entry, facts in looked.items():
        if facts.identity is None or not facts.identity.series:
            damaged.append(entry)
        else:
            series[facts.identity.series].append(entry)
            folders[entry.folder].add(facts.identity.series)
    for entry in damaged:
        only = folders[entry.folder]
        series[next(iter(only)) if len(only) == 1 else f"{entry.folder}/"].append(entry)
    found: list[list[FileEntry]] = []
    left_out: list[LeftOut] = []
    for entries in series.values():
        kept, copies = _each_instance_once(entries, looked, is_part)
        left_out += copies
        identities = [looked[entry].identity for entry in kept]
        is_slide = any(one is None or one.kind not in _NO_LEVEL for one in identities)
        if is_slide or any(entry.location in named for entry in kept):
            found.append(kept)
        else:
            left_out += [
                LeftOut(location=entry.location, reason=LeftOutReason.LABEL_OR_OVERVIEW, sentence=_NO_VOLUME)
                for entry in kept
            ]
    return found, left_out


def _each_instance_once(
    entries: Sequence[FileEntry], looked: Mapping[FileEntry, Facts], is_part: IsPart
) -> tuple[list[FileEntry], list[LeftOut]]:
    kept: dict[str, list[FileEntry]] = defaultdict(list)
    left_out: list[LeftOut] = []
    for entry in sorted(entries, key=lambda one: (-one.size, one.is_linked, one.location)):
        identity = looked[entry].identity
        known = kept[identity.instance if identity and identity.instance else entry.location]
        first = next((one for one in known if is_part(entry, one)), None)
        if first is None:
            known.append(entry)
        else:
            left_out.append(make_duplicate(entry.location, first.location, "holds the same DICOM instance as"))
    return sorted((entry for known in kept.values() for entry in known), key=_by_location), left_out


def make_duplicate(location: str, first: str, how: str) -> LeftOut:
    return LeftOut(location=location, reason=LeftOutReason.DUPLICATE, sentence=f"The file {how} {first}.")


def _place_series(
    series: Sequence[Sequence[FileEntry]], others: Sequence[Group], named: Collection[str], asked: Collection[str]
) -> list[Group]:
    """Return the slides of the series. A series is known by its folder, as its files are named by numbers or UIDs; by
    its first file where the folder holds another slide as well, and by the file that was named where it was one."""
    known_by = [[one for one in entries if one.location in asked] or entries for entries in series]
    folders = [find_common_folder([entry.folder for entry in entries]) for entries in known_by]
    taken = [*folders, *(one.entries[0].folder for one in others)]
    groups: list[Group] = []
    for entries, asked_for, folder in zip(series, known_by, folders, strict=True):
        own = [entry.location for entry in asked_for if entry.location in named]
        if len(own) == 1:
            place = own[0]
        else:
            place = folder if taken.count(folder) == 1 else asked_for[0].location
        groups.append(Group(place, tuple(entries)))
    return groups


def _by_location(entry: FileEntry) -> str:
    return entry.location
