"""Which names of others become files in a folder of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsi.file_names import is_file_name


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "../x", "a\0b", "\0", "a" * 256, "ä" * 128])
def test_what_is_no_file_in_the_folder_is_no_name(name: str) -> None:
    assert not is_file_name(name, on_windows=False)
    assert not is_file_name(name, on_windows=True)


@pytest.mark.parametrize(
    "name",
    [
        *("NUL", "con.csv", "Com1.tar.gz", "LPT9", "com¹.txt", "CONIN$", "aux .txt", "prn."),
        *("C:x", "a.csv:stream", "a\\b", "a.", "a ", "a\tb", "a*", "what?", 'say "a"', "a|b", "<a>"),
    ],
)
def test_what_windows_takes_for_something_else_is_no_name_there(name: str) -> None:
    assert not is_file_name(name, on_windows=True)
    assert is_file_name(name, on_windows=False)


@pytest.mark.parametrize(
    "name", ["summary.json", "tiles.csv", ".hidden", "NULL", "console.csv", "COM10", "com", "a..b", "ä" * 127, "a b"]
)
def test_any_other_text_is(name: str) -> None:
    assert is_file_name(name, on_windows=True)


@given(st.text(alphabet=st.sampled_from("./\\\0aN:UL "), max_size=6))
def test_a_file_of_that_name_is_in_the_folder_and_nowhere_else(name: str) -> None:
    if is_file_name(name, on_windows=False):
        path = Path("/folder") / name
        assert (path.parent, path.name) == (Path("/folder"), name)
        assert Path("/folder").joinpath(name).resolve().parent == Path("/folder").resolve()
