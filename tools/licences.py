"""The licences that Tessera's dependencies may have, and the reading of the texts in their metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Licences that permit use and redistribution with a copy of the text.
PERMISSIVE = frozenset(
    (
        *("0BSD", "Apache-2.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "BSD-4.3TAHOE", "BSL-1.0", "CC0-1.0"),
        *("IJG", "ISC", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0", "PostgreSQL", "Zlib", "blessing", "libpng-2.0"),
        *("libtiff", "LicenseRef-Public-Domain"),
    )
)
#: Licences that permit unchanged use, on a condition. GPL, AGPL and non-commercial licences are in neither list.
CONDITIONAL: Mapping[str, str] = {
    "LGPL-2.1-only": "The library stays a file of its own that a user can replace; we use it unchanged.",
    "LGPL-2.1-or-later": "As LGPL-2.1-only.",
    "LGPL-3.0-only": "As LGPL-2.1-only; we import the package unchanged.",
    "MPL-1.1": "Changes of its own files would have to be published; we make none.",
    "MPL-2.0": "Changes of its own files would have to be published; we make none.",
    "LicenseRef-NVIDIA-Proprietary": (
        "The libraries may be passed on as part of an application, under NVIDIA's licence for the CUDA toolkit. "
        "Of what Tessera passes on, only the worker's image contains them."
    ),
}
#: Free texts and classifiers in the metadata of packages.
_SPELLINGS: Mapping[str, str] = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "NVIDIA Proprietary Software": "LicenseRef-NVIDIA-Proprietary",
}
_TOKEN = re.compile(r"\(|\)|[^\s()]+")


def to_spdx(text: str) -> str:
    """Return the SPDX expression that a free text means; the text itself where it is one or is unknown."""
    return _SPELLINGS.get(text, text)


def is_allowed(expression: str) -> bool:
    """Return whether an SPDX expression can be met: every part of an AND, any part of an OR."""
    tokens = _TOKEN.findall(expression)
    allowed = bool(tokens) and _can_meet_any(tokens)
    return allowed and not tokens


def select_conditional(expression: str) -> set[str]:
    """Return the identifiers in an expression that are allowed on a condition."""
    return set(_TOKEN.findall(expression)) & set(CONDITIONAL)


def _can_meet_any(tokens: list[str]) -> bool:
    allowed = _can_meet_all(tokens)
    while tokens[:1] == ["OR"]:
        tokens.pop(0)
        allowed = _can_meet_all(tokens) or allowed
    return allowed


def _can_meet_all(tokens: list[str]) -> bool:
    allowed = _can_meet_one(tokens)
    while tokens[:1] == ["AND"]:
        tokens.pop(0)
        allowed = _can_meet_one(tokens) and allowed
    return allowed


def _can_meet_one(tokens: list[str]) -> bool:
    if not tokens:
        return False
    token = tokens.pop(0)
    if token == "(":  # noqa: S105  # a word of an expression
        allowed = _can_meet_any(tokens)
        return tokens[:1] == [")"] and bool(tokens.pop(0)) and allowed
    if tokens[:1] == ["WITH"]:  # an exception permits more than the licence does
        del tokens[:2]
    return token in PERMISSIVE or token in CONDITIONAL
