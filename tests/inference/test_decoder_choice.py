from __future__ import annotations

import os
from contextlib import closing

import pytest

from inference.decoder_choice import CPU_BUDGET, choose_decoders
from inference.decoding.decode_tasks import MeasureRows, Rows
from inference.decoding.processes import ProcessDecoders
from inference.decoding.threads import ThreadDecoders


@pytest.mark.parametrize(
    ("shared", "isolated", "expected"),
    [(True, True, ProcessDecoders), (True, False, ThreadDecoders), (False, True, ThreadDecoders)],
)
def test_processes_decode_where_memory_is_shared(
    monkeypatch: pytest.MonkeyPatch, shared: bool, isolated: bool, expected: type
) -> None:
    """As on Windows and macOS, where memory has no descriptor."""
    if not shared:
        monkeypatch.delattr(os, "memfd_create")
    decoders, budget = choose_decoders("cpu", 1, isolated=isolated)
    with closing(decoders):
        assert type(decoders) is expected
        assert budget == CPU_BUDGET
        assert decoders.submit(MeasureRows(Rows(2, 32, 32), 0, 2)).result(60).shape == (2, 4)
