"""The harness fails on code that has one of the faults that it is there to find."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.chaos.code_faults import CODE_FAULTS, copy_with
from tests.chaos.faults import FAULTS
from tests.chaos.run import run
from tests.chaos.schedule import plan_again
from tests.prerequisites import EMULATOR, NODE

pytestmark = [pytest.mark.stack, pytest.mark.exhaustive]


@pytest.mark.parametrize("name", list(CODE_FAULTS))
def test_each_fault_can_be_put_into_todays_code(name: str, tmp_path: Path) -> None:
    fault = CODE_FAULTS[name]
    changed = (copy_with(fault, tmp_path / "copy") / fault.file).read_text()
    compile(changed, fault.file, "exec")
    assert set(fault.faults) <= FAULTS.keys()


@pytest.mark.skipif(
    not os.environ.get("TESSERA_LONG_TESTS"), reason="TESSERA_LONG_TESTS is not set: these take minutes"
)
@pytest.mark.parametrize("name", list(CODE_FAULTS))
def test_a_fault_in_the_code_makes_the_harness_fail(name: str, tmp_path: Path) -> None:
    EMULATOR.require()
    NODE.require()
    fault = CODE_FAULTS[name]
    copy = copy_with(fault, tmp_path / "copy")
    plan = plan_again(fault.faults, seconds=25, pause=2)
    report = run(tmp_path, plan, root=copy, pause=0.7, calm_limit=60)
    if not report.faults:
        pytest.skip("; ".join(report.missing))
    print(report)  # noqa: T201 - what it saw, with pytest -s
    assert not report.count.is_clean
