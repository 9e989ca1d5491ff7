from __future__ import annotations

from tests.cdk import test_stacks as stacks
from tests.cdk.faults.fault import Fault, at, set_at, without
from tests.cdk.network import test_network as network
from tests.cdk.templates import Templates


def functions_before_migrations(templates: Templates) -> None:
    templates.after["api"].discard("data")


def one_zone_leaves_by_another(templates: Templates) -> None:
    first, *_, last = at(templates, "network/Vpc/privateSubnet*/DefaultRoute")
    last["Properties"]["NatGatewayId"] = first["Properties"]["NatGatewayId"]


FAULTS = (
    Fault(
        "one zone leaves by the NAT gateway of another",
        one_zone_leaves_by_another,
        (network.test_a_lost_zone_of_prod_cuts_no_other_zone_off,),
    ),
    Fault(
        "S3 has no gateway endpoint",
        without("network/S3/*"),
        (network.test_bytes_of_slides_pass_no_NAT_gateway_F47,),
    ),
    Fault(
        "public subnets hand out addresses",
        set_at("network/Vpc/publicSubnet1/Subnet", MapPublicIpOnLaunch=True),
        (network.test_nothing_gets_a_public_address_by_itself,),
    ),
    Fault(
        "no flow logs",
        without("network/Vpc/FlowLog/FlowLog"),
        (network.test_all_traffic_is_in_the_flow_logs_encrypted_and_kept_as_long_as_other_logs,),
    ),
    Fault(
        "functions come before the migrations",
        functions_before_migrations,
        (
            stacks.test_all_that_reads_the_database_comes_after_its_migrations_F52,
            stacks.test_a_stack_comes_after_those_whose_values_it_takes,
        ),
    ),
    Fault(
        "a log group keeps everything for ever",
        set_at("network/FlowLogs/Resource", RetentionInDays=None),
        (stacks.test_every_log_group_is_encrypted_and_forgets,),
    ),
    Fault(
        "a log group is not encrypted",
        set_at("auth/AuthorizerLogs/Resource", KmsKeyId=None),
        (stacks.test_every_log_group_is_encrypted_and_forgets,),
    ),
)
