"""One message that always fails never holds up the others of its batch, in any function behind a queue."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.settings.queues import QUEUES, WOKEN
from lambdas import inspect, notify, plan, relay, stitch
from lambdas.logs import make_logger
from lambdas.queues.events import make_queue_handler
from local.lambda_context import LambdaContext
from tests.fakes.notices import MemoryMail, MemoryWebhooks
from tests.lambdas.test_queue_handlers import failed, make_sweep, sqs_event, submitted
from wsi.errors import NewerSchema
from wsi.slide.files.scratch import ScratchSpace

NOWHERE = "0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"
#: Bodies that no handler can read.
POISON = ("no JSON", "[]", '"text"', "null", "{}", '{"job_id": 7, "slide_id": 7}', "[" * 100_000, "")


def make_handlers(installation, tmp_path):
    parts = {"ledger": installation.ledger, "objects": installation.objects}
    slides = {**parts, "slides": installation.slides, "scratch": ScratchSpace(tmp_path)}
    return {
        "wake": relay.make_handler(
            ledger=installation.ledger,
            queues=installation.queues,
            publisher=installation.publisher,
            shards_in_flight=12,
        ),
        "inspect": inspect.make_handler(**slides),
        "plan": plan.make_handler(**slides, queues=installation.queues),
        "stitch": stitch.make_handler(**parts, queues=installation.queues),
        "notify": notify.make_handler(ledger=installation.ledger, webhooks=MemoryWebhooks(), mail=MemoryMail()),
    }


@pytest.mark.parametrize("queue", sorted(WOKEN))
@pytest.mark.parametrize("receives", [1, 5])
def test_only_what_cannot_be_read_of_a_batch_comes_again(installation, tmp_path, queue, receives):
    good = {"v": 1, "job_id": NOWHERE, "slide_id": NOWHERE}
    event = sqs_event(*[good] * (len(POISON) + 2), receives=receives)
    for record, text in zip(event["Records"][1:], POISON, strict=False):
        record["body"] = text
    answer = make_handlers(installation, tmp_path)[queue](event, LambdaContext(queue, 30.0))
    expected = [] if queue == "wake" else [f"m{n}" for n in range(1, len(POISON) + 1)]
    assert failed(answer) == expected, "a wake-up says nothing, so none is wrong"


def test_what_a_newer_release_must_do_is_offered_again_and_never_dies(installation):
    """The sweep sends it again for a day; as a dead letter it would be ended."""
    given_up: list[Any] = []

    def work(body: dict[str, Any], traceparent: str | None) -> None:
        raise NewerSchema("A newer release planned this job.")

    handle = make_queue_handler(work, make_logger("test"), give_up=given_up.append)
    assert failed(handle(sqs_event({"job_id": NOWHERE}, receives=4), None)) == ["m0"]
    assert failed(handle(sqs_event({"job_id": NOWHERE}, receives=5), None)) == []
    assert given_up == []


def test_the_sweep_collects_the_dead_letters_of_every_queue(installation):
    job = submitted(installation, installation.ready())
    installation.queues.send_text("plan-dlq", f'{{"v": 1, "job_id": "{job}"}}')
    for queue in QUEUES:
        installation.queues.send_text(f"{queue}-dlq", "no JSON")
    sweep = make_sweep(installation)
    assert sweep({}, None)["dead_letters"] == len(QUEUES) + 1
    assert [installation.queues.depth(f"{queue}-dlq") for queue in QUEUES] == [0] * len(QUEUES)
    assert sum(event.kind == "dead_letter" for event in installation.ledger.books.events) == 1
