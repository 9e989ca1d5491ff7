"""Decoding alone, in N processes that have no torch: the rate at which this machine's cores can feed a model."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, Final

from inference.decoder_choice import choose_decoders_per_gpu

#: Encoded tiles that each process holds and decodes again and again.
TILES: Final = 512
START_SECONDS: Final = 120.0  #: for all processes to have imported what they need

Decode = Callable[[], int]  #: decodes some tiles, returns their number


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoded:
    """A run of decoding. It counts file tiles, not patches: `Workload.tiles_a_patch` of them make one."""

    processes: int
    tiles: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """File tiles a second, of all processes together."""
        return self.tiles / self.seconds


def make_tessera_decode(slide: Path, part: int) -> Decode:
    """Return a function that decodes the `part`-th block of tiles by the worker's `SlideReader.decode`."""
    from wsi.slide.opening import open_local_source, open_slide

    reader = open_slide(open_local_source(slide))
    level = reader.inspection.levels[0]
    count = -(-level.width // level.tile_width) * -(-level.height // level.tile_height)
    encoded = list(reader.read_tiles(0, sorted((part * TILES + number) % count for number in range(min(TILES, count)))))

    def decode() -> int:
        for tile in encoded:
            reader.decode(tile)
        return len(encoded)

    return decode


def make_openslide_decode(slide: Path, part: int) -> Decode:
    """Return a function that reads whole file tiles by `read_region` in their order, which is OpenSlide's fastest way.
    Its cache is too small to hold them until they are read again."""
    from openslide import OpenSlide, OpenSlideCache

    handle = OpenSlide(slide)
    handle.set_cache(OpenSlideCache(4 * 1024**2))
    side = int(handle.properties["openslide.level[0].tile-width"])
    across = handle.dimensions[0] // side
    rows = handle.dimensions[1] // side
    places = [(part * TILES + number) % (across * rows) for number in range(min(TILES, across * rows))]

    def decode() -> int:
        for place in places:
            handle.read_region((place % across * side, place // across * side), 0, (side, side)).convert("RGB")
        return len(places)

    return decode


def decode_alone(
    slide: Path,
    *,
    processes: int | None = None,
    seconds: float = 3.0,
    make: Callable[[Path, int], Decode] = make_tessera_decode,
) -> Decoded:
    """Decode in processes that begin together, by default as many as the worker has. `make` runs in each of them and
    must be importable. Raises the error that ends one."""
    number = processes or choose_decoders_per_gpu()
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(number)
    with context.Pool(number, initializer=_begin, initargs=(barrier,)) as pool:
        work = partial(_decode, slide, seconds, make)
        found = pool.map_async(work, range(number), chunksize=1).get()
    return Decoded(
        processes=number,
        tiles=sum(tiles for tiles, _, _ in found),
        seconds=sum(took for _, took, _ in found) / number,
        cpu_seconds=sum(cpu for _, _, cpu in found),
    )


_together: list[Barrier] = []


def _begin(barrier: Barrier) -> None:
    _together.append(barrier)


def _decode(slide: Path, seconds: float, make: Callable[[Path, int], Decode], part: int) -> tuple[int, float, float]:
    decode = make(slide, part)
    decode()
    _together[0].wait(START_SECONDS)
    tiles, spent, began = 0, _cpu(), time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        tiles += decode()
    return tiles, took, _cpu() - spent


def _cpu() -> float:
    usage: Any = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
