"""The deployment may not import the domain, so both hold the list of queues."""

from __future__ import annotations

from adapters.settings import functions, queues
from wsi.records import notices


def test_domain_and_deployment_name_the_same_queues() -> None:
    assert queues.QUEUES == notices.QUEUES
    assert tuple(notices.SHARD_QUEUES.values()) == queues.SHARD_QUEUES


def test_each_queue_wakes_a_function_or_is_polled_by_pods() -> None:
    assert {*functions.WOKEN, *queues.POD_QUEUES} == set(queues.QUEUES)
    assert set(functions.WOKEN.values()) <= set(functions.TIMEOUTS)
