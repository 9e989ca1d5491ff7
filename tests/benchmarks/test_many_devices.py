"""The benchmark that is run on machines with several GPUs runs here on CPUs, and sees equal bytes."""

from __future__ import annotations

import pytest

from benchmarks import many_devices


def test_one_process_and_two_give_equal_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert many_devices.main(["--device", "cpu", "--patches", "1500", "--distinct", "16", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert said.count("equal bytes: True") == 2
    assert "2 of 2, a process each" in said
