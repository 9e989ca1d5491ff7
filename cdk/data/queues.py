"""The queues of the design, each with its dead letters and the visibility that its consumer needs."""

from __future__ import annotations

from collections.abc import Iterator

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from adapters.settings import queues as numbers
from adapters.settings.functions import TIMEOUTS, WOKEN

#: SQL is the truth, and the sweep sends again what was lost: a message need not outlive a long weekend. Less than the
#: dead letters have, since a message keeps its age when it is moved (F-6).
_RETENTION = cdk.Duration.days(4)
_LONGEST_POLL = cdk.Duration.seconds(20)


class JobQueues(Construct):
    """Queue by its name in the design: `queues["plan"]`. `dead_letters` likewise.

    Encrypted by SQS's own key: bodies hold ids only, and a key of ours would cost a request to KMS a message and a
    grant in every role.
    """

    def __init__(self, scope: Construct, id: str, *, prefix: str) -> None:
        super().__init__(scope, id)
        self.dead_letters: dict[str, sqs.Queue] = {}
        self._queues: dict[str, sqs.Queue] = {}
        for name in numbers.QUEUES:
            dead = sqs.Queue(
                self,
                f"{name}{numbers.DEAD_LETTERS}",
                queue_name=f"{prefix}{name}{numbers.DEAD_LETTERS}",
                encryption=sqs.QueueEncryption.SQS_MANAGED,
                enforce_ssl=True,
                retention_period=cdk.Duration.seconds(numbers.DEAD_LETTER_SECONDS),
                redrive_allow_policy=self._only_from(f"{prefix}{name}"),
            )
            self.dead_letters[name] = dead
            self._queues[name] = sqs.Queue(
                self,
                name,
                queue_name=f"{prefix}{name}",
                encryption=sqs.QueueEncryption.SQS_MANAGED,
                enforce_ssl=True,
                visibility_timeout=cdk.Duration.seconds(_visibility(name)),
                retention_period=_RETENTION,
                receive_message_wait_time=_LONGEST_POLL,
                dead_letter_queue=sqs.DeadLetterQueue(queue=dead, max_receive_count=_receives(name)),
            )

    def _only_from(self, name: str) -> sqs.RedriveAllowPolicy:
        """By name: the queue itself refers to its dead letters."""
        arn = cdk.Stack.of(self).format_arn(service="sqs", resource=name)
        source = sqs.Queue.from_queue_arn(self, f"{name}Source", arn)
        return sqs.RedriveAllowPolicy(redrive_permission=sqs.RedrivePermission.BY_QUEUE, source_queues=[source])

    def __getitem__(self, name: str) -> sqs.Queue:
        return self._queues[name]

    def __iter__(self) -> Iterator[str]:
        """Names, in the order of a slide's way."""
        return iter(self._queues)


def _visibility(name: str) -> int:
    if name in numbers.POD_QUEUES:
        return numbers.POD_VISIBILITY
    return numbers.lambda_visibility(TIMEOUTS[WOKEN[name]])


def _receives(name: str) -> int:
    return numbers.SHARD_RECEIVES if name in numbers.SHARD_QUEUES else numbers.RECEIVES
