"""The deployment may not import the domain, so the domain's names of queues are checked against the table here."""

from __future__ import annotations

from adapters.settings import queues
from wsi.records import notices


def test_the_domain_sends_shards_to_queues_of_the_table() -> None:
    assert tuple(notices.SHARD_QUEUES.values()) == queues.SHARD_QUEUES


def test_each_function_is_woken_by_one_queue() -> None:
    names = [function.name for function in queues.WOKEN.values()]
    assert len(names) == len(set(names))
