from __future__ import annotations

from typing import Any

from tests.cdk.api import test_functions as functions
from tests.cdk.data import test_sources as sources
from tests.cdk.faults.fault import Fault, at
from tests.cdk.templates import Templates


def _change_rights(templates: Templates, statement: dict[str, Any]) -> None:
    [policy] = at(templates, "data/Sources/Role/DefaultPolicy/Resource")
    policy["Properties"]["PolicyDocument"]["Statement"].append(statement)


def lists_customers_buckets(templates: Templates) -> None:
    listing = {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::lab-slides"}
    _change_rights(templates, listing)


def tiles_read_without_a_session(templates: Templates) -> None:
    [policy] = at(templates, "api/Functions/tilesRole/DefaultPolicy/Resource")
    reading = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::lab-slides/*"}
    policy["Properties"]["PolicyDocument"]["Statement"].append(reading)


def anybody_of_the_account(templates: Templates) -> None:
    [role] = at(templates, sources.ROLE)
    del role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Condition"]


def stitch_begins_sessions(templates: Templates) -> None:
    [tiles] = at(templates, "api/Functions/tilesRole/DefaultPolicy/Resource")
    [stitch] = at(templates, "api/Functions/stitchRole/DefaultPolicy/Resource")
    assuming = [s for s in tiles["Properties"]["PolicyDocument"]["Statement"] if s["Action"] == "sts:AssumeRole"]
    stitch["Properties"]["PolicyDocument"]["Statement"] += assuming


FAULTS = (
    Fault(
        "the role for sources lists customers' buckets",
        lists_customers_buckets,
        (sources.test_the_role_for_sources_reads_objects_of_the_named_buckets_and_does_nothing_else,),
        preset="furnished",
    ),
    Fault(
        "a function reads customers' buckets by its own role",
        tiles_read_without_a_session,
        (
            sources.test_nobody_but_the_role_for_sources_reads_customers_buckets,
            functions.test_who_reads_slides_reads_customers_buckets_in_sessions_of_one_role_alone,
        ),
        preset="furnished",
    ),
    Fault(
        "anybody of the account reads sources",
        anybody_of_the_account,
        (sources.test_roles_of_this_installation_alone_assume_the_role_for_sources,),
        preset="furnished",
    ),
    Fault(
        "stitch may read sources",
        stitch_begins_sessions,
        (
            sources.test_who_reads_slides_begins_sessions_of_the_role_for_sources_and_nobody_else_does,
            functions.test_who_reads_slides_reads_customers_buckets_in_sessions_of_one_role_alone,
        ),
        preset="furnished",
    ),
)
