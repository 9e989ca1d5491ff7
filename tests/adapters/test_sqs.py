from __future__ import annotations

import json
import time

import pytest
from moto import mock_aws

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_queues
from adapters.sqs import SqsQueues
from tests.contracts.queues import QueuesContract
from tests.ministack import REGION
from wsi.records.notices import OutgoingMessage


def provisioned(clients: AwsClients, prefix: str) -> SqsQueues:
    """Our queues; "plan" gives up after two receives, as the contract wants."""
    create_queues(clients, prefix)
    url = clients.sqs.get_queue_url(QueueName=f"{prefix}plan")["QueueUrl"]
    attributes = clients.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])["Attributes"]
    policy = {**json.loads(attributes["RedrivePolicy"]), "maxReceiveCount": 2}
    clients.sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": json.dumps(policy)})
    return SqsQueues(clients, prefix)


class _SleepsForReal:
    @pytest.fixture
    def pass_time(self):
        return time.sleep


class TestOnMoto(_SleepsForReal, QueuesContract):
    @pytest.fixture
    def queues(self, credentials):
        with mock_aws():
            yield provisioned(AwsClients(REGION), "tessera-")


@pytest.mark.stack
class TestOnMiniStack(_SleepsForReal, QueuesContract):
    @pytest.fixture
    def queues(self, clients, fresh_name):
        return provisioned(clients, f"{fresh_name}-")


def test_shard_queues_outlast_spot_reclaims_and_lambda_queues_outlast_their_function(credentials):
    with mock_aws():
        clients = AwsClients(REGION)
        create_queues(clients, "tessera-")

        def attributes(name):
            url = clients.sqs.get_queue_url(QueueName=f"tessera-{name}")["QueueUrl"]
            found = clients.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
            policy = json.loads(found.get("RedrivePolicy", "{}"))
            return int(found["VisibilityTimeout"]), policy.get("maxReceiveCount"), int(found["MessageRetentionPeriod"])

        assert attributes("shards-normal")[:2] == (180, 10)
        assert attributes("plan")[:2] == (1800, 5)
        assert attributes("plan-dlq")[2] == 14 * 24 * 3600


def test_the_group_of_a_message_reaches_sqs_F8(credentials):
    with mock_aws():
        clients = AwsClients(REGION)
        queues = provisioned(clients, "tessera-")
        queues.send("plan", {"job_id": "alone"}, group="tenant-a", traceparent="")
        tenants = ("tenant-a", "tenant-b")
        batch = [OutgoingMessage(body={"job_id": tenant}, group=tenant, traceparent="") for tenant in tenants]
        assert queues.send_batch("plan", batch) == {}
        url = clients.sqs.get_queue_url(QueueName="tessera-plan")["QueueUrl"]
        found = clients.sqs.receive_message(QueueUrl=url, AttributeNames=["All"], MaxNumberOfMessages=10)["Messages"]
        groups = {json.loads(raw["Body"])["job_id"]: raw["Attributes"]["MessageGroupId"] for raw in found}
        assert groups == {"alone": "tenant-a", "tenant-a": "tenant-a", "tenant-b": "tenant-b"}


@pytest.mark.parametrize("garbage", ["not json", "[1]", '"text"', "{"])
def test_a_message_that_is_no_json_object_arrives_empty_and_goes_the_way_of_dead_letters(credentials, garbage):
    with mock_aws():
        clients = AwsClients(REGION)
        queues = provisioned(clients, "tessera-")
        url = clients.sqs.get_queue_url(QueueName="tessera-plan")["QueueUrl"]
        clients.sqs.send_message(QueueUrl=url, MessageBody=garbage)
        (message,) = queues.receive("plan", limit=1, wait_seconds=0, visibility_seconds=30)
        assert message.body == {}
