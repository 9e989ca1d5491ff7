"""Prefixes and tags by which a bucket's rules know objects: for the code that makes buckets, and for the code that
writes objects."""

from __future__ import annotations

#: Prefix of keys in the results bucket, the same as `wsi.keys.SHARDS`: results and checkpoints of shards, which nothing
#: uses after `wsi.ledger_rules.TAKE_OVER_DAYS`.
SHARDS = "shards/"
SHARD_DAYS = 30
UPLOAD_DAYS = 3  #: after these, the parts of an unfinished upload are removed (F-44)
ARCHIVED = ("tessera-archived", "true")  #: tag of a slide's files that go to Deep Archive
#: Prefix of keys in the models bucket, of packages that admins upload; the same as `wsi.keys.PACKAGES`.
PACKAGES = "packages/"
