from __future__ import annotations

from functools import partial

from tests.cdk.data import test_object_lock as locks
from tests.cdk.faults.fault import Fault, at, set_at
from tests.cdk.recovery import test_recovery as recovery
from tests.cdk.templates import Templates


def without_right(templates: Templates, *, path: str, action: str) -> None:
    [policy] = at(templates, path)
    document = policy["Properties"]["PolicyDocument"]
    document["Statement"] = [one for one in document["Statement"] if action not in one["Action"]]


def sweep_ends_holds(templates: Templates) -> None:
    [policy] = at(templates, "api/Functions/sweepRole/DefaultPolicy/Resource")
    holding = {"Effect": "Allow", "Action": locks.HOLDING, "Resource": "arn:aws:s3:::slides/*"}
    policy["Properties"]["PolicyDocument"]["Statement"].append(holding)


def api_gets_round_locks(templates: Templates) -> None:
    [policy] = at(templates, "api/Functions/apiRole/DefaultPolicy/Resource")
    bypassing = {"Effect": "Allow", "Action": "s3:BypassGovernanceRetention", "Resource": "arn:aws:s3:::slides/*"}
    policy["Properties"]["PolicyDocument"]["Statement"].append(bypassing)


#: Of a deployment with Object Lock and a second region.
FAULTS = (
    Fault(
        "results cannot be locked",
        set_at("data/Results/Resource", ObjectLockEnabled=None),
        (partial(locks.test_slides_and_results_can_be_locked_and_their_replicas_too, region="data", name="Results"),),
        preset="furnished",
    ),
    Fault(
        "locked slides are not replicated, since the replica has no locks",
        set_at("recovery/Slides/Resource", ObjectLockEnabled=None),
        (
            partial(
                locks.test_slides_and_results_can_be_locked_and_their_replicas_too, region="recovery", name="Slides"
            ),
        ),
        preset="furnished",
    ),
    Fault(
        "locked slides are not replicated, since S3 may not read their locks",
        partial(
            without_right,
            path="data/Objects/Replication/Role/DefaultPolicy/Resource",
            action="s3:GetObjectRetention",
        ),
        (
            locks.test_nobody_else_has_a_right_on_locks_and_nobody_one_to_get_round_them,
            recovery.test_S3_may_decrypt_here_and_encrypt_there_and_nothing_else,
        ),
        preset="furnished",
    ),
    Fault(
        "the sweep sees no lock and takes everything for free",
        partial(without_right, path="api/Functions/sweepRole/DefaultPolicy/Resource", action="s3:GetObjectLegalHold"),
        (locks.test_nobody_else_has_a_right_on_locks_and_nobody_one_to_get_round_them,),
        preset="furnished",
    ),
    Fault(
        "the sweep ends holds",
        sweep_ends_holds,
        (
            locks.test_the_api_alone_places_holds_on_files_of_slides_and_on_results_of_jobs,
            locks.test_nobody_else_has_a_right_on_locks_and_nobody_one_to_get_round_them,
        ),
        preset="furnished",
    ),
    Fault(
        "the API deletes what is under retention",
        api_gets_round_locks,
        (locks.test_nobody_else_has_a_right_on_locks_and_nobody_one_to_get_round_them,),
        preset="furnished",
    ),
    Fault(
        "every slide is locked from its upload on",
        set_at("data/Slides/Resource", ObjectLockConfiguration={"ObjectLockEnabled": "Enabled"}),
        (partial(locks.test_no_default_retention_is_set, name="Slides"),),
        preset="furnished",
    ),
    Fault(
        "buckets have locks that nobody asked for",
        set_at("data/Slides/Resource", ObjectLockEnabled=True),
        (locks.test_without_it_no_bucket_has_locks_and_nobody_a_right_on_them,),
    ),
)
