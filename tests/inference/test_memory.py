from __future__ import annotations

import subprocess
import sys

import numpy as np

from inference.memory import read_machine_bytes, read_peak_bytes

MIB = 1024**2
PEAK = "from inference.memory import read_peak_bytes; print(read_peak_bytes())"


def test_the_machine_has_more_than_this_process_has_held():
    assert 10 * MIB < read_peak_bytes() < read_machine_bytes()


def test_the_peak_stays_when_memory_is_given_back():
    before = read_peak_bytes()
    held = np.ones(300 * MIB, np.uint8)
    del held
    assert read_peak_bytes() >= before + 100 * MIB or before >= 300 * MIB


def test_a_child_is_not_counted_what_its_parent_held():
    held = np.ones(400 * MIB, np.uint8)
    child = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    assert len(held) > int(child.stdout)
