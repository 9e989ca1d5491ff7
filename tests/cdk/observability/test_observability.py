"""Alarms, objectives, whom they tell, what may be spent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from adapters.settings import metrics as names
from adapters.settings.metrics import name_line_metric
from adapters.settings.queues import QUEUES, SHARD_QUEUES, get_priority
from cdk.capacity import CONNECTIONS_PER_PROCESSOR, get_instance_type
from cdk.observability.costs import TAG
from cdk.observability.metrics import FINAL_STATES, LIVE_STATES
from lambdas.authorizer import AuthorizerWiring, make_handler
from lambdas.metrics import publish, publish_failed_erasures
from lambdas.wiring import get_utc_now
from tests.cdk.templates import Resource, Templates, synthesized
from tests.fakes.ledger import MemoryLedger
from wsi.ports.ledger import Swept
from wsi.states import LIVE_JOB_STATES, JobState


def alarms(templates: Templates) -> dict[str, dict[str, Any]]:
    """Properties by the alarm's name, without the installation's."""
    found = templates.resources("AWS::CloudWatch::Alarm", "observability").values()
    return {one["Properties"]["AlarmName"].removeprefix(f"{prefix(templates)}-"): one["Properties"] for one in found}


def composites(templates: Templates) -> dict[str, dict[str, Any]]:
    found = templates.resources("AWS::CloudWatch::CompositeAlarm", "observability").values()
    return {one["Properties"]["AlarmName"].removeprefix(f"{prefix(templates)}-"): one["Properties"] for one in found}


def prefix(templates: Templates) -> str:
    return templates.deployment.prefix


def metrics_of(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """What the alarm measures: each with Namespace, MetricName and dimensions by name."""
    single = [alarm] if "MetricName" in alarm else []
    found = [*single, *(m["MetricStat"]["Metric"] for m in alarm.get("Metrics", ()) if "MetricStat" in m)]
    return [{**m, "Dimensions": {d["Name"]: json.dumps(d["Value"]) for d in m.get("Dimensions", ())}} for m in found]


def is_window(name: str) -> bool:
    return name.startswith("objective-") and name.endswith(("-long", "-short"))


# --- the table of alarms


def test_every_alarm_says_what_it_means_and_what_to_do(templates: Templates) -> None:
    for name, alarm in {**alarms(templates), **composites(templates)}.items():
        assert re.fullmatch(r"[A-Z].*\. What to do: docs/how-to/runbook\.md#[a-z-]+", alarm["AlarmDescription"]), name


def test_every_alarm_tells_the_topic_when_it_begins_and_when_it_ends(templates: Templates) -> None:
    (topic,) = templates.resources("AWS::SNS::Topic", "observability")
    for name, alarm in {**alarms(templates), **composites(templates)}.items():
        if not is_window(name):
            assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topic}], name


def test_every_queue_is_watched_for_age_and_for_dead_letters(templates: Templates) -> None:
    found = alarms(templates)
    for queue in QUEUES:
        (age,) = metrics_of(found[f"queue-age-{queue}"])
        (dead,) = metrics_of(found[f"dead-letters-{queue}"])
        assert age["MetricName"] == "ApproximateAgeOfOldestMessage"
        assert dead["MetricName"] == "ApproximateNumberOfMessagesVisible"
        assert found[f"dead-letters-{queue}"]["Threshold"] == 1
        assert "dlq" in dead["Dimensions"]["QueueName"].lower()
        assert "dlq" not in age["Dimensions"]["QueueName"].lower()


def test_planned_work_is_watched_while_it_waits_to_be_admitted(templates: Templates) -> None:
    """The queue holds no more than what is in flight, so its age says nothing about the rest."""
    found = alarms(templates)
    for queue in SHARD_QUEUES:
        (age,) = metrics_of(found[f"line-age-{get_priority(queue)}"])
        assert age["MetricName"] == name_line_metric(get_priority(queue))
        assert found[f"line-age-{get_priority(queue)}"]["Threshold"] == QUEUES[queue].oldest_seconds


def test_who_waits_for_high_priority_is_heard_first(templates: Templates) -> None:
    found = alarms(templates)
    ages = [found[f"queue-age-shards-{priority}"]["Threshold"] for priority in ("high", "normal", "low")]
    assert ages == sorted(ages)
    assert len(set(ages)) == 3


def test_every_function_of_the_api_stack_is_watched(templates: Templates) -> None:
    handlers = {
        match[1]
        for one in templates.resources("AWS::Lambda::Function", "api").values()
        if (match := re.fullmatch(r"lambdas\.(\w+)\.handler", one["Properties"].get("Handler", "")))
    }
    found = alarms(templates)
    assert {name for name in handlers if f"errors-{name}" not in found or f"throttles-{name}" not in found} == set()


def test_a_wrong_credential_is_no_failure_of_the_authorizer(templates: Templates) -> None:
    assert "errors-authorizer" not in alarms(templates)
    (metric,) = metrics_of(alarms(templates)["authorizer-failures"])
    filters = templates.resource("AWS::Logs::MetricFilter", "observability")["Properties"]
    (made,) = filters["MetricTransformations"]
    assert (metric["Namespace"], metric["MetricName"]) == (made["MetricNamespace"], made["MetricName"])
    wiring = AuthorizerWiring(
        identities=MemoryLedger(get_utc_now), issuer="i", client_id="c", jwks_url="http://127.0.0.1:1/"
    )
    with pytest.raises(Exception, match="Unauthorized") as refused:
        make_handler(wiring)({"methodArn": "a/b/c", "authorizationToken": "wrong"}, None)
    assert f'$.errorMessage != "{refused.value}"' in filters["FilterPattern"]


def test_no_data_from_the_sweep_is_an_alarm_and_no_other_silence(templates: Templates) -> None:
    missing = {name: alarm["TreatMissingData"] for name, alarm in alarms(templates).items()}
    assert {name for name, how in missing.items() if how == "breaching"} == {"sweep-silent"}


def test_connections_are_counted_against_what_the_proxy_may_open(templates: Templates) -> None:
    cap = CONNECTIONS_PER_PROCESSOR * get_instance_type(templates.deployment.database_instance_type).processors
    assert alarms(templates)["database-connections"]["Threshold"] == pytest.approx(0.8 * cap)


def test_every_nat_gateway_is_counted_both_ways_F47(templates: Templates) -> None:
    gateways = templates.resources("AWS::EC2::NatGateway")
    counted = metrics_of(alarms(templates)["nat-bytes"])
    assert len(counted) == 2 * len(gateways) > 0
    assert {m["MetricName"] for m in counted} == {"BytesOutToDestination", "BytesInFromDestination"}


# --- what the sweep writes


def swept_metrics(templates: Templates) -> Iterator[str]:
    """Names of the sweep's metrics that an alarm or the dashboard uses."""
    for alarm in alarms(templates).values():
        yield from (m["MetricName"] for m in metrics_of(alarm) if m["Namespace"] == prefix(templates))
    body = json.dumps(templates.resource("AWS::CloudWatch::Dashboard")["Properties"]["DashboardBody"])
    yield from re.findall(rf'\\"{prefix(templates)}\\",\\"(\w+)\\",\\"service\\",\\"{names.SERVICE}\\"', body)


