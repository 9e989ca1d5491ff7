"""Names of files in plans: numbers, from which nobody learns what a user called a file."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsi.planning.numbered_files import are_numbers, hide_names

SAYS_NOTHING = re.compile(
    r"\d{5}(\.(svs|tiff?|ndpi|scn|bif|svslide|qptiff|czi|mrxs|vm[su]|dcm|dicom))?"
    r"|\d{5}/(Slidedat\.ini|(Data|Index)\d{0,5}\.dat)"
)
segments = st.text(st.characters(exclude_characters="/", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
words = segments | st.sampled_from(
    ["a.mrxs", "a", "Data0000.dat", "Slidedat.ini", "Index.dat", "b.svs", "S11-4711.Smith"]
)
names = st.lists(st.lists(words, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8, unique=True)


@given(names)
def test_whatever_files_are_called_a_plan_says_nothing_of_it(given_names: list[str]) -> None:
    hidden = hide_names(given_names)
    assert len(set(hidden)) == len(given_names)
    assert all(SAYS_NOTHING.fullmatch(name) for name in hidden)


@pytest.mark.parametrize(
    ("given_names", "hidden"),
    [
        (["Smith/S11.4711.SVS"], ["00000.svs"]),
        (["S11-4711.Smith"], ["00000"]),
        (["Smith/1.dcm", "Smith/2.dcm"], ["00000.dcm", "00001.dcm"]),
        (["x/Smith/Slidedat.ini", "x/Smith.mrxs", "notes.txt"], ["00001/Slidedat.ini", "00001.mrxs", "00002"]),
        (["Smith.vms", "Smith-1.jpg"], ["00000.vms", "00001"]),
        (["Smith.mrxs", "Smith/Slidedat.ini", "Smith/Smith.dat"], ["00000.mrxs", "00001", "00002"]),
    ],
)
def test_a_number_keeps_the_suffix_and_a_mirax_slide_its_folder(given_names: list[str], hidden: list[str]) -> None:
    assert list(hide_names(given_names)) == hidden


def test_numbers_are_told_from_names_that_files_can_refer_to_each_other_by() -> None:
    assert are_numbers(hide_names(["Smith.vms", "Smith-1.jpg"]))
    assert not are_numbers(hide_names(["Smith.mrxs", "Smith/Slidedat.ini"]))
    assert not are_numbers(["a.vms", "a-1.jpg"])
