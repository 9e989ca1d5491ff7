"""The bytes of one slide, from this disk or from S3, and the digest that names them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from client.inputs import SlideInput, UsageError
from wsi.digests import PART_SIZE, file_digest, slide_digest
from wsi.errors import SourceMissing
from wsi.slide.opening import local_source
from wsi.slide.ranges import ByteRange, Data, RangeSource
from wsi.slide.source import SlideSource
from wsi.slides import referenced_digest

if TYPE_CHECKING:
    from adapters.aws_clients import AwsClients
    from adapters.s3.slides import S3SlideStore

DEFAULT_REGION = "us-east-1"


class Sources:
    """Opens slides. S3 is reached only when a slide lies there; region, endpoint and credentials come the SDK's
    usual way."""

    def list_uris(self, prefix: str) -> Sequence[str]:
        """Raises UsageError for a bucket that is not there."""
        from adapters.s3.listing import list_uris

        try:
            return list_uris(self._clients, prefix)
        except SourceMissing as error:
            raise UsageError(f"The bucket of {prefix} does not exist or may not be listed") from error

    @contextmanager
    def opened(self, slide: SlideInput) -> Iterator[SlideSource]:
        """Raises SourceError."""
        source = self._remote(slide) if slide.is_remote else local_source(Path(slide.location))
        try:
            yield source
        finally:
            for _, file in source.files:
                close = getattr(file, "close", None)  # range sources of S3 hold nothing open
                if close is not None:
                    close()

    def digest(self, slide: SlideInput, source: SlideSource) -> str:
        """As the API computes it, so that a run here and a job there name the same slide alike. Of a slide on this
        disk every byte is read; S3 tells its own."""
        if slide.is_remote:
            store = self._store(slide)
            return slide_digest([referenced_digest(uri, store.head(uri)) for uri in slide.files])
        return slide_digest([file_digest(_parts(file)) for _, file in source.files])

    def _remote(self, slide: SlideInput) -> SlideSource:
        store = self._store(slide)
        folder = slide.files[0].rpartition("/")[0]
        return SlideSource(files=tuple((uri.removeprefix(f"{folder}/"), store.open(uri)) for uri in slide.files))

    def _store(self, slide: SlideInput) -> S3SlideStore:
        from adapters.s3.slides import S3SlideStore

        bucket = slide.location.removeprefix("s3://").partition("/")[0]
        return S3SlideStore(self._clients, bucket)

    @cached_property
    def _clients(self) -> AwsClients:
        from adapters.aws_clients import AwsClients

        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or DEFAULT_REGION
        return AwsClients(region, os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"))


def plan_uris(slide: SlideInput, source: SlideSource) -> tuple[tuple[str, str, str], ...]:
    """(relative name, uri, etag) of each file, as a plan keeps them."""
    uris = slide.files or [Path(slide.location).resolve().as_uri()] * len(source.files)
    return tuple((name, uri, file.etag) for (name, file), uri in zip(source.files, uris, strict=True))


def _parts(file: RangeSource) -> Iterator[Data]:
    starts = range(0, file.size, PART_SIZE)
    return file.read_many([ByteRange(start, min(start + PART_SIZE, file.size)) for start in starts])
