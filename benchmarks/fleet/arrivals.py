"""The day of the labs that send slides: slides are cut while people are there, collected into batches, scanned one
after another, and uploaded as they leave the scanner.

Its shape is that of a laboratory that published it, Addenbrooke's in Cambridge (`constants.py`): microtomy works from
9:00 to 17:30 and with half of its people from 12:00 to 14:00; five scanners take batches of 150. A scanner that was
loaded goes on after everybody left. Staining, which takes all slides equally long, only moves the day.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Sequence

from benchmarks.fleet.constants import get_number

#: People at microtomy in each half hour from 9:00 (the workbook's "Microtomy staff").
MICROTOMY = (10,) * 6 + (5,) * 4 + (10,) * 7
HALF_HOUR = 1_800.0


def draw_lab_day(slides: int, source: random.Random) -> list[float]:
    """Return when each slide of one lab is uploaded, in s since midnight."""
    apart = get_number("labs begin apart")
    opens = 3600 * (get_number("a lab begins") + source.uniform(-apart, apart))
    cut = sorted(opens + _draw_cut(source) for _ in range(slides))
    return sorted(_scan(cut))


def draw_day(slides: int, source: random.Random) -> list[float]:
    """Return when each slide of all labs is uploaded, in s since midnight. There are as many labs as it takes."""
    labs = max(1, round(slides / get_number("slides of a lab")))
    shares = [slides * (lab + 1) // labs - slides * lab // labs for lab in range(labs)]
    return list(heapq.merge(*(draw_lab_day(share, source) for share in shares)))


def draw_night(
    slides: int, source: random.Random, *, begins: float = 7 * 3600.0, seconds: float = 3600.0
) -> list[float]:
    """Return when each slide is uploaded if all were scanned in the night, and are sent in one hour of the morning."""
    return sorted(begins + source.uniform(0, seconds) for _ in range(slides))


def compute_peak_factor(arrivals: Sequence[float]) -> float:
    """Return the slides of the busiest hour over those of the mean hour of a day."""
    hours: dict[int, int] = {}
    for at in arrivals:
        hours[int(at // 3600)] = hours.get(int(at // 3600), 0) + 1
    return max(hours.values()) * 24 / len(arrivals)


def _draw_cut(source: random.Random) -> float:
    (slot,) = source.choices(range(len(MICROTOMY)), MICROTOMY)
    return (slot + source.random()) * HALF_HOUR


def _scan(cut: Sequence[float]) -> Iterator[float]:
    """Yield when slides leave the scanners. A free scanner is loaded with what waits, at least every half hour: people
    collect slides for so long, or until a batch is full."""
    size = int(get_number("slides of a batch"))
    seconds = get_number("a batch is scanned") / size  #: of a slide
    loading = get_number("a batch is loaded and unloaded")
    free = [0.0] * int(get_number("scanners of a lab"))
    place = 0
    while place < len(cut):
        first = cut[place]
        end = place
        while end < len(cut) and end - place < size and cut[end] < first + HALF_HOUR:
            end += 1
        full_at = cut[end - 1] if end - place == size else first + HALF_HOUR
        begins = max(heapq.heappop(free), full_at) + loading / 2
        yield from (begins + seconds * (number + 1) for number in range(end - place))
        heapq.heappush(free, begins + seconds * (end - place) + loading / 2)
        place = end
