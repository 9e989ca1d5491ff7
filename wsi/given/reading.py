"""Reads the objects of a file's bytes: GeoJSON or GeoParquet."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from wsi.errors import Invalid
from wsi.given.collecting import collect_objects
from wsi.given.json_features import JsonFeatures
from wsi.given.objects import GivenObjects
from wsi.given.table_features import read_table
from wsi.plain_faults import describe_json_error
from wsi.records.outline import Frame

PARQUET: Final = b"PAR1"  #: the first bytes of a Parquet file


def read_objects(data: bytes, frame: Frame) -> GivenObjects:
    """Return the objects of an unpacked file. Raises Invalid."""
    digest = hashlib.sha256(data).hexdigest()
    if data.startswith(PARQUET):
        return collect_objects(read_table(data, frame), digest=digest, frame=frame)
    try:
        text = data.decode(json.detect_encoding(data))
        del data  # a gigabyte of it is in memory once
        return collect_objects(JsonFeatures(text), digest=digest, frame=frame)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"The file is not JSON: {describe_json_error(error)}. Export it as GeoJSON.") from error
