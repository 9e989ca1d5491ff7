"""Lists an s3:// prefix, without the folders that are not searched on a disk either."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tessera.local_run.inputs.folders import HIDDEN, OWN, ZARR, ZARRS
from tessera.local_run.inputs.kinds import is_system_folder
from tessera.local_run.inputs.listing import FileEntry
from tessera.local_run.inputs.slide_input import LeftOut, LeftOutReason


def select_objects(objects: Sequence[FileEntry], prefix: str) -> tuple[list[FileEntry], list[LeftOut]]:
    """Return the objects that are searched, and the folders below `prefix` that are not, with the number of their
    objects."""
    found: list[FileEntry] = []
    passed: Counter[tuple[str, LeftOutReason, str]] = Counter()
    for entry in objects:
        stopped = _find_stop(entry.location, len(prefix.rpartition("/")[0]) + 1)
        if stopped is None:
            found.append(entry)
        elif stopped[1] is not None:
            passed[stopped[0], stopped[1], stopped[2]] += 1
    return found, [
        LeftOut(location=folder, reason=reason, sentence=sentence, files=count)
        for (folder, reason, sentence), count in passed.items()
    ]


def _find_stop(location: str, begin: int) -> tuple[str, LeftOutReason | None, str] | None:
    """Return the folder at which a search stops on the way to the object, and why; None where it does not."""
    end = location.find("/", begin)
    while end > 0:
        name, folder = location[begin:end], location[: end + 1]
        if name.startswith(OWN):
            return folder, None, ""
        if is_system_folder(name):
            return folder, LeftOutReason.NOT_SEARCHED, HIDDEN
        if name.lower().endswith(ZARR):
            return folder, LeftOutReason.UNSUPPORTED_FORMAT, ZARRS
        begin = end + 1
        end = location.find("/", begin)
    return None