def test_alarms_and_dashboard_read_what_the_sweep_writes(templates: Templates, capsys: Any) -> None:
    publish(MemoryLedger(get_utc_now).measure_vitals(seconds=60, stalled_seconds=900), Swept(), namespace="x")
    publish_failed_erasures(0, namespace="x")
    written = [json.loads(line)["_aws"]["CloudWatchMetrics"][0] for line in capsys.readouterr().out.splitlines()]
    known = {metric["Name"] for directive in written for metric in directive["Metrics"]} | {
        names.TIME_TO_RESULT,
        names.TIME_TO_FIRST_LEASE,
    }
    used = {*swept_metrics(templates)} - {"AuthorizerFailures"}
    assert used <= known
    assert {names.name_jobs_metric(state) for state in JobState} <= used


def test_the_deployment_names_the_states_of_the_domain() -> None:
    assert tuple(LIVE_JOB_STATES) == LIVE_STATES
    assert {*LIVE_STATES, *FINAL_STATES} == set(JobState)


# --- objectives


def pace(alarm: dict[str, Any], **values: float) -> float:
    """What the alarm's expression makes of the values of its metrics."""
    (expression,) = [m["Expression"] for m in alarm["Metrics"] if "Expression" in m]
    assert {m["Id"] for m in alarm["Metrics"] if "MetricStat" in m} == values.keys()
    condition, ratio = re.fullmatch(r"IF\((.+ >= \d+), (.+), 0\)", expression).groups()
    return eval(ratio, None, values) if eval(condition, None, values) else 0


