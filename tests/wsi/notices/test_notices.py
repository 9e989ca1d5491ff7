"""The relay on the in-memory ports."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.installation import ANALYST, Installation
from wsi.errors import SourceUnavailable
from wsi.jobs.jobs import JobRequest, cancel_job, submit_job
from wsi.jobs.sweeping import sweep
from wsi.notices.outbox import relay, wake
from wsi.tracing import make_traceparent

RUN_SECONDS = 30.0
CLAIM_SECONDS = 60.0  #: the longest claim of such a run


class Dead(Exception):
    """The process is gone."""


class RefusingQueues:
    """A queue service that is down."""

    def send(self, *_, **__):
        raise SourceUnavailable("The queue service did not answer.")


@pytest.fixture
def installation():
    return Installation()


def run(installation, **changed):
    ports = {"ledger": installation.ledger, "queues": installation.queues, "publisher": installation.publisher}
    return relay(**{**ports, "seconds": RUN_SECONDS, "shards_in_flight": 12, **changed})


def submitted(installation, traceparent=None) -> UUID:
    request = JobRequest(slide_id=installation.ready(), model="stain-density")
    submission = submit_job(
        ANALYST,
        request,
        idempotency_key=None,
        traceparent=traceparent or make_traceparent(),
        ledger=installation.ledger,
        queues=installation.queues,
    )
    return submission.job.id


def received(installation, queue):
    return installation.queues.receive(queue, limit=10, wait_seconds=0, visibility_seconds=60)


def test_everything_in_the_outbox_goes_out_once(installation):
    traceparent = make_traceparent()
    job = submitted(installation, traceparent)
    assert run(installation).failed == 0
    (message,) = received(installation, "plan")
    assert message.body == {"v": 1, "job_id": str(job)}
    assert message.traceparent == traceparent
    (inspect,) = received(installation, "inspect")
    assert set(inspect.body) == {"v", "slide_id"}
    assert [(update.job_id, update.status) for update in installation.publisher.published] == [(str(job), "QUEUED")]
    assert run(installation).sent == 0


def test_a_relay_that_dies_between_sending_and_marking_sends_again(installation):
    submitted(installation)

    class DiesBeforeMarking:
        admit_shards = installation.ledger.admit_shards
        claim_outbox = installation.ledger.claim_outbox

        def mark_sent(self, ids):
            raise Dead

    with pytest.raises(Dead):
        run(installation, ledger=DiesBeforeMarking())
    assert run(installation).sent == 0  # still claimed by the dead one
    installation.clock.pass_seconds(CLAIM_SECONDS + 1)
    assert run(installation).sent > 0
    assert len(received(installation, "plan")) == 2


def test_a_row_that_can_not_be_sent_holds_up_no_other_and_comes_again(installation):
    job = submitted(installation)
    installation.publisher.refusing = True
    first = run(installation)
    assert (first.failed, len(received(installation, "plan"))) == (1, 1)
    installation.publisher.refusing = False
    installation.clock.pass_seconds(CLAIM_SECONDS + 1)
    assert run(installation).sent == 1
    assert [update.job_id for update in installation.publisher.published] == [str(job)]


def test_updates_carry_the_version_that_orders_them(installation):
    job = submitted(installation)
    cancel_job(ANALYST, job, ledger=installation.ledger, queues=installation.queues)
    run(installation)
    assert [(update.version, update.status) for update in installation.publisher.published] == [
        (1, "QUEUED"),
        (2, "CANCELLED"),
    ]


def test_a_wake_up_that_fails_is_logged_and_harms_nobody(installation, caplog):
    wake(RefusingQueues())
    assert "relay was not woken" in caplog.text
    job = submit_job(
        ANALYST,
        JobRequest(slide_id=installation.ready(), model="stain-density"),
        idempotency_key=None,
        traceparent=make_traceparent(),
        ledger=installation.ledger,
        queues=RefusingQueues(),
    ).job
    assert installation.ledger.get_job(ANALYST, job.id).version == 1


def test_the_sweep_wakes_the_relay_only_when_it_put_something_right(installation):
    submitted(installation)
    run(installation)
    before = installation.queues.depth("wake")
    how = {
        "ledger": installation.ledger,
        "queues": installation.queues,
        "upload_days": 3.0,
        "stuck_seconds": 900.0,
        "give_up_seconds": 86_400.0,
        "dollars_per_gpu_hour": 1.0,
    }
    assert sweep(**how).messages_resent == 0
    assert installation.queues.depth("wake") == before
    installation.clock.pass_seconds(1000)
    assert sweep(**how).messages_resent == 1
    assert installation.queues.depth("wake") == before + 1
