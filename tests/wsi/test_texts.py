from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsi.texts import escape_control, holds_control

#: As users' files are named: macOS screenshots, Japanese and Persian names, emoji, marks of direction (cases 17).
NAMES = [
    "病理　HE染色.svs",
    "Schnitt\u00a01.svs",
    "Capture 2026-01-01 9.41.00\u202fAM.svs",
    "a\u2009b.svs",
    "👩\u200d⚕️.svs",
    "a\u200eb\u202e.svs",
    "می\u200cخواهم.svs",
    "soft\u00adhyphen.svs",
    "\ue000 private.svs",
    "line\u2028separator.svs",
]


@pytest.mark.parametrize("name", NAMES)
def test_spaces_joiners_and_marks_of_direction_are_no_control_characters(name: str):
    assert not holds_control(name)
    assert escape_control(name) == name


@pytest.mark.parametrize("character", ["\0", "\t", "\n", "\r", "\x1b", "\x7f", "\x85", "\x9b", "\ud800"])
def test_control_character_is_found_and_shown_by_its_code(character: str):
    assert holds_control(f"a{character}b")
    shown = escape_control(f"a{character}b")
    assert shown.startswith("a\\")
    assert not holds_control(shown)


def test_control_characters_are_category_cc():
    found = {chr(code) for code in range(sys.maxunicode + 1) if holds_control(chr(code))}
    control = {each for each in found if unicodedata.category(each) == "Cc"}
    assert len(control) == 65
    assert all(0xD800 <= ord(each) <= 0xDFFF for each in found - control)


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_what_is_shown_holds_no_control_character_and_can_be_written(text: str):
    shown = escape_control(text)
    assert not holds_control(shown)
    shown.encode()
