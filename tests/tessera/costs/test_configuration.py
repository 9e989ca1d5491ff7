from __future__ import annotations

from dataclasses import replace

import pytest

from tessera.costs.configuration import PRESETS, Preset, make_configuration
from tessera.local_run.inputs import UsageError


def test_settings_are_given_as_for_the_deployment() -> None:
    given = ["nat_gateways=3", "database_multi_az=false", "database_instance_type=t4g.medium", "trace_share=0.5"]
    assert make_configuration(Preset.PROD, given) == replace(
        PRESETS[Preset.PROD],
        nat_gateways=3,
        database_multi_az=False,
        database_instance_type="t4g.medium",
        trace_share=0.5,
    )


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("nat_gateway=3", "-c takes name=value of a setting that changes the bill, nat_gateways, "),
        ("nat_gateways", "-c takes name=value"),
        ("nat_gateways=two", "nat_gateways is a whole number, not two."),
        ("database_multi_az=yes", "database_multi_az is true or false, not yes."),
        ("trace_share=half", "trace_share is a number from 0 to 1, not half."),
        ("trace_share=2", "trace_share is a number from 0 to 1, not 2."),
        ("database_instance_type=m7g.xlarge", "no price of database_instance_type m7g.xlarge; it has those of t4g.med"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_reason(setting: str, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        make_configuration(Preset.DEV, [setting])
    assert reason in str(refused.value)
