"""The bytes of one slide, from this disk or from S3, and the digest that names them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tessera.local_run.inputs import SlideInput, UsageError
from tessera.local_run.inputs.listing import FileEntry, find_common_folder
from tessera.local_run.inputs.near_names import find_near_path
from wsi.digests import PART_SIZE, compute_file_digest, compute_slide_digest
from wsi.errors import SourceMissing
from wsi.ports.objects import StoredObject
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source
from wsi.slide.ranges import ByteRange, Data, FileSource, RangeSource
from wsi.slides.slides import compute_reference_digest

if TYPE_CHECKING:
    from adapters.aws_clients import AwsClients
    from adapters.s3.slides import S3SlideStore

DEFAULT_REGION = "us-east-1"


class Sources:
    """An opener of slides. S3 is reached only when a slide is there; region, endpoint and credentials come the SDK's
    usual way."""

    def __init__(self) -> None:
        self._stores: dict[str, S3SlideStore] = {}

    def list_entries(self, prefix: str, *, below: bool = True) -> Sequence[FileEntry]:
        """See `tessera.local_run.inputs.listing.Remote`."""
        from adapters.s3.listing import list_objects

        try:
            objects = list_objects(self._clients, prefix, below=below)
        except SourceMissing as error:
            raise UsageError(f"The bucket of {prefix} does not exist or may not be listed") from error
        return [
            FileEntry(location=one.uri, size=one.stored.size, stamp=one.stored.etag, real=one.uri) for one in objects
        ]

    def open_source(self, entry: FileEntry) -> RangeSource:
        """See `tessera.local_run.inputs.listing.Remote`."""
        return self._store(entry.location).open_listed(entry.location, StoredObject(size=entry.size, etag=entry.stamp))

    @contextmanager
    def open(self, slide: SlideInput) -> Iterator[SlideSource]:
        """Yield the source of a slide, and close its files at the end. Raises SourceError."""
        source = self._remote(slide) if slide.is_remote else _local(slide)
        try:
            yield source
        finally:
            for _, file in source.files:
                close = getattr(file, "close", None)  # range sources of S3 hold nothing open
                if close is not None:
                    close()

    def compute_digest(self, slide: SlideInput, source: SlideSource) -> str:
        """Return the digest as the API computes it, so that a run here and a job there name the same slide alike. Reads
        every byte of a slide on this disk; S3 tells its own."""
        if slide.is_remote:
            store = self._store(slide.location)
            return compute_slide_digest([compute_reference_digest(uri, store.head(uri)) for uri in slide.files])
        return compute_slide_digest([compute_file_digest(_parts(file)) for _, file in source.files])

    def _remote(self, slide: SlideInput) -> SlideSource:
        store = self._store(slide.location)
        names = make_relative_names(slide.files)
        return SlideSource(files=tuple((name, store.open(uri)) for name, uri in zip(names, slide.files, strict=True)))

    def _store(self, uri: str) -> S3SlideStore:
        """Return the bucket's one store: what reads ranges is shared by all of its objects."""
        from adapters.s3.slides import S3SlideStore

        bucket = uri.removeprefix("s3://").partition("/")[0]
        store = self._stores.get(bucket)
        return store or self._stores.setdefault(bucket, S3SlideStore(self._clients, bucket))

    @cached_property
    def _clients(self) -> AwsClients:
        from adapters.aws_clients import AwsClients

        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or DEFAULT_REGION
        return AwsClients(region, os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"))


def make_plan_uris(slide: SlideInput, source: SlideSource) -> tuple[tuple[str, str, str], ...]:
    """Return (relative name, uri, etag) of each file, as a plan stores them."""
    paths = slide.files or [slide.location] * len(source.files)
    uris = paths if slide.is_remote else [Path(path).resolve().as_uri() for path in paths]
    return tuple((name, uri, file.etag) for (name, file), uri in zip(source.files, uris, strict=True))


def _local(slide: SlideInput) -> SlideSource:
    """Return the source of a slide on this disk. Raises SourceMissing."""
    if not slide.files:
        return open_local_source(Path(slide.location))
    if not os.path.lexists(slide.files[0]):
        near = find_near_path(slide.files[0])
        raise SourceMissing(f"The file does not exist{f'; did you mean {near}?' if near else ': check its path.'}")
    names = _use_link_name(make_relative_names(slide.files), slide.location)
    files = tuple((name, FileSource(Path(path))) for name, path in zip(names, slide.files, strict=True))
    return SlideSource(files=files, local_path=Path(slide.files[0]))


def make_relative_names(files: Sequence[str]) -> tuple[str, ...]:
    """Return the names by which a slide's reader and an upload know its files: their paths in the folder that holds
    them all. Files of several folders, as some archives export a DICOM series, have their own names where these
    differ."""
    folders = [file.rpartition("/")[0] for file in files]
    common, names = find_common_folder(folders), [file.rpartition("/")[2] for file in files]
    if common != folders[0] and len(set(names)) == len(names):
        return tuple(names)
    return tuple(file.removeprefix(common).removeprefix("/") for file in files)


def _use_link_name(names: Sequence[str], location: str) -> Sequence[str]:
    """Return the names of a slide whose first file is the target of a link, with the name of the link instead."""
    first, link = PurePosixPath(names[0]), PurePosixPath(location)
    if first.suffix != link.suffix or str(first) == link.name:
        return names
    old, new = f"{first.stem}/", f"{link.stem}/"
    return [link.name, *(new + name.removeprefix(old) if name.startswith(old) else name for name in names[1:])]


def _parts(file: RangeSource) -> Iterator[Data]:
    starts = range(0, file.size, PART_SIZE)
    return file.read_many([ByteRange(start, min(start + PART_SIZE, file.size)) for start in starts])
