"""What a second region holds, and how it comes there."""

from __future__ import annotations

from typing import Any

import pytest

from cdk.deployment import Deployment, WrongDeployment
from tests.cdk.conftest import PRODUCTION, synthesize
from tests.cdk.templates import Templates

BUCKETS = ("Slides", "Results", "Models")
DELETED_DAYS = 7
KEY = "arn:aws:kms:us-west-2:111122223333:key/0a1b"
BACKUP = "arn:aws:rds:us-west-2:111122223333:auto-backup:ab-l2ijcejxp7xq7hoj4si"


@pytest.fixture(scope="module")
def restored() -> Templates:
    """As scripts/restore.sh deploys it in the second region."""
    return synthesize(
        environment="prodb",
        preset="prod",
        region="us-west-2",
        availability_zones="us-west-2a,us-west-2b,us-west-2c",
        adopted_buckets="kept-slides,kept-results,kept-models",
        adopted_key_arn=KEY,
        restored_from=BACKUP,
        **PRODUCTION,
    )


def bucket(templates: Templates, noun: str, name: str) -> dict[str, Any]:
    return templates.by_path()[f"{noun}/{name}/Resource"]["Properties"]


def get_output(templates: Templates, value: object) -> dict[str, Any]:
    """The resource and attribute of the recovery stack that a reference to its output means."""
    text = str(value)
    [found] = [
        output["Value"]
        for name, output in templates.by_noun["recovery"]["Outputs"].items()
        if f"'OutputName': '{name}'" in text
    ]
    assert f"'StackName': '{templates.deployment.prefix}-recovery'" in text
    assert f"'Region': '{templates.deployment.recovery_region}'" in text
    return found


def get_id(templates: Templates, path: str) -> str:
    resource = templates.by_path()[path]
    [id] = [id for id, found, _ in templates.all_resources() if found is resource]
    return id


def get_rule(templates: Templates, name: str) -> dict[str, Any]:
    [rule] = bucket(templates, "data", name)["ReplicationConfiguration"]["Rules"]
    assert rule["Status"] == "Enabled"
    return rule


def get_rights(templates: Templates) -> dict[str, dict[str, Any]]:
    policy = templates.by_path()["data/Objects/Replication/Role/DefaultPolicy/Resource"]["Properties"]
    statements = policy["PolicyDocument"]["Statement"]
    listed = [(one["Action"] if isinstance(one["Action"], list) else [one["Action"]], one) for one in statements]
    return {action: one for actions, one in listed for action in actions}


def get_database(templates: Templates) -> dict[str, Any]:
    return templates.by_path()["data/Database/Instance/Resource"]["Properties"]


# --- replication


def test_presets_have_no_second_region(templates: Templates) -> None:
    assert "recovery" not in templates.by_noun
    assert "AutomaticBackupReplicationRegion" not in get_database(templates)
    assert not any("ReplicationConfiguration" in bucket(templates, "data", name) for name in BUCKETS)


@pytest.mark.parametrize("name", BUCKETS)
def test_every_object_is_copied_into_the_bucket_of_the_same_name(furnished: Templates, name: str) -> None:
    rule = get_rule(furnished, name)
    assert rule["Filter"] == {"Prefix": ""}
    there = get_output(furnished, rule["Destination"]["Bucket"])
    assert there == {"Ref": get_id(furnished, f"recovery/{name}/Resource")}


@pytest.mark.parametrize("name", BUCKETS)
def test_encrypted_objects_are_copied_too_under_the_key_there(furnished: Templates, name: str) -> None:
    rule = get_rule(furnished, name)
    assert rule["SourceSelectionCriteria"] == {"SseKmsEncryptedObjects": {"Status": "Enabled"}}
    key = get_output(furnished, rule["Destination"]["EncryptionConfiguration"]["ReplicaKmsKeyID"])
    assert key == {"Fn::GetAtt": [get_id(furnished, "recovery/Key/Resource"), "Arn"]}


@pytest.mark.parametrize("name", BUCKETS)
def test_what_is_erased_here_is_hidden_there_and_gone_a_week_later(furnished: Templates, name: str) -> None:
    assert get_rule(furnished, name)["DeleteMarkerReplication"] == {"Status": "Enabled"}
    rules = bucket(furnished, "recovery", name)["LifecycleConfiguration"]["Rules"]
    [housekeeping] = [rule for rule in rules if rule["Id"] == "housekeeping"]
    assert housekeeping["NoncurrentVersionExpiration"] == {"NoncurrentDays": DELETED_DAYS}
    assert housekeeping["ExpiredObjectDeleteMarker"] is True
    assert "Prefix" not in housekeeping


