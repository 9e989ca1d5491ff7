"""What may be deployed, and what is said when it may not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from cdk.deployment import PRESETS, Deployment, WrongDeployment
from cdk.sign_on import ROLES
from tests.cdk.templates import ROOT
from wsi.records.identity import Role

CERTIFICATE = "arn:aws:acm:us-east-1:111122223333:certificate/0a1b2c3d"

GROUP = {"tenant": "pathology", "role": "viewer"}
OIDC = {
    "issuer": "https://login.example.org",
    "client_id": "tessera",
    "client_secret_arn": "arn:aws:secretsmanager:eu-central-1:111122223333:secret:sign-on-AbCdEf",
}


def sign_on(**changes: Any) -> dict[str, Any]:
    """The context of a provider of SAML; None takes a setting away."""
    given = {"name": "Hospital", "metadata_url": "https://login.example.org/m", "groups": "memberOf"}
    given = {**given, "roles": {"staff": GROUP}, **changes}
    return {"sign_on": {name: value for name, value in given.items() if value is not None}}


def test_nothing_said_is_the_dev_preset() -> None:
    assert Deployment.from_context({}) == Deployment.from_context({"environment": "dev", "preset": "dev"})


def test_prod_survives_the_loss_of_a_zone_and_of_a_stack() -> None:
    prod = Deployment.from_context({"environment": "prod"})
    assert prod.database_multi_az
    assert prod.nat_gateway_count == len(prod.zones)
    assert prod.keeps_data
    assert prod.backup_days == 30


def test_dev_costs_no_gpu_and_leaves_nothing_while_it_idles() -> None:
    dev = Deployment.from_context({})
    assert dev.warm_nodes == 0
    assert not dev.keeps_data


@pytest.mark.parametrize("preset", PRESETS)
def test_an_environment_of_another_name_takes_a_preset(preset: str) -> None:
    named, own = (Deployment.from_context({"environment": name, "preset": preset}) for name in ("trial", preset))
    assert named.prefix == "tessera-trial"
    assert named.model_copy(update={"environment": preset}) == own


def test_strings_of_the_command_line_become_numbers_switches_and_lists() -> None:
    deployment = Deployment.from_context(
        {
            "max_gpu_workers": "7",
            "keeps_data": "true",
            "allowed_buckets": "lab-a, lab-b",
            "gpu_instance_types": ["g6.2xlarge"],
        }
    )
    assert deployment.max_gpu_workers == 7
    assert deployment.keeps_data is True
    assert deployment.allowed_buckets == ("lab-a", "lab-b")
    assert deployment.gpu_instance_types == ("g6.2xlarge",)


def test_browsers_may_come_from_the_domain_and_the_named_origins() -> None:
    deployment = Deployment.from_context(
        {"domain": "wsi.example.org", "certificate_arn": CERTIFICATE, "page_origins": "http://localhost:5173"}
    )
    assert deployment.origins == ("https://wsi.example.org", "http://localhost:5173")


def test_the_flags_of_cdk_json_are_none_of_our_settings() -> None:
    flags = json.loads((ROOT / "cdk.json").read_text())["context"]
    left_by_the_command = {"aws:cdk:bundling-stacks": ["**"], "acknowledged-issue-numbers": [1], "cli-telemetry": False}
    assert Deployment.from_context({**flags, **left_by_the_command}) == Deployment.from_context({})


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        ({"domian": "wsi.example.org"}, "domian is no setting of Tessera. Did you mean domain?"),
        ({"max-gpu-workers": "3"}, "max-gpu-workers is no setting of Tessera. Did you mean max_gpu_workers?"),
        ({"max_gpu_nodes": "3"}, "max_gpu_nodes is no setting of Tessera. Did you mean max_gpu_workers?"),
        ({"xyz": "3"}, "xyz is no setting of Tessera."),
        ({"environment": "staging"}, "There is no preset staging: give preset=dev or preset=prod."),
        ({"preset": "big"}, "There is no preset big: give preset=dev or preset=prod."),
        ({"domain": "wsi.example.org"}, "domain and certificate_arn belong together: give both or neither."),
        ({"page_origins": "https://*.example.org"}, "page_origins must be exact"),
        ({"page_origins": "https://wsi.example.org/"}, "page_origins must be exact"),
        ({"page_origins": "https://wsi.example.org/page"}, "page_origins must be exact"),
        ({"page_origins": "http://localhost.example.org"}, "page_origins must be exact"),
        ({"page_origins": "https://a.example.org https://b.example.org"}, "page_origins must be exact"),
        ({"region": "us-west-1"}, "Name availability_zones of us-west-1, as your account has them: aws ec2 describe"),
        ({"availability_zones": "eu-central-1a"}, "Name at least two availability_zones"),
        ({"availability_zones": "eu-central-1a,eu-central-1a"}, "Name at least two availability_zones"),
        ({"availability_zones": "eu-central-1a,eu-central-1bb"}, "availability_zones must lie in region eu-central-1"),
        ({"availability_zones": "eu-west-1a,eu-west-1b"}, "availability_zones must lie in region eu-central-1"),
        ({"log_days": "45"}, "Logs can be kept for 1, 7, 30"),
        ({"max_gpu_workers": "0"}, "max_gpu_workers: Input should be greater than 0"),
        ({"max_gpu_workers": "451"}, "max_gpu_workers: Input should be less than or equal to 450"),
        ({"max_gpu_workers": "many"}, "max_gpu_workers: Input should be a valid integer"),
        ({"environment": "Prod", "preset": "prod"}, "environment must be two to twelve small letters and digits"),
        ({"environment": "laboratory123", "preset": "dev"}, "environment must be two to twelve small letters"),
        ({"region": "Frankfurt"}, "region must be a region of AWS, as eu-central-1, not 'Frankfurt'."),
        ({"domain": "https://wsi.example.org"}, "domain must be a name in small letters, as wsi.example.org"),
        ({"certificate_arn": CERTIFICATE.replace("us-east-1", "eu-central-1")}, "certificate_arn must be the ARN of"),
        ({"warm_hours": {"begin": "0 7 * * *"}}, "warm_hours.begin is no setting of Tessera."),
        ({"warm_hours": {"start": "7:00"}}, "warm_hours.start must be a cron expression of five fields"),
        ({"slides_per_day": "0"}, "slides_per_day: Input should be greater than 0"),
        ({"slides_per_day": "many"}, "slides_per_day: Input should be a valid integer"),
        ({"slide_per_day": "10"}, "slide_per_day is no setting of Tessera. Did you mean slides_per_day?"),
        ({"peak_factor": "0.5"}, "peak_factor: Input should be greater than or equal to 1"),
        ({"private_subnet_mask": "24"}, "private_subnet_mask: Input should be less than or equal to 20"),
        ({"warm_nodes": "6"}, "warm_nodes must be at most max_gpu_workers, which is 5."),
        ({"nat_gateways": "4"}, "nat_gateways must be at most one a zone: there are 3 zones."),
        ({"allowed_buckets": "*"}, "allowed_buckets must be names of buckets alone, as lab-slides, not '*'."),
        ({"allowed_buckets": "lab-slides,s3://other"}, "allowed_buckets must be names of buckets alone"),
        ({"allowed_bucket_keys": "*"}, "allowed_bucket_keys must be ARNs of KMS keys, of no alias"),
        ({"gpu_instance_types": ""}, "gpu_instance_types: "),
        ({"gpu_instance_types": "g6.2xlarge,g5g.2xlarge"}, "gpu_instance_types must be of the families g4dn, g5"),
        ({"database_instance_type": "x2g.metal"}, "database_instance_type must be one of t4g.medium"),
        ({"mail_from": "our lab"}, "mail_from must be a domain or an address"),
        ({"alarm_email": "ops"}, "alarm_email must be an address"),
        ({"unusual_costs": "all"}, "unusual_costs must be tag, nobody or the ARN"),
        ({"cluster_admin_role_arn": "operator"}, "cluster_admin_role_arn must be the ARN of a role"),
        ({"worker_image": "podman"}, "worker_image must be docker, codebuild or the URI of an image"),
        ({"sign_on": "Hospital"}, "sign_on must be an object of JSON"),
        (sign_on(name="Cognito"), "sign_on.name must be three to 32 letters"),
        (sign_on(name="Our_Hospital"), "sign_on.name must be three to 32 letters"),
        (sign_on(groop="x"), "sign_on.groop is no setting of Tessera."),
        (sign_on(groups=None), "sign_on.groups: "),
        (sign_on(metadata_url=None), "sign_on needs metadata_url or metadata_file of a SAML provider, or issuer"),
        (sign_on(issuer="https://login.example.org"), "sign_on needs metadata_url or metadata_file"),
        (sign_on(metadata_file="metadata.xml"), "sign_on needs metadata_url or metadata_file"),
        (sign_on(metadata_url=None, metadata_file="no/such/file"), "sign_on metadata_file is no file: no/such/file"),
        (sign_on(metadata_url="http://login.example.org"), "sign_on.metadata_url must be an address with https"),
        (
            sign_on(metadata_url=None, **OIDC | {"client_secret_arn": "hush"}),
            "sign_on.client_secret_arn must be the ARN",
        ),
        (sign_on(metadata_url=None, **OIDC | {"client_id": None}), "sign_on needs metadata_url or metadata_file"),
        (sign_on(roles={}), "sign_on.roles: "),
        (sign_on(roles={"a, b": GROUP}), "sign_on.roles.a, b.[key] must be names of groups without commas"),
        (sign_on(roles={"staff": {**GROUP, "role": "root"}}), "sign_on.roles.staff.role: Input should be 'viewer'"),
        (sign_on(roles={"staff": {"role": "viewer"}}), "sign_on.roles.staff.tenant: Field required"),
        (sign_on(roles={str(n): GROUP for n in range(99)}), "sign_on roles must fit into 3,000 characters"),
        (
            sign_on(roles={"it": {**GROUP, "role": "admin"}}),
            "sign_on makes it admins, who need a second factor: make the provider demand it of everybody here",
        ),
        ({"preset": "prod", "environment": "prod", "demands_second_factor": "false"}, "demands_second_factor=false is"),
        ({"emulated": "true"}, "emulated is for `make deploy-emulated` on this machine"),
    ],
)
def test_what_can_not_be_deployed_is_said_in_a_sentence(context: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WrongDeployment) as refused:
        Deployment.from_context(context)
    assert str(refused.value).startswith(sentence)


def test_every_wrong_setting_is_named_at_once() -> None:
    with pytest.raises(WrongDeployment) as refused:
        Deployment.from_context({"bogus": "1", "max_gpu_workers": "0"})
    assert len(str(refused.value).splitlines()) == 2


#: Major versions about whose end jsii keeps quiet: the Node on the PATH may be one that is no longer maintained.
QUIET = {"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20,21,23"}


def test_the_app_ends_with_that_sentence_alone() -> None:
    context = {"environment": "prod", "bogus": "1"}
    ended = subprocess.run(
        [sys.executable, ROOT / "app.py"],
        env={**os.environ, **QUIET, "CDK_CONTEXT_JSON": json.dumps(context)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.strip() == "bogus is no setting of Tessera."


def test_single_sign_on_may_be_a_string_of_the_command_line_and_makes_nobody_more_than_it_names() -> None:
    given = sign_on(metadata_url=None, **OIDC)
    told = Deployment.from_context({"sign_on": json.dumps(given["sign_on"])})
    assert told == Deployment.from_context(given)
    assert told.sign_on is not None
    assert not told.sign_on.is_saml
    assert json.loads(told.sign_on.roles_as_json) == {"staff": ["pathology", "viewer"]}


def test_a_trial_may_do_without_a_second_factor_and_nobody_does_by_itself() -> None:
    assert Deployment.from_context({}).demands_second_factor
    assert not Deployment.from_context({"demands_second_factor": "false"}).demands_second_factor


def test_a_group_may_give_each_role_of_a_tenant_and_makes_nobody_an_operator() -> None:
    assert set(ROLES) == {role.value for role in Role} - {"operator"}
