"""The queues: who gets a message how often, for how long, and where it goes then."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.settings.queues import POD_QUEUES, QUEUES, SHARD_QUEUES, WOKEN
from tests.cdk.templates import Templates

DAY = 24 * 3600


def queues(templates: Templates) -> dict[str, dict[str, Any]]:
    """Properties by name in the design; "plan-dlq" among them."""
    found = templates.resources("AWS::SQS::Queue", "data").values()
    prefix = templates.deployment.queue_prefix
    return {queue["Properties"]["QueueName"].removeprefix(prefix): queue["Properties"] for queue in found}


def test_there_is_a_queue_for_every_way_and_one_for_its_dead_letters(templates: Templates) -> None:
    assert set(queues(templates)) == {*QUEUES, *(f"{name}-dlq" for name in QUEUES)}


def test_dead_letters_are_kept_fourteen_days_and_longer_than_messages_F6(templates: Templates) -> None:
    found = queues(templates)
    for name in QUEUES:
        assert found[f"{name}-dlq"]["MessageRetentionPeriod"] == 14 * DAY
        # A message keeps its age when it is moved.
        assert found[name]["MessageRetentionPeriod"] <= 4 * DAY


def test_what_was_received_too_often_goes_to_the_queues_own_dead_letters_F5_F6(templates: Templates) -> None:
    by_id = templates.resources("AWS::SQS::Queue", "data")
    prefix = templates.deployment.queue_prefix
    for name in QUEUES:
        redrive = queues(templates)[name]["RedrivePolicy"]
        target = by_id[redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]]
        assert target["Properties"]["QueueName"] == f"{prefix}{name}-dlq"
        assert redrive["maxReceiveCount"] == (10 if name in SHARD_QUEUES else 5)


def test_dead_letters_come_from_their_queue_alone_F6(templates: Templates) -> None:
    region, prefix = templates.deployment.region, templates.deployment.queue_prefix
    for name in QUEUES:
        allowed = queues(templates)[f"{name}-dlq"]["RedriveAllowPolicy"]
        source = ["", [f"arn:aws:sqs:{region}:", {"Ref": "AWS::AccountId"}, f":{prefix}{name}"]]
        assert allowed == {"redrivePermission": "byQueue", "sourceQueueArns": [{"Fn::Join": source}]}


@pytest.mark.parametrize("name", sorted(WOKEN))
def test_a_message_stays_hidden_six_times_as_long_as_its_function_may_take_F7(templates: Templates, name: str) -> None:
    assert queues(templates)[name]["VisibilityTimeout"] >= 6 * WOKEN[name].timeout_seconds


@pytest.mark.parametrize("name", POD_QUEUES)
def test_a_message_of_a_dead_worker_comes_back_in_minutes_F1(templates: Templates, name: str) -> None:
    assert queues(templates)[name]["VisibilityTimeout"] == 180


def test_receivers_wait_for_messages_instead_of_asking_again(templates: Templates) -> None:
    assert {queues(templates)[name]["ReceiveMessageWaitTimeSeconds"] for name in QUEUES} == {20}


def test_queues_are_standard_and_so_fair_by_message_group_F8(templates: Templates) -> None:
    assert [name for name, queue in queues(templates).items() if "FifoQueue" in queue] == []


def test_messages_are_encrypted(templates: Templates) -> None:
    assert {queue["SqsManagedSseEnabled"] for queue in queues(templates).values()} == {True}


def test_messages_travel_by_TLS_only(templates: Templates) -> None:
    denied = [
        policy["Properties"]["Queues"][0]["Ref"]
        for policy in templates.resources("AWS::SQS::QueuePolicy", "data").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
        and statement["Action"] == "sqs:*"
        and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    ]
    assert sorted(denied) == sorted(templates.resources("AWS::SQS::Queue", "data"))
