"""The buckets: who reaches them, what is kept how long, what is written down about it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from adapters.s3.slides import CLASSES_TO_RESTORE
from adapters.settings import objects
from tests.cdk.templates import Templates, synthesized
from wsi import keys
from wsi.ledger_rules import TAKE_OVER_DAYS

ALL = ("Slides", "Results", "Models", "Audit/Bucket", "AccessLogs")
OF_OUR_KEY = ALL[:-1]  #: S3 writes access logs to buckets with its own keys only


def bucket(templates: Templates, name: str) -> dict[str, Any]:
    return templates.by_path()[f"data/{name}/Resource"]


def properties(templates: Templates, name: str) -> dict[str, Any]:
    return bucket(templates, name)["Properties"]


def denied(templates: Templates, name: str) -> list[dict[str, Any]]:
    """Conditions under which nobody may do anything."""
    policy = templates.by_path()[f"data/{name}/Policy/Resource"]["Properties"]["PolicyDocument"]
    statements = [s for s in policy["Statement"] if s["Effect"] == "Deny" and s["Action"] == "s3:*"]
    return [s["Condition"] for s in statements]


def rule(templates: Templates, name: str, id: str) -> dict[str, Any]:
    rules = properties(templates, name)["LifecycleConfiguration"]["Rules"]
    [found] = [found for found in rules if found["Id"] == id]
    assert found["Status"] == "Enabled"
    return found


def test_there_are_no_other_buckets(templates: Templates) -> None:
    assert len(templates.resources("AWS::S3::Bucket", "data")) == len(ALL)


@pytest.mark.parametrize("name", ALL)
def test_no_bucket_can_be_made_public(templates: Templates, name: str) -> None:
    closed = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    assert properties(templates, name)["PublicAccessBlockConfiguration"] == dict.fromkeys(closed, True)


@pytest.mark.parametrize("name", ALL)
def test_objects_travel_by_TLS_1_2_or_newer(templates: Templates, name: str) -> None:
    assert {"Bool": {"aws:SecureTransport": "false"}} in denied(templates, name)
    assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in denied(templates, name)


@pytest.mark.parametrize("name", OF_OUR_KEY)
def test_objects_are_encrypted_by_our_key_with_a_bucket_key_F41(templates: Templates, name: str) -> None:
    [encryption] = properties(templates, name)["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    [key] = templates.resources("AWS::KMS::Key", "data")
    by_key = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": {"Fn::GetAtt": [key, "Arn"]}}
    assert encryption == {"BucketKeyEnabled": True, "ServerSideEncryptionByDefault": by_key}


@pytest.mark.parametrize("name", OF_OUR_KEY)
def test_what_is_overwritten_or_deleted_can_be_brought_back(templates: Templates, name: str) -> None:
    assert properties(templates, name)["VersioningConfiguration"] == {"Status": "Enabled"}


@pytest.mark.parametrize("name", ["Slides", "Results", "Models"])
def test_but_not_for_ever_and_unfinished_uploads_go_after_three_days_F44(templates: Templates, name: str) -> None:
    housekeeping = rule(templates, name, "housekeeping")
    assert housekeeping["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 3}
    assert housekeeping["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
    assert "Prefix" not in housekeeping


@pytest.mark.parametrize("name", OF_OUR_KEY)
def test_who_asked_for_what_is_in_the_access_logs(templates: Templates, name: str) -> None:
    [logs] = [id for id in templates.resources("AWS::S3::Bucket", "data") if id.startswith("AccessLogs")]
    assert properties(templates, name)["LoggingConfiguration"]["DestinationBucketName"] == {"Ref": logs}


def cors(templates: Templates, name: str) -> dict[str, Any]:
    [found] = properties(templates, name)["CorsConfiguration"]["CorsRules"]
    return found


@pytest.mark.parametrize(("name", "methods"), [("Slides", {"PUT", "GET", "HEAD"}), ("Results", {"GET", "HEAD"})])
def test_browsers_of_our_page_alone_read_and_write_and_see_what_uploads_need_F43(
    prod: Templates, name: str, methods: set[str]
) -> None:
    found = cors(prod, name)
    assert found["AllowedOrigins"] == ["https://wsi.example.org"]
    assert set(found["AllowedMethods"]) == methods
    assert {"ETag", "x-amz-checksum-sha256"} <= set(found["ExposedHeaders"])


def test_origins_are_those_that_were_named_and_exact_F43() -> None:
    origins = ["https://d111111abcdef8.cloudfront.net", "http://localhost:5173"]
    templates = synthesized(environment="dev", page_origins=origins)
    assert cors(templates, "Slides")["AllowedOrigins"] == origins


def test_without_an_origin_no_browser_reads_anything(dev: Templates) -> None:
    assert dev.deployment.origins == ()
    assert [name for name in ALL if "CorsConfiguration" in properties(dev, name)] == []


@pytest.mark.parametrize("name", ["Models", "Audit/Bucket", "AccessLogs"])
def test_models_and_logs_are_for_no_browser(prod: Templates, name: str) -> None:
    assert "CorsConfiguration" not in properties(prod, name)


def test_originals_move_to_instant_retrieval(templates: Templates) -> None:
    [move] = rule(templates, "Slides", "originals")["Transitions"]
    days = templates.deployment.instant_retrieval_after_days
    assert move == {"StorageClass": "GLACIER_IR", "TransitionInDays": days}


def test_originals_are_in_the_dear_class_for_a_month(templates: Templates) -> None:
    [move] = rule(templates, "Slides", "originals")["Transitions"]
    assert move["TransitionInDays"] == 30


def test_files_that_would_be_charged_as_larger_ones_do_not_move(templates: Templates) -> None:
    moves = properties(templates, "Slides")["LifecycleConfiguration"]
    assert moves["TransitionDefaultMinimumObjectSize"] == "all_storage_classes_128K"


def test_slides_that_nobody_archived_are_read_without_a_restore(templates: Templates) -> None:
    """SQL knows of archived slides alone: no rule may move another one to where it must be restored first."""
    rules = properties(templates, "Slides")["LifecycleConfiguration"]["Rules"]
    moves = [move for r in rules if "TagFilters" not in r for move in r.get("Transitions", [])]
    assert moves
    assert {move["StorageClass"] for move in moves}.isdisjoint(CLASSES_TO_RESTORE)


def test_what_is_tagged_as_archived_and_nothing_else_moves_to_deep_archive(templates: Templates) -> None:
    rules = properties(templates, "Slides")["LifecycleConfiguration"]["Rules"]
    deep = [r for r in rules if any(t["StorageClass"] == "DEEP_ARCHIVE" for t in r.get("Transitions", []))]
    assert [r["TagFilters"] for r in deep] == [[{"Key": "tessera-archived", "Value": "true"}]]


@pytest.mark.parametrize("name", ["Slides", "Results", "Models"])
def test_no_rule_removes_a_slide_a_result_or_a_model(templates: Templates, name: str) -> None:
    rules = properties(templates, name)["LifecycleConfiguration"]["Rules"]
    expiring = [r for r in rules if "ExpirationInDays" in r]
    assert [r.get("Prefix") for r in expiring] == (["shards/"] if name == "Results" else [])


def test_what_results_were_stitched_from_goes_but_not_while_a_retry_may_use_it(templates: Templates) -> None:
    shards = rule(templates, "Results", "shards")
    assert shards["ExpirationInDays"] >= 2 * TAKE_OVER_DAYS
    tenant, job = UUID(int=1), UUID(int=2)
    intermediate = (keys.of_shard_result(tenant, job, 0, 1), keys.of_checkpoint(tenant, job, 0, 1, 1))
    assert all(key.startswith(shards["Prefix"]) for key in intermediate)
    lasting = (
        keys.of_plan(tenant, job),
        keys.of_result(tenant, job, "tiles.csv"),
        keys.of_thumbnail(keys.make_inspection_folder(tenant, job, 1)),
    )
    assert not any(key.startswith(shards["Prefix"]) for key in lasting)


def test_writers_and_rules_mean_the_same_keys() -> None:
    assert keys.SHARDS == objects.SHARDS
    assert keys.PACKAGES == objects.PACKAGES


def test_buckets_and_key_outlive_the_stack_where_data_is_kept(templates: Templates) -> None:
    policy = "Retain" if templates.deployment.keeps_data else "Delete"
    kept = [bucket(templates, name) for name in ALL] + list(templates.resources("AWS::KMS::Key", "data").values())
    assert {found["DeletionPolicy"] for found in kept} == {policy}


def test_names_of_buckets_are_left_to_cloudformation(templates: Templates) -> None:
    assert [name for name in ALL if "BucketName" in properties(templates, name)] == []


def test_every_read_and_write_of_slides_and_results_is_on_a_trail_that_can_not_be_forged(templates: Templates) -> None:
    trail = templates.resource("AWS::CloudTrail::Trail", "data")["Properties"]
    [selector] = trail["EventSelectors"]
    watched, _ = selector["DataResources"]
    assert (selector["ReadWriteType"], watched["Type"]) == ("All", "AWS::S3::Object")
    ids = templates.resources("AWS::S3::Bucket", "data")
    arns = [value["Fn::Join"][1] for value in watched["Values"]]
    found = {ids[arn["Fn::GetAtt"][0]]["Metadata"]["aws:cdk:path"].split("/")[-2] for arn, _ in arns}
    assert found == {"Slides", "Results"}
    assert {slash for _, slash in arns} == {"/"}
    assert trail["IsLogging"] is True
    assert trail["EnableLogFileValidation"] is True
    assert "KMSKeyId" in trail


def test_invocations_of_the_operators_functions_are_on_the_trail(templates: Templates) -> None:
    [selector] = templates.resource("AWS::CloudTrail::Trail", "data")["Properties"]["EventSelectors"]
    _, watched = selector["DataResources"]
    assert watched["Type"] == "AWS::Lambda::Function"
    handlers = templates.resources("AWS::Lambda::Function", "data")
    named = {handlers[arn["Fn::GetAtt"][0]]["Properties"]["Handler"].rpartition(".")[0] for arn in watched["Values"]}
    assert {name.rpartition(".")[2] for name in named} == {"administer", "recover"}


def test_only_our_trail_writes_to_the_audit_bucket(templates: Templates) -> None:
    policy = templates.by_path()["data/Audit/Bucket/Policy/Resource"]["Properties"]["PolicyDocument"]
    allowed = [s for s in policy["Statement"] if s["Effect"] == "Allow"]
    assert {s["Principal"]["Service"] for s in allowed} == {"cloudtrail.amazonaws.com"}
    for statement in allowed:
        trail = statement["Condition"]["StringEquals"]["aws:SourceArn"]["Fn::Join"][1][-1]
        assert trail == f":trail/{templates.deployment.prefix}-audit"


def test_the_audit_trail_is_kept_as_long_as_the_deployment_says(templates: Templates) -> None:
    for name in ("Audit/Bucket", "AccessLogs"):
        assert rule(templates, name, "expire")["ExpirationInDays"] == templates.deployment.audit_days
