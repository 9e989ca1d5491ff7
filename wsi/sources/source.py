"""The sources of a tenant: which objects of the customers' buckets its slides by reference may be.

The database holds the same rule (`tessera.covers`). Both compare text as it is: nothing is decoded, folded or
normalised, so that an address has one meaning for us, for S3 and for the policy of a session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from wsi.errors import Invalid, SourceOutside

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
#: What a policy of IAM takes as it is: `*`, `?` and `$` mean something there, and other letters it does not take.
_PREFIX = re.compile(r"[ !#%-)+->@-\[\]-~]+/")
_LONGEST_PREFIX = 256  #: a session's policy shares its room with the tags of the session
#: What a key may not hold: the range reader's client refuses such keys, and SQL takes no NUL.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Source:
    """A part of a bucket: the objects whose keys begin with `prefix`, which ends with a slash; all of them if it is
    empty."""

    bucket: str
    prefix: str = ""

    @property
    def uri(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"

    def contains(self, uri: str) -> bool:
        """Return whether the object at `uri` lies in the source."""
        return uri.startswith(self.uri) and is_plain_key(uri[len(f"s3://{self.bucket}/") :])


class SourceRecords(Protocol):
    """The part of a ledger that knows the sources."""

    def list_sources(self, tenant: UUID) -> tuple[Source, ...]: ...


def is_plain_key(key: str) -> bool:
    """Return whether a key has no empty part, no '.' or '..' and no control character."""
    return all(part not in ("", ".", "..") for part in key.split("/")) and _CONTROL.search(key) is None


def make_source(bucket: str, prefix: str) -> Source:
    """Return the source. Raises Invalid for names that could cover more than they seem to."""
    if not _BUCKET.fullmatch(bucket):
        raise Invalid("The bucket of a source is a bucket's name alone, without s3:// and without a pattern.")
    if prefix and not (_PREFIX.fullmatch(prefix) and len(prefix) <= _LONGEST_PREFIX and is_plain_key(prefix[:-1])):
        raise Invalid(
            "The prefix of a source ends with a slash and has no empty part, no '.' or '..', only printable ASCII, none"
            ' of * ? $ " \\ and at most 256 characters; leave it out for the whole bucket.'
        )
    return Source(bucket, prefix)


def find_source(sources: Iterable[Source], uri: str) -> Source:
    """Return the narrowest source that covers the object. Raises SourceOutside."""
    covering = [source for source in sources if source.contains(uri)]
    if not covering:
        raise make_outside_error()
    return max(covering, key=lambda source: len(source.prefix))


def make_outside_error() -> SourceOutside:
    """Return the one answer about all objects outside, those that exist and those that do not."""
    return SourceOutside(
        "This address lies outside the buckets and prefixes that your tenant may read. Ask the operator of this"
        " installation to add it."
    )
