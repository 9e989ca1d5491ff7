"""Cores that this process may use."""

from __future__ import annotations

import os

import pytest

from wsi.cores import count_available_cores, parse_quota


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("max 100000", None),
        ("200000 100000", 2.0),
        ("150000 100000", 1.5),
        ("-1\n 100000\n", None),  # version 1 writes no limit so
        ("", None),
        ("100000", None),
        ("1 0", None),
    ],
)
def test_the_limit_of_a_container_is_read(text: str, cores: float | None) -> None:
    assert parse_quota(text) == cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux binds processes to cores")
def test_a_process_bound_to_one_core_has_one() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert count_available_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert 1 <= count_available_cores() <= len(before)
