"""The VPC: what may leave it, what may enter it, what is written down about it."""

from __future__ import annotations

from typing import Any

from tests.cdk.templates import Resource, Templates

EVERYWHERE = "0.0.0.0/0"


def tier(resource: Resource) -> str:
    """public, private or isolated; empty for what is no subnet's."""
    path: str = resource["Metadata"]["aws:cdk:path"]
    return next((name for name in ("public", "private", "isolated") if f"/Vpc/{name}Subnet" in path), "")


def route_tables(templates: Templates, *tiers: str) -> set[str]:
    tables = templates.resources("AWS::EC2::RouteTable", "network")
    return {id for id, table in tables.items() if tier(table) in tiers}


def allowed(templates: Templates) -> list[dict[str, Any]]:
    endpoint = templates.resource("AWS::EC2::VPCEndpoint", "network")
    return endpoint["Properties"]["PolicyDocument"]["Statement"]


def test_bytes_of_slides_pass_no_NAT_gateway_F47(templates: Templates) -> None:
    endpoint = templates.resource("AWS::EC2::VPCEndpoint", "network")["Properties"]
    assert endpoint["VpcEndpointType"] == "Gateway"
    assert endpoint["ServiceName"]["Fn::Join"][1][-1] == ".s3"
    assert {table["Ref"] for table in endpoint["RouteTableIds"]} == route_tables(templates, "private")


def test_nothing_is_written_to_buckets_of_others_through_the_gateway(templates: Templates) -> None:
    ours = {"StringEquals": {"aws:ResourceAccount": {"Ref": "AWS::AccountId"}}}
    for statement in allowed(templates):
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        only_reads = set(actions) <= {"s3:GetObject", "s3:GetObjectVersion"}
        answers_cloudformation = "cloudformation-custom-resource-response" in str(statement["Resource"])
        assert only_reads or answers_cloudformation or statement.get("Condition") == ours, statement


def test_every_zone_has_subnets_of_each_kind(templates: Templates) -> None:
    found = {
        (tier(subnet), subnet["Properties"]["AvailabilityZone"])
        for subnet in templates.resources("AWS::EC2::Subnet", "network").values()
    }
    assert found == {(name, zone) for name in ("public", "private", "isolated") for zone in templates.deployment.zones}


def test_nothing_gets_a_public_address_by_itself(templates: Templates) -> None:
    for subnet in templates.resources("AWS::EC2::Subnet", "network").values():
        assert subnet["Properties"]["MapPublicIpOnLaunch"] is False


def test_the_databases_subnets_have_no_way_out(templates: Templates) -> None:
    isolated = route_tables(templates, "isolated")
    assert isolated
    for route in templates.resources("AWS::EC2::Route", "network").values():
        assert route["Properties"]["RouteTableId"]["Ref"] not in isolated


def test_functions_and_pods_leave_by_NAT_only(templates: Templates) -> None:
    routes = [
        route["Properties"]
        for route in templates.resources("AWS::EC2::Route", "network").values()
        if route["Properties"]["RouteTableId"]["Ref"] in route_tables(templates, "private")
    ]
    assert len(routes) == len(templates.deployment.zones)
    assert all(route["DestinationCidrBlock"] == EVERYWHERE and "NatGatewayId" in route for route in routes)
    gateways = templates.resources("AWS::EC2::NatGateway", "network")
    assert len(gateways) == templates.deployment.nat_gateway_count


def find_zones_on_the_way_out(templates: Templates) -> dict[str, set[str]]:
    """The zones, by that of a private subnet, that its traffic passes: those of the NAT gateways of its routes."""
    subnets = templates.resources("AWS::EC2::Subnet", "network")
    gateways = templates.resources("AWS::EC2::NatGateway", "network")
    routes = [route["Properties"] for route in templates.resources("AWS::EC2::Route", "network").values()]
    tables = {
        association["Properties"]["SubnetId"]["Ref"]: association["Properties"]["RouteTableId"]
        for association in templates.resources("AWS::EC2::SubnetRouteTableAssociation", "network").values()
    }

    def zone_of(id: str) -> str:
        return subnets[id]["Properties"]["AvailabilityZone"]

    def pass_zones(table: dict[str, str]) -> set[str]:
        used = [gateways[route["NatGatewayId"]["Ref"]] for route in routes if route["RouteTableId"] == table]
        assert {tier(subnets[gateway["Properties"]["SubnetId"]["Ref"]]) for gateway in used} == {"public"}
        return {zone_of(gateway["Properties"]["SubnetId"]["Ref"]) for gateway in used}

    private = [id for id, subnet in subnets.items() if tier(subnet) == "private"]
    return {zone_of(id): pass_zones(tables[id]) for id in private}


def test_a_lost_zone_of_prod_cuts_no_other_zone_off(prod: Templates) -> None:
    assert find_zones_on_the_way_out(prod) == {zone: {zone} for zone in prod.deployment.zones}


def test_dev_pays_for_a_single_NAT_gateway(dev: Templates) -> None:
    ways = find_zones_on_the_way_out(dev)
    assert set(ways) == set(dev.deployment.zones)
    assert len(set.union(*ways.values())) == dev.deployment.nat_gateway_count == 1


def test_the_default_security_group_is_emptied(templates: Templates) -> None:
    emptied = templates.resource("Custom::VpcRestrictDefaultSG", "network")["Properties"]["DefaultSecurityGroupId"]
    assert emptied["Fn::GetAtt"][1] == "DefaultSecurityGroup"


def test_no_security_group_lets_the_internet_in(templates: Templates) -> None:
    for id, group in templates.resources("AWS::EC2::SecurityGroup").items():
        for rule in group["Properties"].get("SecurityGroupIngress", []):
            assert EVERYWHERE not in rule.values(), id
    for id, rule in templates.resources("AWS::EC2::SecurityGroupIngress").items():
        assert EVERYWHERE not in rule["Properties"].values(), id


def test_all_traffic_is_in_the_flow_logs_encrypted_and_kept_as_long_as_other_logs(templates: Templates) -> None:
    flow = templates.resource("AWS::EC2::FlowLog", "network")["Properties"]
    assert flow["TrafficType"] == "ALL"
    group = templates.resources("AWS::Logs::LogGroup", "network")[flow["LogGroupName"]["Ref"]]["Properties"]
    assert group["RetentionInDays"] == templates.deployment.log_days
    [key] = templates.resources("AWS::KMS::Key", "network")
    assert group["KmsKeyId"] == {"Fn::GetAtt": [key, "Arn"]}


def test_the_log_key_serves_log_groups_of_this_account_and_nothing_else(templates: Templates) -> None:
    key = templates.resource("AWS::KMS::Key", "network")["Properties"]
    assert key["EnableKeyRotation"] is True
    services = [s for s in key["KeyPolicy"]["Statement"] if "Service" in s["Principal"]]
    assert len(services) == 1
    assert services[0]["Principal"]["Service"] == f"logs.{templates.deployment.region}.amazonaws.com"
    [(operator, condition)] = services[0]["Condition"].items()
    assert operator == "ArnLike"
    [(name, pattern)] = condition.items()
    assert name == "kms:EncryptionContext:aws:logs:arn"
    region = templates.deployment.region
    assert pattern["Fn::Join"][1] == [f"arn:aws:logs:{region}:", {"Ref": "AWS::AccountId"}, ":log-group:*"]
