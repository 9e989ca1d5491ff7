from __future__ import annotations

from pathlib import Path

import pytest

from wsi.replacing import replace_file


class OpenElsewhere(type(Path())):
    """Another program has the target open, for as many attempts."""

    refusals = 0

    def replace(self, target: Path) -> Path:
        if OpenElsewhere.refusals:
            OpenElsewhere.refusals -= 1
            raise PermissionError(13, "in use")
        return super().replace(target)


@pytest.fixture
def source(tmp_path: Path) -> OpenElsewhere:
    (tmp_path / "new").write_bytes(b"new")
    return OpenElsewhere(tmp_path / "new")


@pytest.mark.parametrize("refusals", [0, 1, 20])
def test_a_refusal_is_tried_again(source: OpenElsewhere, tmp_path: Path, refusals: int) -> None:
    OpenElsewhere.refusals = refusals
    replace_file(source, tmp_path / "old", waits=True, pause=0.0)
    assert (tmp_path / "old").read_bytes() == b"new"


@pytest.mark.parametrize(("refusals", "waits"), [(21, True), (1, False)])
def test_a_file_that_stays_open_is_refused(source: OpenElsewhere, tmp_path: Path, refusals: int, waits: bool) -> None:
    OpenElsewhere.refusals = refusals
    with pytest.raises(PermissionError):
        replace_file(source, tmp_path / "old", waits=waits, pause=0.0)
    assert source.read_bytes() == b"new"
