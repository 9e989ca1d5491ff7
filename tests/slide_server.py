"""Slides behind the production's S3 range reader, served by `tests.range_server`."""

from __future__ import annotations

from pathlib import Path

from adapters.aws_clients import AwsClients
from adapters.s3.ranges import RangeReads, S3RangeSource
from tests.range_server import facts, serve
from wsi.ports.objects import StoredObject
from wsi.slide.files.source import SlideSource

__all__ = ["range_reads", "serve", "served"]


def range_reads(url: str) -> RangeReads:
    return RangeReads(AwsClients("eu-central-1", url))


def served(reads: RangeReads, folder: Path, source: SlideSource) -> SlideSource:
    """The same slide as it lies in the bucket that serves `folder`, by the production's S3 reader. Its files must lie
    beside `source.local_path`."""
    assert source.local_path is not None
    beside = source.local_path.parent.relative_to(folder)
    files = tuple(
        (name, S3RangeSource(reads, "bucket", (beside / name).as_posix(), _stored(folder / beside / name)))
        for name, _ in source.files
    )
    return SlideSource(files=files)


def _stored(path: Path) -> StoredObject:
    size, etag = facts(path)
    return StoredObject(size=size, etag=etag)
