"""Names of folders of results, given to slides as they arrive. A slide keeps its name for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import PurePosixPath

from tessera.local_run.inputs.local_paths import make_folder_name


class Names:
    """The names of slides. Case is ignored, as some file systems do."""

    def __init__(self, given: Mapping[str, str]) -> None:
        """Take the names that were `given` before, by the slide's key."""
        self._given = dict(given)
        self._taken = {name.casefold() for name in given.values()}

    def get(self, key: str) -> str | None:
        return self._given.get(key)

    def choose(self, key: str, place: PurePosixPath, stem: str) -> str:
        """Return the name that the slide has, or the shortest that no other slide has: `stem`, the file's name, that
        with its folder's, or one with a number."""
        if key not in self._given:
            name = next(
                name for name in map(make_folder_name, _offers(place, stem)) if name.casefold() not in self._taken
            )
            self._given[key] = name
            self._taken.add(name.casefold())
        return self._given[key]


def _offers(place: PurePosixPath, stem: str) -> Iterator[str]:
    yield from (stem, place.name, f"{place.parent.name}_{place.name}")
    yield from (f"{stem}-{number}" for number in count(2))
