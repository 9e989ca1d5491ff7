"""Regions that a user has drawn, read from a file of GeoJSON."""

from __future__ import annotations

import json
from pathlib import Path

from client.inputs import UsageError
from wsi.errors import Invalid
from wsi.outline import MAX_BYTES, Frame, Outline, read_geojson


def read_region(path: Path, frame: Frame) -> Outline:
    """A region from a file of GeoJSON. Raises UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UsageError(f"The region {path} is larger than {MAX_BYTES // 1024**2} MB")
        return read_geojson(json.loads(data), frame)
    except OSError as error:
        raise UsageError(f"The region {path} can not be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The region {path} is no JSON: {error}") from error
    except Invalid as error:
        raise UsageError(f"{path}: {error.sentence}") from error