def test_each_objective_has_a_fast_and_a_slow_alarm_over_two_windows(templates: Templates) -> None:
    found, windows = composites(templates), alarms(templates)
    assert set(found) == {f"objective-{name}-{speed}" for name in ("api", "progress") for speed in ("fast", "slow")}
    ids = {one["Properties"]["AlarmName"]: id for id, one in templates.resources("AWS::CloudWatch::Alarm").items()}
    for name, alarm in found.items():
        rule = json.dumps(alarm["AlarmRule"])
        assert " AND " in rule
        for window in ("long", "short"):
            assert ids[f"{prefix(templates)}-{name}-{window}"] in rule
    rates = {name: (alarm["Threshold"], period(alarm)) for name, alarm in windows.items() if is_window(name)}
    assert rates["objective-api-fast-long"] == (14.4, 3600)
    assert rates["objective-api-fast-short"] == (14.4, 300)
    assert rates["objective-api-slow-long"] == (6, 6 * 3600)
    assert rates["objective-api-slow-short"] == (6, 1800)


def period(alarm: dict[str, Any]) -> int:
    (found,) = {m["MetricStat"]["Period"] for m in alarm["Metrics"] if "MetricStat" in m}
    return found


def test_the_budget_of_the_api_is_one_request_in_a_thousand(templates: Templates) -> None:
    alarm = alarms(templates)["objective-api-fast-long"]
    assert pace(alarm, requests=10_000, failed=10) == pytest.approx(1)
    assert pace(alarm, requests=10_000, failed=144) == pytest.approx(14.4)
    assert pace(alarm, requests=50, failed=50) == 0  # too few to say


def test_the_budget_of_progress_is_one_minute_in_a_thousand_of_all_jobs(templates: Templates) -> None:
    alarm = alarms(templates)["objective-progress-slow-long"]
    assert pace(alarm, queued=100, planning=100, running=700, stitching=100, stalled=1) == pytest.approx(1)
    assert pace(alarm, queued=0, planning=0, running=0, stitching=0, stalled=0) == 0


# --- whom alarms tell


def statements(policy: Resource) -> list[dict[str, Any]]:
    return policy["Properties"].get("PolicyDocument", policy["Properties"].get("KeyPolicy"))["Statement"]


def test_only_services_of_this_account_speak_on_the_topic(templates: Templates) -> None:
    policy = statements(templates.resource("AWS::SNS::TopicPolicy", "observability"))
    (allowed,) = [one for one in policy if one["Effect"] == "Allow" and one["Action"] == "sns:Publish"]
    speakers = {f"{name}.amazonaws.com" for name in ("cloudwatch", "aps", "budgets", "costalerts")}
    assert set(allowed["Principal"]["Service"]) == speakers
    ours = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    assert [one["Condition"] for one in policy if one["Effect"] == "Allow"] == [ours, ours]
    key = statements(templates.resource("AWS::KMS::Key", "observability"))
    assert any(set(one["Principal"].get("Service", ())) == speakers for one in key)
    assert any(one["Effect"] == "Deny" and "aws:SecureTransport" in json.dumps(one) for one in policy)


