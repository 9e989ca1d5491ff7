"""Push over the real resolvers: who hears what, proven with gql's AppSync transport."""

from __future__ import annotations

import pytest
from gql.transport.exceptions import TransportQueryError, TransportServerError

from tests.local.appsync_server import job_update
from tests.local.subscribers import ALL, ONE, hear


def test_a_subscriber_hears_every_field_of_its_tenants_updates(appsync):
    (heard,) = hear(appsync.url, [("tsk_ours_1", ALL)], [job_update(seq=1), job_update(job="job-2", seq=2)])
    assert [data["onJobUpdate"]["progressSeq"] for data in heard] == [1, 2]
    assert heard[0]["onJobUpdate"] == {
        "jobId": "job-1",
        "tenant": "tenant-a",
        "slideId": "slide-1",
        "status": "RUNNING",
        "version": 3,
        "progressSeq": 1,
        "progress": 0.5,
        "tilesPlanned": 100,
        "tilesInferred": 49,
        "tilesUnreadable": 1,
        "tilesPerSecond": 12.5,
        "etaSeconds": None,
        "reason": None,
    }


def test_a_subscriber_of_one_job_hears_that_job_alone(appsync):
    updates = [job_update(job="job-2"), job_update(job="job-1", seq=7)]
    (heard,) = hear(appsync.url, [("tsk_ours_1", ONE)], updates)
    assert heard == [{"update": {"jobId": "job-1", "tenant": "tenant-a", "progressSeq": 7}}]


def test_a_subscriber_of_another_tenant_hears_nothing(appsync):
    everything = ("tsk_theirs_2", ALL)
    by_job_id = ("tsk_theirs_2", ONE)
    ours, *theirs = hear(appsync.url, [("tsk_ours_1", ALL), everything, by_job_id], [job_update()])
    assert len(ours) == 1
    assert theirs == [[], []]


def test_without_the_filter_line_another_tenant_would_hear_all(leaky_appsync):
    """The filter that the resolver sets is what protects: nothing in this server or its schema does."""
    everything = ("tsk_theirs_2", ALL)
    by_job_id = ("tsk_theirs_2", ONE)
    theirs = hear(leaky_appsync.url, [everything, by_job_id], [job_update()])
    assert [len(heard) for heard in theirs] == [1, 1]


def test_a_caller_without_tenant_is_refused(appsync):
    with pytest.raises(TransportQueryError, match="Unauthorized"):
        hear(appsync.url, [("tsk_none_3", ALL)], [])


def test_an_unknown_token_is_refused_at_the_door(appsync):
    with pytest.raises(TransportServerError, match="not authorized"):
        hear(appsync.url, [("tsk_unknown_4", ALL)], [])