@pytest.mark.parametrize(("name", "is_timed"), [("Slides", False), ("Results", True), ("Models", True)])
def test_results_are_there_within_15_minutes_and_everything_is_measured(
    furnished: Templates, name: str, is_timed: bool
) -> None:
    there = get_rule(furnished, name)["Destination"]
    assert there["Metrics"]["Status"] == "Enabled"
    assert ("ReplicationTime" in there) is is_timed
    if is_timed:
        assert there["ReplicationTime"] == {"Status": "Enabled", "Time": {"Minutes": 15}}


def test_replicas_of_slides_are_cheap_and_readable(furnished: Templates) -> None:
    assert get_rule(furnished, "Slides")["Destination"]["StorageClass"] == "GLACIER_IR"
    assert "StorageClass" not in get_rule(furnished, "Results")["Destination"]


def test_S3_may_decrypt_here_and_encrypt_there_and_nothing_else(furnished: Templates) -> None:
    rights, region = get_rights(furnished), furnished.deployment.region
    assert rights["kms:Decrypt"]["Resource"] == {"Fn::GetAtt": [get_id(furnished, "data/Key/Resource"), "Arn"]}
    assert rights["kms:Decrypt"]["Condition"] == {"StringEquals": {"kms:ViaService": f"s3.{region}.amazonaws.com"}}
    there = get_output(furnished, rights["kms:Encrypt"]["Resource"])
    assert there == {"Fn::GetAtt": [get_id(furnished, "recovery/Key/Resource"), "Arn"]}
    assert rights["kms:Encrypt"]["Condition"] == {"StringEquals": {"kms:ViaService": "s3.us-west-2.amazonaws.com"}}
    reading = {"s3:GetObjectVersionForReplication", "s3:GetObjectVersionAcl", "s3:GetObjectVersionTagging"}
    locks = {"s3:GetObjectRetention", "s3:GetObjectLegalHold"}
    listing = {"s3:GetReplicationConfiguration", "s3:ListBucket"}
    writing = {"s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"}
    assert rights.keys() == reading | locks | listing | writing | {"kms:Decrypt", "kms:Encrypt"}


