"""The objective, 99.9 % over 30 days, and the alarms that fire when the error budget burns too fast.

Each alarm has two windows, so that it starts and ends soon: the budget burns too fast over the long one, and still does
in the short. The numbers are those of the SRE workbook: at 14.4 times the budget's pace, 2 % of a month's budget are
gone in an hour; at 6 times, 5 % in six hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from adapters.settings import metrics as names
from cdk.deployment import Deployment
from cdk.observability.alarms import notify
from cdk.observability.metrics import FIVE_MINUTES, LIVE_STATES, Metrics
from cdk.runbook import describe_alarm

OBJECTIVE = 0.999
DAYS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Objective:
    """An objective. `bad` and `all` are expressions over `metrics`. With fewer than `least` in all nothing burns, since
    one of three is no reliable third.

    `why` ends the sentence of the alarm.
    """

    name: str
    metrics: Mapping[str, cloudwatch.IMetric]
    bad: str
    all: str
    least: int
    why: str
    anchor: str

    def measure_burn_rate(self, window: cdk.Duration) -> cloudwatch.MathExpression:
        """Return how many times too fast the budget burns: 1 uses it up in exactly `DAYS`."""
        return self._math(self._burnt, window, "times the budget's pace")

    def measure_budget_left(self) -> cloudwatch.MathExpression:
        """Return the % of the budget of the last `DAYS` that is left; below 0, it was overdrawn."""
        return self._math(f"100 - 100 * {self._burnt}", cdk.Duration.days(DAYS), self.name)

    @property
    def _burnt(self) -> str:
        """Return the expression for the used share of a window's budget."""
        return f"IF(({self.all}) >= {self.least}, ({self.bad}) / ({self.all}) / {round(1 - OBJECTIVE, 6)}, 0)"

    def _math(self, expression: str, period: cdk.Duration, label: str) -> cloudwatch.MathExpression:
        return cloudwatch.MathExpression(
            expression=expression, using_metrics={**self.metrics}, period=period, label=label
        )


def make_objectives(m: Metrics) -> list[Objective]:
    live = {
        state.lower(): m.measure_sweep(names.name_jobs_metric(state), "Sum", period=FIVE_MINUTES)
        for state in LIVE_STATES
    }
    return [
        Objective(
            name="api",
            metrics={"requests": m.count_requests(), "failed": m.count_failed()},
            bad="failed",
            all="requests",
            least=100,
            why="requests are answered with 5xx",
            anchor="objective-api",
        ),
        # Both are counted once a minute, so these are minutes of jobs.
        Objective(
            name="progress",
            metrics={**live, "stalled": m.measure_sweep(names.JOBS_STALLED, "Sum", period=FIVE_MINUTES)},
            bad="stalled",
            all=" + ".join(live),
            least=1,
            why="jobs are live and nothing moves them",
            anchor="objective-progress",
        ),
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Speed:
    name: str
    rate: float
    long: cdk.Duration
    short: cdk.Duration


_SPEEDS = (
    _Speed(name="fast", rate=14.4, long=cdk.Duration.hours(1), short=cdk.Duration.minutes(5)),
    _Speed(name="slow", rate=6, long=cdk.Duration.hours(6), short=cdk.Duration.minutes(30)),
)


class BurnAlarms(Construct):
    """`made`: one alarm for each objective and speed. The two alarms that it combines notify nobody."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, topic: sns.ITopic, objectives: list[Objective]
    ) -> None:
        super().__init__(scope, id)
        self.made = [self._alarm(deployment, one, speed) for one in objectives for speed in _SPEEDS]
        notify(self.made, topic)

    def _alarm(self, deployment: Deployment, objective: Objective, speed: _Speed) -> cloudwatch.CompositeAlarm:
        name = f"objective-{objective.name}-{speed.name}"
        text = describe_alarm(
            f"The error budget burns over {speed.rate:g} times too fast: {objective.why}.", objective.anchor
        )
        windows = [
            cloudwatch.Alarm(
                self,
                f"{name}-{window}",
                alarm_name=f"{deployment.prefix}-{name}-{window}",
                alarm_description=text,
                metric=objective.measure_burn_rate(period),
                threshold=speed.rate,
                comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
                evaluation_periods=1,
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            )
            for window, period in (("long", speed.long), ("short", speed.short))
        ]
        return cloudwatch.CompositeAlarm(
            self,
            name,
            composite_alarm_name=f"{deployment.prefix}-{name}",
            alarm_description=text,
            alarm_rule=cloudwatch.AlarmRule.all_of(
                *(cloudwatch.AlarmRule.from_alarm(alarm, cloudwatch.AlarmState.ALARM) for alarm in windows)
            ),
        )
