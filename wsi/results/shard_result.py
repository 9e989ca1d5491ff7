"""The file that a worker writes for a shard and for each of its checkpoints: the tiles done so far, complete or not."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wsi.errors import NewerSchema
from wsi.objects.found import FoundObjects
from wsi.records.fields import select_known_fields
from wsi.records.model_card import ModelCard
from wsi.records.outputs import Stored
from wsi.results.tile_quality import make_unmeasured

RESULT_SCHEMA = 1
#: Numbers a tile from which on they are not compressed: a vector's digits hold no pattern, and zlib would take longer
#: than a GPU needs to compute them.
WIDE = 64


Floats = type[np.float32] | type[np.float16]
Numbers = NDArray[np.float32 | np.float16]


def get_float_type(card: ModelCard) -> Floats:
    """Return the type of the numbers in a shard's result."""
    return np.float16 if card.embedding is not None and card.embedding.stored is Stored.FP16 else np.float32


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptMeasurements:
    """Measurements of the attempt that finished a shard. They are for the summary: no score depends on them."""

    seconds: float
    requests: int  #: range reads of the slide
    bytes: int  #: read of the slide
    hardware: str  #: that ran the model


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardResult:
    plan_digest: str  #: of the plan that it was computed for; a checkpoint of another plan is not resumed
    tiles: NDArray[np.int32]  #: [n] tile numbers, in any order, no number twice
    scores: Numbers  #: [n, columns, or dimensions of a vector]
    unreadable: Mapping[int, str]  #: tile number -> reason that names the file's tiles
    quality: NDArray[np.float32] | None = None  #: [n, 4] of `tile_quality`; None where the worker did not measure it
    objects: FoundObjects | None = None  #: of a detection: what the windows of `tiles` gave
    measured: AttemptMeasurements | None = None  #: of a finished shard

    @property
    def done(self) -> int:
        return len(self.tiles) + len(self.unreadable)

    def check_part_of(self, plan_digest: str, shard: NDArray[np.int32]) -> None:
        """Raise ValueError unless these are tiles of `shard` (its tile numbers), computed for that plan."""
        if self.plan_digest != plan_digest:
            raise ValueError("the checkpoint is of another plan")
        if not np.isin([*self.tiles, *self.unreadable], shard).all():
            raise ValueError("the checkpoint holds tiles of another shard")

    def to_bytes(self) -> bytes:
        head = {
            "schema": RESULT_SCHEMA,
            "plan_digest": self.plan_digest,
            "unreadable": {str(tile): reason for tile, reason in self.unreadable.items()},
            "measured": asdict(self.measured) if self.measured else None,
        }
        quality = self.quality if self.quality is not None else make_unmeasured(len(self.tiles))
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {} if self.objects is None else dict(self.objects.pack())
        save = np.savez if arrays or self.scores.shape[1] > WIDE else np.savez_compressed
        save(
            buffer,
            head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8),
            tiles=self.tiles.astype("<i4"),
            scores=self.scores.astype("<f2" if self.scores.dtype == np.float16 else "<f4"),
            quality=quality.astype("<f4"),
            **arrays,
        )
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> ShardResult:
        """Read this schema and those before. Raises NewerSchema."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            head = json.loads(arrays["head"].tobytes())
            if head["schema"] > RESULT_SCHEMA:
                raise NewerSchema(
                    f"A shard's result has schema {head['schema']}, newer than this release's {RESULT_SCHEMA}: "
                    "upgrade to read it."
                )
            return ShardResult(
                plan_digest=head["plan_digest"],
                tiles=arrays["tiles"].astype(np.int32),
                scores=arrays["scores"],
                quality=arrays["quality"].astype(np.float32) if "quality" in arrays else None,
                unreadable={int(tile): reason for tile, reason in head["unreadable"].items()},
                objects=FoundObjects.unpack(arrays) if "objects" in arrays else None,
                measured=AttemptMeasurements(**select_known_fields(AttemptMeasurements, head["measured"]))
                if head.get("measured")
                else None,
            )
