"""The ids of tiles in GeoJSON: name-based UUIDs (RFC 9562, version 5), so that a job that is stitched again gives each
tile the same one."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence

import numpy as np

from wsi.results.text_rows import Texts

#: Of all tile ids that Tessera ever gives; the plan's digest and the tile's number make the rest.
_IDS = uuid.uuid5(uuid.NAMESPACE_DNS, "tiles.tessera.invalid")
_DIGITS = np.frombuffer(b"".join(b"%02x" % value for value in range(256)), np.uint8).reshape(256, 2)
_DASHES = (8, 13, 18, 23)  #: places in a UUID's text


class TileIds:
    """The ids of the tiles of one plan."""

    def __init__(self, plan_digest: str) -> None:
        self._plan = hashlib.sha1(uuid.uuid5(_IDS, plan_digest).bytes, usedforsecurity=False)

    def write(self, numbers: Sequence[int]) -> Texts:
        """Return `str(uuid.uuid5(…, str(number)))` of each tile number, at a fifth of its cost."""
        digests = bytearray()
        for number in numbers:
            digest = self._plan.copy()
            digest.update(b"%d" % number)
            digests += digest.digest()
        values = np.frombuffer(digests, np.uint8).reshape(-1, self._plan.digest_size)[:, :16].copy()
        values[:, 6] = values[:, 6] & 0x0F | 0x50  # version 5
        values[:, 8] = values[:, 8] & 0x3F | 0x80  # RFC 9562's variant
        text = np.full((len(values), 36), ord("-"), np.uint8)
        text[:, [place for place in range(36) if place not in _DASHES]] = _DIGITS[values].reshape(-1, 32)
        return text.view("S36").ravel()
