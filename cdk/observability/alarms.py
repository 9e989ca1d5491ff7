"""An alarm: a metric's threshold, what it means to users if it is crossed, and where the runbook says what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk.deployment import Deployment
from cdk.runbook import describe_alarm


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    name: str  #: after the installation's own
    metric: cloudwatch.IMetric
    threshold: float  #: reached or passed, it alarms
    periods: int = 1  #: of the metric, in a row
    why: str  #: a sentence: what it means to users
    anchor: str  #: heading in the runbook
    below: bool = False  #: alarm on values that are too low
    missing_is_bad: bool = False  #: no data means trouble too, else that there was nothing to measure


class Alarms(Construct):
    """`made`: the alarms by name."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, topic: sns.ITopic, alarms: Iterable[Alarm]
    ) -> None:
        super().__init__(scope, id)
        self.made = {alarm.name: self._alarm(deployment, alarm) for alarm in alarms}
        notify(self.made.values(), topic)

    def _alarm(self, deployment: Deployment, alarm: Alarm) -> cloudwatch.Alarm:
        operators = cloudwatch.ComparisonOperator
        missing = cloudwatch.TreatMissingData
        return cloudwatch.Alarm(
            self,
            alarm.name,
            alarm_name=f"{deployment.prefix}-{alarm.name}",
            alarm_description=describe_alarm(alarm.why, alarm.anchor),
            metric=alarm.metric,
            threshold=alarm.threshold,
            comparison_operator=operators.LESS_THAN_OR_EQUAL_TO_THRESHOLD
            if alarm.below
            else operators.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=alarm.periods,
            treat_missing_data=missing.BREACHING if alarm.missing_is_bad else missing.NOT_BREACHING,
        )


def notify(alarms: Iterable[cloudwatch.AlarmBase], topic: sns.ITopic) -> None:
    """Notify the topic when the alarm begins and when it is over."""
    for alarm in alarms:
        alarm.add_alarm_action(actions.SnsAction(topic))
        alarm.add_ok_action(actions.SnsAction(topic))
