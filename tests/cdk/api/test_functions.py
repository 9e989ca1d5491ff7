"""The functions: what wakes them, what they may do, where they run."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from adapters.settings import processes
from adapters.settings.environment import PREFIX, Environment
from adapters.settings.functions import TIMEOUTS
from adapters.settings.queues import QUEUES, WOKEN
from tests.cdk.policies import Statement, statements
from tests.cdk.templates import Templates
from wsi.notices.outbox import SETTLE_SECONDS

SETTINGS: dict[str, type[Environment]] = {
    "api": processes.ApiSettings,
    "submit": processes.SubmitSettings,
    "inspect": processes.SlideJobSettings,
    "plan": processes.SlideJobSettings,
    "stitch": processes.StitchSettings,
    "tiles": processes.TilesSettings,
    "relay": processes.RelaySettings,
    "sweep": processes.SweepSettings,
    "notify": processes.NotifySettings,
    "webhook_send": processes.WebhookSendSettings,
}
FUNCTION = "AWS::Lambda::Function"
WRITING = {"s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:AbortMultipartUpload"}


def function(templates: Templates, name: str) -> dict[str, Any]:
    return templates.by_path()[f"api/Functions/{name}/Resource"]


def allowed(templates: Templates, name: str) -> list[Statement]:
    """What a function's role may do."""
    mine = f"api/Functions/{name}Role/"
    return [one for one in statements(templates) if one.path.startswith(mine) and one.where == "PolicyDocument"]


def actions(templates: Templates, name: str) -> dict[str, list[Any]]:
    """Action to the resources it may be done to, of a function's role."""
    found: dict[str, list[Any]] = {}
    for statement in allowed(templates, name):
        for action in statement.actions:
            found.setdefault(action, []).extend(statement.resources)
    return found


def mappings(templates: Templates) -> dict[str, dict[str, Any]]:
    """Event source mappings by their function's name."""
    found = templates.resources("AWS::Lambda::EventSourceMapping", "api").values()
    aliases = templates.resources("AWS::Lambda::Alias", "api")
    names = {id: alias["Metadata"]["aws:cdk:path"].split("/")[-2] for id, alias in aliases.items()}
    return {names[_find_alias(mapping["Properties"])]: mapping["Properties"] for mapping in found}


def _find_alias(mapping: dict[str, Any]) -> str:
    [id] = re.findall(r'"Ref": "(\w+)"', json.dumps(mapping["FunctionName"]))
    return id


@pytest.mark.parametrize("name", SETTINGS)
def test_a_function_is_told_what_its_settings_ask_for_and_nothing_else(templates: Templates, name: str) -> None:
    told = function(templates, name)["Properties"].get("Environment", {}).get("Variables", {})
    fields = {PREFIX + field.upper(): info for field, info in SETTINGS[name].model_fields.items()}
    assert set(told) <= set(fields)
    assert {variable for variable, info in fields.items() if info.is_required()} <= set(told)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_function_runs_on_graviton_within_its_timeout_and_is_traced(templates: Templates, name: str) -> None:
    properties = function(templates, name)["Properties"]
    assert properties["Architectures"] == ["arm64"]
    assert properties["Timeout"] == TIMEOUTS[name]
    assert properties["TracingConfig"] == {"Mode": "Active"}


def test_each_queue_wakes_its_function_with_a_bound_on_calls_at_once_F7(templates: Templates) -> None:
    found = mappings(templates)
    assert set(found) == {function.name for function in WOKEN.values()}
    for name, mapping in found.items():
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"], name
        assert 2 <= mapping["ScalingConfig"]["MaximumConcurrency"] <= 10, name


def test_no_function_reserves_concurrency_F7(templates: Templates) -> None:
    for id, resource in templates.resources(FUNCTION).items():
        assert "ReservedConcurrentExecutions" not in resource["Properties"], id


def test_relay_and_sweep_run_every_minute_and_are_not_tried_again(templates: Templates) -> None:
    rules = templates.resources("AWS::Events::Rule", "api").values()
    assert len(rules) == 2
    for rule in rules:
        assert rule["Properties"]["ScheduleExpression"] == "rate(1 minute)"
        (target,) = rule["Properties"]["Targets"]
        assert target["RetryPolicy"]["MaximumRetryAttempts"] == 0


