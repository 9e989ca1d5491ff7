from __future__ import annotations

from tests.cdk import test_fixed_names as names
from tests.cdk import test_stacks as stacks
from tests.cdk.faults.fault import Fault, at, set_at
from tests.cdk.templates import Templates


def functions_make_their_own_log_groups(templates: Templates) -> None:
    [policy] = at(templates, "api/Functions/apiRole/DefaultPolicy/Resource")
    policy["Properties"]["PolicyDocument"]["Statement"][0]["Action"] = "logs:CreateLogGroup"


def the_authorizers_stack_is_split(templates: Templates) -> None:
    [authorizer] = at(templates, "api/Gateway/Authorizer/Resource")
    _, [start, arn, end] = authorizer["Properties"]["AuthorizerUri"]["Fn::Join"]
    region = {"Fn::Select": [3, {"Fn::Split": [":", arn]}]}
    authorizer["Properties"]["AuthorizerUri"] = {"Fn::Join": ["", [start, region, arn, end]]}


FAULTS = (
    Fault(
        "a bucket that is kept has a fixed name",
        set_at("data/Slides/Resource", BucketName="tessera-prod-slides"),
        (names.test_every_fixed_name_has_one_reason, names.test_what_outlives_its_stack_has_no_fixed_name),
    ),
    Fault(
        "a fixed name has no reason",
        set_at("api/Functions/api/Resource", FunctionName="tessera-prod-api"),
        (names.test_every_fixed_name_has_one_reason,),
    ),
    Fault(
        "a name of ours has no prefix",
        set_at("observability/Dashboard/Resource", DashboardName="tessera"),
        (names.test_every_fixed_name_has_one_reason,),
    ),
    Fault(
        "a log group that AWS makes again is not cleaned",
        set_at("api/Firewall/Log/Resource", LogGroupName="/aws/rds/instance/tessera-prod-copy/postgresql"),
        (names.test_groups_that_AWS_recreates_are_those_of_cluster_database_and_proxy,),
    ),
    Fault(
        "functions make log groups after they were deleted",
        functions_make_their_own_log_groups,
        (names.test_only_AWS_itself_can_write_to_a_group_that_it_recreates,),
    ),
    Fault(
        "a value of another stack is split",
        the_authorizers_stack_is_split,
        (stacks.test_another_stacks_value_is_only_in_functions_that_take_it,),
    ),
)
