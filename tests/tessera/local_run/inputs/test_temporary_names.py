"""Names of files that are still being written."""

from __future__ import annotations

import pytest

from tessera.local_run.inputs.temporary_names import is_temporary


@pytest.mark.parametrize(
    "name",
    [
        "a.svs.part",
        "a.svs.PART",
        "a.tmp",
        "Unconfirmed 123.crdownload",
        "a.svs.filepart",
        "a.svs~",
        "~$table.xlsx",
        ".a.svs.Xy12Ab",
        "a.svs.partial",
        "a.svs.download",
    ],
)
def test_names_of_copies_in_progress_are_temporary(name: str) -> None:
    assert is_temporary(name)


@pytest.mark.parametrize("name", ["a.svs", "part.svs", "a.part.svs", "DCM_0", "a~b.tif", ".hidden", "tmp", "a.ndpi"])
def test_names_of_slides_are_not(name: str) -> None:
    assert not is_temporary(name)
