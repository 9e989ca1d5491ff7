"""The queues of the design, each with its dead letters and the visibility that its consumer needs."""

from __future__ import annotations

from collections.abc import Iterator

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from adapters.settings.queues import DEAD_LETTER_SECONDS, DEAD_LETTERS, QUEUES

#: SQL is the truth, and the sweep resends lost messages: a message need not outlive a long weekend. It is less than for
#: dead letters, since a message keeps its age when it is moved (F-6).
_RETENTION = cdk.Duration.days(4)
_LONGEST_POLL = cdk.Duration.seconds(20)


class JobQueues(Construct):
    """The queues by their names in the design: `queues["plan"]`. `dead_letters` likewise.

    SQS's own key encrypts them: bodies hold ids only, and a key of ours would cost a request to KMS for each message
    and a grant in every role.
    """

    def __init__(self, scope: Construct, id: str, *, prefix: str) -> None:
        super().__init__(scope, id)
        self.dead_letters: dict[str, sqs.Queue] = {}
        self._queues: dict[str, sqs.Queue] = {}
        for name, row in QUEUES.items():
            dead = sqs.Queue(
                self,
                f"{name}{DEAD_LETTERS}",
                queue_name=f"{prefix}{name}{DEAD_LETTERS}",
                encryption=sqs.QueueEncryption.SQS_MANAGED,
                enforce_ssl=True,
                retention_period=cdk.Duration.seconds(DEAD_LETTER_SECONDS),
                redrive_allow_policy=self._only_from(f"{prefix}{name}"),
            )
            self.dead_letters[name] = dead
            self._queues[name] = sqs.Queue(
                self,
                name,
                queue_name=f"{prefix}{name}",
                encryption=sqs.QueueEncryption.SQS_MANAGED,
                enforce_ssl=True,
                visibility_timeout=cdk.Duration.seconds(row.visibility_seconds),
                retention_period=_RETENTION,
                receive_message_wait_time=_LONGEST_POLL,
                dead_letter_queue=sqs.DeadLetterQueue(queue=dead, max_receive_count=row.receives),
            )

    def _only_from(self, name: str) -> sqs.RedriveAllowPolicy:
        """Return a redrive policy that names the queue: the queue itself refers to its dead letters."""
        arn = cdk.Stack.of(self).format_arn(service="sqs", resource=name)
        source = sqs.Queue.from_queue_arn(self, f"{name}Source", arn)
        return sqs.RedriveAllowPolicy(redrive_permission=sqs.RedrivePermission.BY_QUEUE, source_queues=[source])

    def __getitem__(self, name: str) -> sqs.Queue:
        return self._queues[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order of a slide's path through the system."""
        return iter(self._queues)
