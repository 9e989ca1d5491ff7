"""A path that is not there is found under the names that mean the same, and a near one is told."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest

from tessera.local_run.inputs import UsageError, expand
from tessera.local_run.inputs.near_names import find_near_path, find_same_path
from tessera.local_run.sources import Sources
from tests.tessera.local_run.inputs.places import names, write
from wsi.errors import SourceMissing

COMPOSED, SPLIT = normalize("NFC", "Fälle/Müller é.svs"), normalize("NFD", "Fälle/Müller é.svs")


@pytest.mark.parametrize(("stored", "typed"), [(COMPOSED, SPLIT), (SPLIT, COMPOSED)])
def test_a_name_in_the_other_unicode_form_is_read_and_the_note_says_so(tmp_path: Path, stored: str, typed: str) -> None:
    write(tmp_path, stored)
    found = expand([str(tmp_path / typed)])
    assert found.slides[0].location == str(tmp_path / stored)
    (note,) = found.notes
    assert str(tmp_path / stored) in note


def test_backslashes_of_a_manifest_from_windows_are_slashes(tmp_path: Path) -> None:
    write(tmp_path, "sub/b.tif")
    (tmp_path / "m.csv").write_text("path\nsub\\b.tif\n")
    assert expand([], tmp_path / "m.csv").slides[0].location == str(tmp_path / "sub/b.tif")


def test_a_backslash_that_is_in_a_name_stays(tmp_path: Path) -> None:
    write(tmp_path, "sub\\b.tif", "sub/b.tif")
    assert names(expand([str(tmp_path / "sub\\b.tif")])) == ["sub\\b"]


def test_two_names_that_mean_the_same_are_not_chosen_between(tmp_path: Path) -> None:
    mixed = "é" + normalize("NFD", "é")
    write(tmp_path, normalize("NFC", mixed) + ".svs", normalize("NFD", mixed) + ".svs")
    assert find_same_path(str(tmp_path / f"{mixed}.svs")) is None


def test_a_near_name_is_told_and_not_read(tmp_path: Path) -> None:
    write(tmp_path, "Case-17.svs", "other.svs")
    with pytest.raises(UsageError, match=r"There is no file or folder .*case17\.svs; did you mean .*Case-17\.svs\?"):
        expand([str(tmp_path / "case17.svs")])
    assert find_near_path(str(tmp_path / "nothing like it.svs")) is None
    assert find_near_path(str(tmp_path / "absent/Case-17.svs")) is None


def test_a_row_of_a_manifest_whose_file_is_missing_is_rejected_with_the_near_name(tmp_path: Path) -> None:
    write(tmp_path, "Case-17.svs")
    (tmp_path / "m.csv").write_text("path\nCase-18.svs\n")
    (slide,) = expand([], tmp_path / "m.csv").slides
    with pytest.raises(SourceMissing, match=r"does not exist; did you mean .*Case-17\.svs\?"), Sources().open(slide):
        pass
