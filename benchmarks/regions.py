"""The cost of reading a region of many points: CPU seconds, peak memory. `python -m benchmarks.regions [POINTS]`."""

from __future__ import annotations

import json
import resource
import sys
import time

from wsi.planning.region_geojson import read_geojson


def main(points: int) -> None:
    """Read a staircase of steps of one px, which a pixel classifier's areas have."""
    steps = [[(number + 1) // 2, number // 2] for number in range(points - 2)]
    text = json.dumps({"type": "Polygon", "coordinates": [[*steps, [0, points // 2], [0, 0]]]})
    began = time.process_time()
    value = json.loads(text)
    parsed = time.process_time()
    drawn = read_geojson(value)
    judged = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{points:,} points, {len(text) / 1e6:.1f} MB: {parsed - began:.2f} CPU s to parse,"
        f" {judged - parsed:.2f} CPU s to judge; {drawn.outline.vertices:,} points kept; {peak:.0f} MB at most"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