@pytest.mark.parametrize("name", BUCKETS)
def test_replicas_are_kept_as_the_originals_are(furnished: Templates, name: str) -> None:
    here, there = bucket(furnished, "data", name), bucket(furnished, "recovery", name)
    for property in ("PublicAccessBlockConfiguration", "OwnershipControls", "VersioningConfiguration"):
        assert there[property] == here[property]
    assert there.get("CorsConfiguration") == here.get("CorsConfiguration")  # they may become the originals
    [encryption] = there["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    key = {"Fn::GetAtt": [get_id(furnished, "recovery/Key/Resource"), "Arn"]}
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}
    ids = {rule["Id"] for rule in here["LifecycleConfiguration"]["Rules"]}
    assert {rule["Id"] for rule in there["LifecycleConfiguration"]["Rules"]} == ids
    assert furnished.by_path()[f"recovery/{name}/Resource"]["DeletionPolicy"] == "Retain"
    denied = furnished.by_path()[f"recovery/{name}/Policy/Resource"]["Properties"]["PolicyDocument"]["Statement"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in [s.get("Condition") for s in denied if s["Effect"] == "Deny"]


def test_backups_of_the_database_are_replicated_as_long_as_they_are_kept(furnished: Templates) -> None:
    database = get_database(furnished)
    assert database["AutomaticBackupReplicationRegion"] == "us-west-2"
    assert database["AutomaticBackupReplicationRetentionPeriod"] == database["BackupRetentionPeriod"] == 30
    key = get_output(furnished, database["AutomaticBackupReplicationKmsKeyId"])
    assert key == {"Fn::GetAtt": [get_id(furnished, "recovery/Key/Resource"), "Arn"]}


def test_the_second_region_is_deployed_before_what_is_copied_into_it(furnished: Templates) -> None:
    assert "recovery" in furnished.after["data"]
    assert furnished.after["recovery"] == set()


@pytest.mark.parametrize(("name", "seconds"), [("slides", 3600), ("results", 900), ("models", 900)])
def test_late_copies_raise_an_alarm_in_the_region_that_measures_them(
    furnished: Templates, name: str, seconds: int
) -> None:
    path = f"recovery/Lateness/Alarms/replication-late-{name}/Resource"
    alarm = furnished.by_path()[path]["Properties"]
    [query] = alarm["Metrics"]
    replica = {"Ref": get_id(furnished, f"recovery/{name.title()}/Resource")}
    assert query["Expression"]["Fn::Join"][1][1:] == [replica, "'"]
    assert "SELECT MAX(ReplicationLatency)" in query["Expression"]["Fn::Join"][1][0]
    assert (alarm["Threshold"], bool(alarm["AlarmActions"])) == (seconds, True)
    mailed = furnished.resource("AWS::SNS::Subscription", "recovery")["Properties"]
    assert mailed["Endpoint"] == furnished.deployment.alarm_email


@pytest.mark.parametrize("name", BUCKETS)
def test_failed_copies_raise_an_alarm(furnished: Templates, name: str) -> None:
    path = f"observability/Alarms/replication-failed-{name.lower()}/Resource"
    alarm = furnished.by_path()[path]["Properties"]
    [metric] = alarm["Metrics"]
    measured = metric["MetricStat"]["Metric"]
    assert (measured["Namespace"], measured["MetricName"]) == ("AWS/S3", "OperationsFailedReplication")
    dimensions = {one["Name"]: one["Value"] for one in measured["Dimensions"]}
    assert dimensions.keys() == {"SourceBucket", "DestinationBucket", "RuleId"}
    assert dimensions["RuleId"] == get_rule(furnished, name)["Id"]
    there = get_output(furnished, dimensions["DestinationBucket"])
    assert there == {"Ref": get_id(furnished, f"recovery/{name}/Resource")}
    assert alarm["AlarmActions"]


# --- after a loss


def test_a_restored_installation_goes_on_with_the_replicas(restored: Templates) -> None:
    assert "recovery" not in restored.by_noun
    assert len(restored.resources("AWS::S3::Bucket", "data")) == 2  # audit and access logs
    for name, kept in (("slides", "kept-slides"), ("results", "kept-results"), ("models", "kept-models")):
        functions = restored.resources("AWS::Lambda::Function").values()
        variables = [f["Properties"].get("Environment", {}).get("Variables", {}) for f in functions]
        named = [one.get(f"TESSERA_{name.upper()}_BUCKET") for one in variables]
        assert {one for one in named if one is not None} == {kept}


def test_its_functions_and_pods_decrypt_by_the_key_of_the_replicas(restored: Templates, prod: Templates) -> None:
    def count(templates: Templates, key: object) -> int:
        return sum(
            str(key) in str(policy["Properties"]["PolicyDocument"])
            for noun in ("api", "workload")
            for policy in templates.resources("AWS::IAM::Policy", noun).values()
        )

    assert count(restored, KEY) > 5
    assert count(restored, KEY) == count(prod, "Key961B73FD")


def test_its_database_comes_from_the_last_moment_of_the_backup(restored: Templates, prod: Templates) -> None:
    database = get_database(restored)
    assert database["SourceDBInstanceAutomatedBackupsArn"] == BACKUP
    assert database["UseLatestRestorableTime"] is True
    assert get_database(prod).keys() - database.keys() == {
        *("DBName", "MasterUsername", "StorageEncrypted", "AllocatedStorage"),
    }


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"recovery_region": "eu-central-1"}, "recovery_region must be another region than eu-central-1"),
        ({"adopted_buckets": "a-slides,a-results"}, "adopted_buckets must be three"),
        ({"adopted_key_arn": KEY}, "adopted_buckets must be three"),
        (
            {"adopted_buckets": "aaa,bbb,ccc", "adopted_key_arn": KEY, "recovery_region": "eu-west-1"},
            "recovery_region needs buckets of this installation",
        ),
        ({"restored_from": "arn:aws:rds:us-west-2:111122223333:db:x"}, "must be the ARN of a replicated backup"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, str], told: str) -> None:
    with pytest.raises(WrongDeployment, match=told):
        Deployment.from_context({"environment": "dev", **settings})
