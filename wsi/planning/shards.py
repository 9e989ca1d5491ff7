"""The sizes of shards: large enough to pay for a lease, small enough that a lost worker costs a minute."""

from __future__ import annotations

from wsi.records.model_card import ModelCard

SECONDS = 60  #: of work in a shard
LEAST, MOST = 1024, 8192  #: tiles of a shard
UNMEASURED = 2048  #: tiles of a shard of a model whose rate nobody measured
MOST_BYTES = 64 * 1024**2  #: of a shard's result, which a worker holds in memory and sends again at each checkpoint
#: Px of the network's input that an object of a dense field takes, and bytes of its outline and numbers.
OBJECT_PX, OBJECT_BYTES = 400, 400


def estimate_tile_bytes(card: ModelCard) -> int:
    """Return the bytes of a tile in a shard's result: its numbers, and objects about as many as fit into what its
    window keeps."""
    kept = 0 if card.objects is None else max(0, card.input_px - 2 * card.objects.halo)
    return 4 * card.width + kept**2 // OBJECT_PX * OBJECT_BYTES


def compute_shard_size(tiles_per_second: float | None, override: int | None = None, *, tile_bytes: int = 0) -> int:
    """Return the number of tiles of a shard: `SECONDS` of the model's rate on the slowest allowed device, within
    limits; `override` wins. `tile_bytes`: of a tile in the shard's result."""
    if override is not None:
        return override
    size = UNMEASURED if tiles_per_second is None else min(MOST, max(LEAST, round(tiles_per_second * SECONDS)))
    return max(1, min(size, MOST_BYTES // max(1, tile_bytes)))


def compute_shard_offsets(tiles: int, size: int) -> tuple[int, ...]:
    """Split `tiles` into the fewest contiguous blocks of at most `size` and return their offsets; block lengths differ
    by one at most.

    Block k is `offsets[k]:offsets[k + 1]`; without tiles there is no block.
    """
    shards = -(-tiles // size)
    return tuple(tiles * block // shards for block in range(shards + 1)) if shards else (0,)