def test_the_relay_has_its_time_and_its_next_run_comes_after_it(templates: Templates) -> None:
    """It learns its end from Lambda: the template's timeout is the only number. Its messages and its schedule must
    not bring a run before this one has ended, and most of the time must be for sending."""
    timeout = function(templates, "relay")["Properties"]["Timeout"]
    assert timeout == WOKEN["wake"].timeout_seconds
    assert timeout >= 4 * SETTLE_SECONDS
    placed = templates.by_path()
    assert placed["data/Queues/wake/Resource"]["Properties"]["VisibilityTimeout"] >= 6 * timeout
    rule = placed["api/Functions/relay-every-minute/Resource"]["Properties"]
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    assert timeout < 60


def test_who_opens_customers_urls_is_outside_the_network_and_may_only_write_its_log_F60(templates: Templates) -> None:
    assert "VpcConfig" not in function(templates, "webhook_send")["Properties"]
    tracing = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
    assert set(actions(templates, "webhook_send")) == {"logs:CreateLogStream", "logs:PutLogEvents"} | tracing


@pytest.mark.parametrize("name", sorted(set(SETTINGS) - {"webhook_send"}))
def test_who_reads_the_database_is_in_the_private_subnets_and_comes_after_the_migrations_F52(
    templates: Templates, name: str
) -> None:
    assert function(templates, name)["Properties"]["VpcConfig"]["SubnetIds"]
    assert "rds-db:connect" in actions(templates, name)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("api", "tessera_api"),
        ("submit", "tessera_api"),
        ("tiles", "tessera_api"),
        ("plan", "tessera_system"),
        ("relay", "tessera_system"),
    ],
)
def test_a_function_connects_as_the_role_of_its_kind(templates: Templates, name: str, role: str) -> None:
    (resource,) = actions(templates, name)["rds-db:connect"]
    assert str(resource["Fn::Join"][1][-1]).endswith(f"/{role}")


@pytest.mark.parametrize("name", ["api", "inspect", "plan", "stitch"])
def test_who_reads_and_writes_encrypted_objects_may_use_the_key_for_both_F41(templates: Templates, name: str) -> None:
    assert {"s3:GetObject", "kms:Decrypt", "kms:GenerateDataKey"} <= set(actions(templates, name))


@pytest.mark.parametrize("name", ["plan", "submit", "tiles"])
def test_who_needs_what_inspection_kept_reads_nothing_else_of_the_results(templates: Templates, name: str) -> None:
    resources = [str(resource) for resource in actions(templates, name)["s3:GetObject"]]
    (kept,) = [resource for resource in resources if "Results" in resource]
    assert "/*/slides/*" in kept


def test_inspection_replaces_files_of_slides_that_were_uploaded_and_touches_nothing_else(templates: Templates) -> None:
    """De-identification: a clean copy by parts, and all versions of what came are deleted."""
    done = actions(templates, "inspect")
    for action in (
        "s3:DeleteObject",
        "s3:DeleteObjectVersion",
        "s3:ListMultipartUploadParts",
        "s3:AbortMultipartUpload",
    ):
        (resource,) = done[action]
        assert "/*/slides/*" in str(resource)
        assert "Slides" in str(resource)
    assert sorted("Slides" in str(resource) for resource in done["s3:PutObject"]) == [False, True]
    assert all("/*/slides/*" in str(resource) for resource in done["s3:PutObject"])
    assert "s3:ListBucketVersions" in done


def test_models_that_admins_add_go_below_one_key_of_the_models_bucket(templates: Templates) -> None:
    done = actions(templates, "api")
    for action in ("s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:DeleteObjectVersion"):
        (resource,) = [str(resource) for resource in done[action] if "Models" in str(resource)]
        assert "/packages/*" in resource, action


def test_a_viewers_function_only_reads(templates: Templates) -> None:
    done = {action for action in actions(templates, "tiles") if action.partition(":")[0] in ("s3", "sqs", "kms")}
    assert done == {"s3:GetObject", "s3:ListBucket", "kms:Decrypt"}


def test_who_starts_jobs_reads_what_inspection_kept_and_wakes_the_relay_and_does_nothing_else(
    templates: Templates,
) -> None:
    done = {action for action in actions(templates, "submit") if action.partition(":")[0] in ("s3", "sqs", "kms")}
    assert done == {"s3:GetObject", "kms:Decrypt", "sqs:GetQueueUrl", "sqs:SendMessage"}


