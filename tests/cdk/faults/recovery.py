from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.cdk.faults.fault import Fault, at, set_at, without
from tests.cdk.recovery import test_recovery as recovery
from tests.cdk.templates import Templates

_POLICY = "data/Objects/Replication/Role/DefaultPolicy/Resource"


def rule(name: str, change: Callable[[dict[str, Any]], object]) -> partial[None]:
    return partial(_change_rule, name=name, change=change)


def _change_rule(templates: Templates, *, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    change(recovery.get_rule(templates, name))


def without_right(templates: Templates, *, action: str) -> None:
    [policy] = at(templates, _POLICY)
    document = policy["Properties"]["PolicyDocument"]
    document["Statement"] = [one for one in document["Statement"] if one["Action"] != action]


def replicas_of_erased_slides_stay(templates: Templates) -> None:
    [bucket] = at(templates, "recovery/Slides/Resource")
    [housekeeping] = [
        one for one in bucket["Properties"]["LifecycleConfiguration"]["Rules"] if one["Id"] == "housekeeping"
    ]
    del housekeeping["NoncurrentVersionExpiration"]


def deployed_after_the_buckets(templates: Templates) -> None:
    templates.after["data"].discard("recovery")


#: Of a deployment with a second region.
FAULTS = (
    Fault(
        "slides are not replicated",
        set_at("data/Slides/Resource", ReplicationConfiguration=None),
        (partial(recovery.test_every_object_is_copied_into_the_bucket_of_the_same_name, name="Slides"),),
    ),
    Fault(
        "results are copied into the bucket of slides",
        rule("Results", lambda one: one["Destination"].update(Bucket="arn:aws:s3:::elsewhere")),
        (partial(recovery.test_every_object_is_copied_into_the_bucket_of_the_same_name, name="Results"),),
    ),
    Fault(
        "only one folder is replicated",
        rule("Results", lambda one: one.update(Filter={"Prefix": "shards/"})),
        (partial(recovery.test_every_object_is_copied_into_the_bucket_of_the_same_name, name="Results"),),
    ),
    Fault(
        "objects under our key are skipped",
        rule("Slides", lambda one: one.pop("SourceSelectionCriteria")),
        (partial(recovery.test_encrypted_objects_are_copied_too_under_the_key_there, name="Slides"),),
    ),
    Fault(
        "S3 may not decrypt what it shall copy",
        partial(without_right, action="kms:Decrypt"),
        (recovery.test_S3_may_decrypt_here_and_encrypt_there_and_nothing_else,),
    ),
    Fault(
        "S3 may not encrypt the copies",
        partial(without_right, action="kms:Encrypt"),
        (recovery.test_S3_may_decrypt_here_and_encrypt_there_and_nothing_else,),
    ),
    Fault(
        "an erased slide lives on in the second region",
        rule("Slides", lambda one: one.update(DeleteMarkerReplication={"Status": "Disabled"})),
        (partial(recovery.test_what_is_erased_here_is_hidden_there_and_gone_a_week_later, name="Slides"),),
    ),
    Fault(
        "an erased slide is hidden in the second region and never goes",
        replicas_of_erased_slides_stay,
        (partial(recovery.test_what_is_erased_here_is_hidden_there_and_gone_a_week_later, name="Slides"),),
    ),
    Fault(
        "results may be hours late",
        rule("Results", lambda one: one["Destination"].pop("ReplicationTime")),
        (
            partial(
                recovery.test_results_are_there_within_15_minutes_and_everything_is_measured,
                name="Results",
                is_timed=True,
            ),
        ),
    ),
    Fault(
        "replicas of slides must be restored before they are read",
        rule("Slides", lambda one: one["Destination"].update(StorageClass="GLACIER")),
        (recovery.test_replicas_of_slides_are_cheap_and_readable,),
    ),
    Fault(
        "a replica may be made public",
        set_at("recovery/Results/Resource", PublicAccessBlockConfiguration={"BlockPublicAcls": True}),
        (partial(recovery.test_replicas_are_kept_as_the_originals_are, name="Results"),),
    ),
    Fault(
        "backups stay in the region of the database",
        set_at("data/Database/Instance/Resource", AutomaticBackupReplicationRegion=None),
        (recovery.test_backups_of_the_database_are_replicated_as_long_as_they_are_kept,),
    ),
    Fault(
        "replicated backups are kept for a week",
        set_at("data/Database/Instance/Resource", AutomaticBackupReplicationRetentionPeriod=7),
        (recovery.test_backups_of_the_database_are_replicated_as_long_as_they_are_kept,),
    ),
    Fault(
        "buckets come before their replicas",
        deployed_after_the_buckets,
        (recovery.test_the_second_region_is_deployed_before_what_is_copied_into_it,),
    ),
    Fault(
        "nobody hears of objects that were not copied",
        without("observability/Alarms/replication-failed-slides/Resource"),
        (partial(recovery.test_failed_copies_raise_an_alarm, name="Slides"),),
    ),
    Fault(
        "replicas of results may be an hour late",
        set_at("recovery/Lateness/Alarms/replication-late-results/Resource", Threshold=3_600),
        (
            partial(
                recovery.test_late_copies_raise_an_alarm_in_the_region_that_measures_them, name="results", seconds=900
            ),
        ),
    ),
)
