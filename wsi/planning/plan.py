"""The plan: every decision about a job, made once, before any GPU is asked for.

Tiles are numbered in the order of results (minx, then miny), so that a tile's number, and with it its UUID in the
GeoJSON, does not depend on how the work is cut into shards. `order` lists the numbers in the file's own order;
shard k computes `order[shard_offsets[k]:shard_offsets[k + 1]]`.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wsi.errors import NewerSchema
from wsi.inspection.mask import SlideMask
from wsi.planning.numbered_files import are_numbers
from wsi.planning.object_boxes import PlannedObjects
from wsi.planning.packed_numbers import pack_numbers, unpack_numbers
from wsi.planning.stains import Stains
from wsi.records.fields import select_known_fields
from wsi.records.model_card import SCORES, Boxes, Channels, ModelCard, Resize
from wsi.records.slides import Choice, Inspection
from wsi.slide.coding import Reduction

#: 2: boxes may be longer than wide, and tiles may be decoded smaller. 3: the card may resize as Pillow does. 4: it may
#: take BGR. 5: it may keep boxes at fractions of a pixel, or normalise stains. 6: it may ask for vectors or
#: objects, or have boxes around objects that a user gives. A plan that does none of it is still of schema 1, so that
#: workers that know no other take it.
PLAN_SCHEMA = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """The grid of model tiles. Boxes are square in microns, and so mostly in pixels too. They are anchored to the
    slide's origin and may pass its edge."""

    side: int  #: level-0 px of a tile's box, across
    side_y: int  #: down
    stride: int  #: level-0 px from box to box, across
    stride_y: int  #: down
    columns: int
    rows: int
    level: int  #: the level that is read
    level_side: int  #: px of that level, as decoded, that are read of a box across
    level_side_y: int  #: down
    level_downsample: float  #: level-0 px per px of that level, as decoded, across
    level_downsample_y: float  #: down
    reduction: Reduction = 1  #: what its tiles are decoded at
    fractions: bool = False  #: boxes keep fractions of that level's px; whole px that hold any of them are read
    kept_px: int = 0  #: of a model that finds objects: px of the network's input that a box is
    halo_px: int = 0  #: px of the network's input around them, which `level_side` includes

    def as_json(self) -> dict[str, Any]:
        """Return its fields; those that were added later only where they are set."""
        value = asdict(self)
        return {name: each for name, each in value.items() if each or name not in ("fractions", "kept_px", "halo_px")}

    @property
    def halo(self) -> tuple[int, int]:
        """Return the px of the level that are read around a box, across and down."""
        if not self.halo_px:
            return 0, 0
        window = self.kept_px + 2 * self.halo_px
        return self.level_side * self.halo_px // window, self.level_side_y * self.halo_px // window

    @property
    def is_plain(self) -> bool:
        """True if boxes are square and tiles are decoded whole: all that schema 1 knew."""
        return self.reduction == 1 and all(getattr(self, down) == getattr(self, across) for down, across in _DOWN)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Grid:
        """Read a grid. One without lengths down is square."""
        return Grid(**{down: value[across] for down, across in _DOWN} | select_known_fields(Grid, value))