def test_the_sweep_alone_takes_dead_letters_and_of_all_queues(templates: Templates) -> None:
    taken = {str(arn) for arn in actions(templates, "sweep")["sqs:ReceiveMessage"]}
    for other in SETTINGS.keys() - {"sweep"}:
        assert taken.isdisjoint(map(str, actions(templates, other).get("sqs:ReceiveMessage", [])))
    assert len(taken) == len(QUEUES)


@pytest.mark.parametrize("name", ["relay", "notify"])
def test_who_only_moves_words_touches_no_file(templates: Templates, name: str) -> None:
    assert not {action for action in actions(templates, name) if action in WRITING}


def test_the_sweep_erases_slides_and_results_and_writes_none(templates: Templates) -> None:
    done = actions(templates, "sweep")
    for action in ("s3:DeleteObject", "s3:DeleteObjectVersion", "s3:ListBucketVersions"):
        buckets = [name for name in ("Slides", "Results", "Models") for one in done[action] if name in str(one)]
        assert buckets == ["Slides", "Results"], action
    (uploads,) = done["s3:AbortMultipartUpload"]
    assert "Slides" in str(uploads)
    assert "s3:PutObject" not in done


def test_only_the_relay_publishes_and_only_by_the_two_mutations(templates: Templates) -> None:
    publishers = [name for name in SETTINGS if "appsync:GraphQL" in actions(templates, name)]
    assert publishers == ["relay"]
    allowed = " ".join(map(str, actions(templates, "relay")["appsync:GraphQL"]))
    assert allowed.count("/types/Mutation/fields/") == 2
    assert all(f"/types/Mutation/fields/{field}" in allowed for field in ("publishJobUpdate", "endSubscriptions"))


def test_only_the_relay_sends_work_the_others_only_wake_it(templates: Templates) -> None:
    for name in SETTINGS:
        sent = actions(templates, name).get("sqs:SendMessage", [])
        if name == "relay":
            assert len(sent) == len(QUEUES) - 1
        else:
            assert len(sent) <= 1, name


def test_mails_leave_as_the_sender_of_the_deployment_only_F61(prod: Templates) -> None:
    (statement,) = [one for one in allowed(prod, "notify") if "ses:SendEmail" in one.actions]
    assert statement.said["Condition"] == {"StringEquals": {"ses:FromAddress": "tessera@mail.example.org"}}
    configuration = prod.resource("AWS::SES::ConfigurationSet")["Properties"]
    assert configuration["DeliveryOptions"]["TlsPolicy"] == "REQUIRE"
    assert set(configuration["SuppressionOptions"]["SuppressedReasons"]) == {"BOUNCE", "COMPLAINT"}
    [heard] = prod.resources("AWS::SES::ConfigurationSetEventDestination").values()
    matching = {kind.upper() for kind in heard["Properties"]["EventDestination"]["MatchingEventTypes"]}
    assert matching >= {"BOUNCE", "COMPLAINT"}


def test_without_a_sender_there_is_nothing_of_SES(dev: Templates) -> None:
    assert not [id for id, resource, _ in dev.all_resources() if resource["Type"].startswith("AWS::SES::")]


@pytest.mark.parametrize("name", ["inspect", "plan"])
def test_who_opens_slides_has_4_GB_and_room_for_the_copy_that_it_may_make(templates: Templates, name: str) -> None:
    properties = function(templates, name)["Properties"]
    copied = int(properties["Environment"]["Variables"]["TESSERA_MAX_SCRATCH_BYTES"])
    assert properties["MemorySize"] == 4096
    assert copied < properties["EphemeralStorage"]["Size"] * 1024**2


def test_who_reads_slides_reads_customers_buckets_in_sessions_of_one_role_alone(furnished: Templates) -> None:
    readers = {name for name in SETTINGS if "sts:AssumeRole" in actions(furnished, name)}
    assert readers == {"api", "inspect", "plan", "tiles"}
    for name in SETTINGS:
        for action, resources in actions(furnished, name).items():
            assert "lab-slides" not in str(resources), (name, action)
            assert "111122223333:key/x" not in str(resources), (name, action)
            if action == "sts:AssumeRole":
                assert len(resources) == 1
                assert "SourcesRole" in str(resources)


def test_without_named_buckets_no_role_reads_beyond_our_own(dev: Templates) -> None:
    for name in SETTINGS:
        for resource in actions(dev, name).get("s3:GetObject", []):
            assert "arn:aws:s3:::" not in str(resource), name
