"""Finds a path that is not there under the names that mean the same: in another Unicode normalisation (macOS stores é
as e and an accent) and with Windows' backslashes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath
from unicodedata import normalize

_MOST_LISTED = 10_000  #: names of a folder that are compared
_CLOSE = 0.8  #: of 1, as difflib measures


def find_same_path(path: str) -> str | None:
    """Return the path that means the same as `path`, which is not there; None where there is none, or several."""
    for spelling in dict.fromkeys((path, path.replace("\\", "/"))):
        found = _resolve(spelling)
        if found is not None:
            return found
    return None


def find_near_path(path: str) -> str | None:
    """Return the path next to `path`, which is not there, that it was probably meant to be."""
    spelling = PurePosixPath(path.replace("\\", "/"))
    names = {normalize("NFC", name).casefold(): name for name in _list_names(str(spelling.parent))}
    close = get_close_matches(normalize("NFC", spelling.name).casefold(), names, n=1, cutoff=_CLOSE)
    return str(spelling.with_name(names[close[0]])) if close else None


def list_normal_forms(text: str) -> tuple[str, ...]:
    """Return the text in the other normal forms, without itself."""
    forms = (normalize("NFC", text), normalize("NFD", text))
    return tuple(form for form in dict.fromkeys(forms) if form != text)


def _resolve(path: str) -> str | None:
    found = "/" if path.startswith("/") else ""
    for part in path.split("/"):
        if not part:
            continue
        whole = found + part
        if not os.path.lexists(whole):
            alike = [name for name in _list_names(found or ".") if normalize("NFC", name) == normalize("NFC", part)]
            if len(alike) != 1:
                return None
            whole = found + alike[0]
        found = f"{whole}/"
    return found[:-1] if found.endswith("/") and len(found) > 1 else None


def _list_names(folder: str) -> Sequence[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208  # names as they are, without a Path of each
    except OSError:
        return ()
    return names if len(names) <= _MOST_LISTED else ()