def test_prometheus_may_look_at_the_topic_to_which_it_speaks(templates: Templates) -> None:
    """https://docs.aws.amazon.com/prometheus/latest/userguide/AMP-alertmanager-receiver-AMPpermission.html"""
    policy = statements(templates.resource("AWS::SNS::TopicPolicy", "observability"))
    (looks,) = [one for one in policy if one["Effect"] == "Allow" and one["Action"] == "sns:GetTopicAttributes"]
    assert looks["Principal"] == {"Service": "aps.amazonaws.com"}


def test_the_topic_is_encrypted(templates: Templates) -> None:
    assert "KmsMasterKeyId" in templates.resource("AWS::SNS::Topic", "observability")["Properties"]


def test_an_alarm_reaches_the_address_that_was_given(dev: Templates, prod: Templates) -> None:
    assert dev.resources("AWS::SNS::Subscription", "observability") == {}
    mail = prod.resource("AWS::SNS::Subscription", "observability")["Properties"]
    assert (mail["Protocol"], mail["Endpoint"]) == ("email", "ops@example.org")


# --- costs


def test_the_budget_counts_what_carries_the_installations_tag(templates: Templates) -> None:
    budget = templates.resource("AWS::Budgets::Budget")["Properties"]["Budget"]
    assert budget["BudgetLimit"] == {"Amount": templates.deployment.monthly_budget_dollars, "Unit": "USD"}
    assert budget["CostFilters"] == {"TagKeyValue": [f"user:{TAG}${templates.deployment.environment}"]}
    bucket = next(iter(templates.resources("AWS::S3::Bucket", "data").values()))
    assert {"Key": TAG, "Value": templates.deployment.environment} in bucket["Properties"]["Tags"]


def test_unusual_costs_of_the_tag_are_told_at_once(prod: Templates) -> None:
    monitor = prod.resource("AWS::CE::AnomalyMonitor")["Properties"]
    assert json.loads(monitor["MonitorSpecification"]) == {"Tags": {"Key": TAG, "Values": ["prod"]}}
    told = prod.resource("AWS::CE::AnomalySubscription")["Properties"]
    assert told["Frequency"] == "IMMEDIATE"
    assert [one["Type"] for one in told["Subscribers"]] == ["SNS"]


def test_an_account_that_may_make_no_monitor_names_one_that_there_is() -> None:
    monitor = "arn:aws:ce::111122223333:anomalymonitor/8c1f0f3e-7b3a-4a5e-9d0e-000000000000"
    member = synthesized(environment="dev", unusual_costs=monitor)
    assert member.resources("AWS::CE::AnomalyMonitor") == {}
    told = member.resource("AWS::CE::AnomalySubscription")["Properties"]
    assert told["MonitorArnList"] == [monitor]


def test_a_region_that_makes_no_budgets_is_told_to_the_deployer() -> None:
    north = synthesized(environment="dev", region="eu-north-1", availability_zones="eu-north-1a,eu-north-1b")
    assert north.resources("AWS::Budgets::Budget") == {}
    assert [warning for warning in north.warnings if "eu-north-1 makes no budgets" in warning]


# --- the dashboard


def test_the_dashboard_has_every_queue_and_section(templates: Templates) -> None:
    body = json.dumps(templates.resource("AWS::CloudWatch::Dashboard")["Properties"]["DashboardBody"])
    for section in ("Alarms", "Objectives", "Jobs", "Queues", "API", "Database", "What costs"):
        assert f"## {section}" in body
    assert body.count("ApproximateAgeOfOldestMessage") == len(QUEUES)
