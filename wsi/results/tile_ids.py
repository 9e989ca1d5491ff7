"""The ids of tiles and objects in GeoJSON: name-based UUIDs (RFC 9562, version 5), so that a job that is stitched again
gives each one the same."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from wsi.results.text_rows import Texts

#: Of all tile ids that Tessera ever gives; the plan's digest and the tile's number make the rest.
_IDS = uuid.uuid5(uuid.NAMESPACE_DNS, "tiles.tessera.invalid")
#: Of all ids of objects; the plan's digest and the object's point make the rest.
_OBJECT_IDS = uuid.uuid5(uuid.NAMESPACE_DNS, "objects.tessera.invalid")
_DIGITS = np.frombuffer(b"".join(b"%02x" % value for value in range(256)), np.uint8).reshape(256, 2)
_DASHES = (8, 13, 18, 23)  #: places in a UUID's text


class TileIds:
    """The ids of the tiles of one plan."""

    def __init__(self, plan_digest: str) -> None:
        self._plan = uuid.uuid5(_IDS, plan_digest)

    def write(self, numbers: Sequence[int]) -> Texts:
        """Return `str(uuid.uuid5(…, str(number)))` of each tile number, at a fifth of its cost."""
        return _write_ids(self._plan, (b"%d" % number for number in numbers))


class ObjectIds:
    """The ids of the objects of one plan. No two objects have one point, since none share a px."""

    def __init__(self, plan_digest: str) -> None:
        self._plan = uuid.uuid5(_OBJECT_IDS, plan_digest)

    def write(self, points: NDArray[np.int32]) -> Texts:
        """Return `str(uuid.uuid5(…, "x,y"))` of each object's point, [n, 2], px of the lattice."""
        return _write_ids(self._plan, (b"%d,%d" % (x, y) for x, y in points.tolist()))


def _write_ids(space: uuid.UUID, names: Iterable[bytes]) -> Texts:
    """Return the texts of the version 5 UUIDs of the names."""
    begun = hashlib.sha1(space.bytes, usedforsecurity=False)
    digests = bytearray()
    for name in names:
        digest = begun.copy()
        digest.update(name)
        digests += digest.digest()
    values = np.frombuffer(digests, np.uint8).reshape(-1, begun.digest_size)[:, :16].copy()
    values[:, 6] = values[:, 6] & 0x0F | 0x50  # version 5
    values[:, 8] = values[:, 8] & 0x3F | 0x80  # RFC 9562's variant
    text = np.full((len(values), 36), ord("-"), np.uint8)
    text[:, [place for place in range(36) if place not in _DASHES]] = _DIGITS[values].reshape(-1, 32)
    return text.view("S36").ravel()
