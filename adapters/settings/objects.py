"""How a bucket's rules know objects: for who makes the buckets, and for who writes the objects."""

from __future__ import annotations

#: Of keys in the results bucket; `wsi.keys.SHARDS` is the same, seen from who writes: results and checkpoints of
#: shards, which nobody counts on after `wsi.ledger_rules.TAKE_OVER_DAYS`.
SHARDS = "shards/"
SHARD_DAYS = 30
UPLOAD_DAYS = 3  #: then the parts of an upload that nobody completed are removed (F-44)
ARCHIVED = ("tessera-archived", "true")  #: tag of a slide's files that go to Deep Archive