#: Fields that schema 2 added, and those that stand for both axes in schema 1.
_DOWN = (
    ("side_y", "side"),
    ("stride_y", "stride"),
    ("level_side_y", "level_side"),
    ("level_downsample_y", "level_downsample"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Numerics:
    """The settings that decide a result's bytes. With them equal, tables are byte-identical for any worker count, tile
    order and shard size on one CPU instruction set or one GPU type."""

    version: str  #: of preprocessing and codecs
    precision: str  #: "fp32" | "fp16" | "bf16"
    batch: int
    threads: int  #: CPU threads of the model
    stains: Stains | None = None  #: of the slide, for models that take amounts of stain in place of RGB

    def as_json(self) -> dict[str, Any]:
        """Return its fields, without stains where there are none, so that plans of other models keep their digests."""
        value = asdict(self)
        return value if self.stains is not None else {name: value[name] for name in value if name != "stains"}

    @staticmethod
    def from_json(value: dict[str, Any]) -> Numerics:
        known = select_known_fields(Numerics, value)
        stains = known.pop("stains", None)
        return Numerics(**known, stains=Stains.from_json(stains) if stains is not None else None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    slide_digest: str
    #: (relative name, uri, etag); the first one is opened. The queue's plans have numbers in place of names.
    slide_uris: tuple[tuple[str, str, str], ...]
    index: bytes | None  #: the reader's parsed index
    inspection: Inspection
    card: ModelCard
    package_uri: str | None
    mpp: float  #: microns per level-0 px that the grid was made with, across
    mpp_y: float  #: down
    grid: Grid
    numerics: Numerics
    tiles: NDArray[np.int32]  #: [n, 2] level-0 x, y of each box, ordered by x, then y
    order: NDArray[np.int32]  #: [n] tile numbers in the file's own order
    shard_offsets: NDArray[np.int32]  #: [shards + 1] into `order`
    mask: SlideMask | None = None  #: where the tiles come from; None in a plan of an older planner
    warnings: tuple[str, ...] = ()
    region: tuple[int, int, int, int] | None = None  #: x, y, width, height that objects must begin in; None: anywhere
    choice: Choice | None = None  #: the picture that `index` is of, for a worker that cannot read the index
    objects: PlannedObjects | None = None  #: that a user gave: tiles are the boxes around them, and lie on no grid

    @property
    def shard_sizes(self) -> tuple[int, ...]:
        return tuple(int(size) for size in np.diff(self.shard_offsets))

    def shard_tiles(self, index: int) -> NDArray[np.int32]:
        return self.order[self.shard_offsets[index] : self.shard_offsets[index + 1]]

    @property
    def schema(self) -> int:
        """The lowest schema that can hold this plan. So an older worker computes the plans that it can, and the digest
        of an older plan does not change."""
        if self.card.output not in SCORES or self.objects is not None:
            return 6
        if self.card.boxes is not Boxes.WHOLE or self.card.stain_normalisation is not None:
            return 5
        if self.card.channels is not Channels.RGB:
            return 4
        if self.card.resize is not Resize.EXACT:
            return 3
        return 1 if self._is_plain else 2

    @property
    def needs_names(self) -> bool:
        """True if the slide's files may refer to each other by names that the plan does not say: only OpenSlide reads
        it, and it has several."""
        return self.index is None and len(self.slide_uris) > 1 and are_numbers([name for name, _, _ in self.slide_uris])

    @property
    def _is_plain(self) -> bool:
        return self.grid.is_plain and self.mpp_y == self.mpp

    @property
    def digest(self) -> str:
        """The hex sha256 of what decides the numbers, without the shards and the places of the files."""
        grid = self.grid.as_json()
        if self._is_plain:
            grid = {name: value for name, value in grid.items() if name not in ("reduction", *dict(_DOWN))}
        else:
            grid["mpp_y"] = self.mpp_y
        head: dict[str, Any] = {
            "schema": self.schema,
            "slide": self.slide_digest,
            "model": self.card.identity,
            "mpp": self.mpp,
            "grid": grid,
            "numerics": self.numerics.as_json(),
        }
        if self.choice is not None:
            head["choice"] = self.choice.as_json()
        if self.region is not None:
            head["region"] = self.region
        if self.objects is not None:
            head["objects"] = self.objects.describe_identity()
        text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
        return hashlib.sha256(text + self.tiles.astype("<i4").tobytes()).hexdigest()

    def to_bytes(self) -> bytes:
        value: dict[str, Any] = {
            "schema": self.schema,
            "digest": self.digest,
            "slide_digest": self.slide_digest,
            "slide_uris": self.slide_uris,
            "index": base64.b64encode(self.index).decode() if self.index is not None else None,
            "inspection": self.inspection.as_json(),
            "card": self.card.as_json(),
            "package_uri": self.package_uri,
            "mpp": self.mpp,
            "mpp_y": self.mpp_y,
            "grid": self.grid.as_json(),
            "numerics": self.numerics.as_json(),
            "tiles": pack_numbers(self.tiles),
            "order": pack_numbers(self.order),
            "shard_offsets": pack_numbers(self.shard_offsets),
            "mask": self.mask.as_json() if self.mask is not None else None,
            "warnings": self.warnings,
            "choice": self.choice.as_json() if self.choice is not None else None,
        }
        if self.region is not None:
            value["region"] = self.region
        if self.objects is not None:
            value["objects"] = self.objects.as_json()
        return gzip.compress(json.dumps(value).encode(), compresslevel=6, mtime=0)

    @staticmethod
    def from_bytes(data: bytes) -> Plan:
        """Read this schema and those before. A worker of version n-1 must accept what planner n sends, so fields are
        only ever added, and unknown ones are left out, at every depth. Raises NewerSchema."""
        value: dict[str, Any] = json.loads(gzip.decompress(data))
        if value["schema"] > PLAN_SCHEMA:
            raise NewerSchema(
                f"The plan has schema {value['schema']}, newer than this release's {PLAN_SCHEMA}: upgrade to read it."
            )
        return Plan(
            slide_digest=value["slide_digest"],
            slide_uris=tuple((name, uri, etag) for name, uri, etag in value["slide_uris"]),
            index=base64.b64decode(value["index"]) if value["index"] is not None else None,
            inspection=Inspection.from_json(value["inspection"]),
            card=ModelCard.from_json(value["card"]),
            package_uri=value["package_uri"],
            mpp=value["mpp"],
            mpp_y=value.get("mpp_y", value["mpp"]),
            grid=Grid.from_json(value["grid"]),
            numerics=Numerics.from_json(value["numerics"]),
            tiles=unpack_numbers(value["tiles"]).reshape(-1, 2),
            order=unpack_numbers(value["order"]),
            shard_offsets=unpack_numbers(value["shard_offsets"]),
            mask=SlideMask.from_json(value["mask"]) if value.get("mask") else None,
            warnings=tuple(value["warnings"]),
            region=tuple(value["region"]) if value.get("region") else None,
            choice=Choice.from_json(value["choice"]) if value.get("choice") else None,
            objects=PlannedObjects.from_json(value["objects"]) if value.get("objects") else None,
        )
