r"""Paths as Windows has them: `C:\slides\a.svs` is a path and no URL, and some names are no names there."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from tessera.local_run.inputs import local_paths
from tessera.local_run.inputs.listing import FileEntry
from tessera.local_run.inputs.local_paths import make_folder_name, make_reachable, strip_slash, with_slashes
from tessera.local_run.inputs.slide_input import SlideInput
from tessera.local_run.sources import make_relative_names


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (r"C:\slides\a.svs", "C:/slides/a.svs"),
        (r"\\server\share\a.svs", "//server/share/a.svs"),
        (r"..\a.svs", "../a.svs"),
        ("C:/slides/a.svs", "C:/slides/a.svs"),
    ],
)
def test_paths_of_windows_have_slashes(path: str, expected: str) -> None:
    assert with_slashes(path, windows=True) == expected
    assert PureWindowsPath(with_slashes(path, windows=True)) == PureWindowsPath(path)
    assert with_slashes(path, windows=False) == path


def test_a_file_on_a_drive_has_its_name_folder_and_suffix() -> None:
    entry = FileEntry(location=with_slashes(r"C:\slides\A.SVS", windows=True), size=1, stamp="", real="")
    assert (entry.name, entry.folder, entry.suffix, entry.is_remote) == ("A.SVS", "C:/slides", ".svs", False)
    assert not SlideInput(location=r"C:\slides\a.svs").is_remote


def test_names_in_a_series_on_a_drive_begin_below_its_folder() -> None:
    assert make_relative_names(["E:/study/a/1.dcm", "E:/study/b/1.dcm"]) == ("a/1.dcm", "b/1.dcm")
    assert make_relative_names(["E:/1.dcm", "E:/2.dcm"]) == ("1.dcm", "2.dcm")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("C:/", "C:/"), ("C:", "C:/"), ("C:/slides/", "C:/slides"), ("/", "/"), ("a/", "a"), ("", "/")],
)
def test_a_drive_is_a_folder_and_not_the_current_one_on_it(path: str, expected: str) -> None:
    assert strip_slash(path, windows=True) == expected


def test_a_folder_that_is_called_like_a_drive_keeps_its_name_elsewhere() -> None:
    assert strip_slash("C:/", windows=False) == "C:"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aux", "_aux"),
        ("NUL", "_NUL"),
        ("con.2024", "_con.2024"),
        ("LPT¹", "_LPT¹"),
        ("COM10", "COM10"),
        ("console", "console"),
        ("slide ", "slide"),
        ("slide...", "slide"),
        ("HE: 20x", "HE_ 20x"),
        ("a\\b|c?", "a_b_c_"),
        ("..", "_"),
        ("é 1", "é 1"),
    ],
)
def test_a_folder_of_results_has_a_name_that_windows_takes(name: str, expected: str) -> None:
    assert make_folder_name(name, windows=True) == expected
    assert make_folder_name(expected, windows=True) == expected
    assert make_folder_name(name, windows=False) == name


def test_names_that_become_equal_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera.local_run.inputs import naming

    monkeypatch.setattr(naming, "make_folder_name", lambda name: make_folder_name(name, windows=True))
    slides = [SlideInput(location=f"s3://bucket/{name}.svs") for name in ("a:b", "a?b", "aux")]
    assert [slide.name for slide in naming.assign_names(slides)] == ["a_b", "a_b-2", "_aux"]


class Drive(PureWindowsPath):
    def absolute(self) -> PureWindowsPath:
        return self


@pytest.mark.parametrize(
    ("folder", "longest", "expected"),
    [
        (r"C:\out", 20, r"C:\out"),
        (r"C:\out", 200, "\\\\?\\C:\\out"),
        (rf"C:\{'o' * 200}", 20, rf"\\?\C:\{'o' * 200}"),
        (r"\\server\share\out", 200, r"\\?\UNC\server\share\out"),
        ("\\\\?\\C:\\out", 200, "\\\\?\\C:\\out"),
    ],
)
def test_long_paths_get_the_prefix(monkeypatch: pytest.MonkeyPatch, folder: str, longest: int, expected: str) -> None:
    monkeypatch.setattr(local_paths, "Path", Drive)
    assert str(make_reachable(Drive(folder), longest, windows=True)) == expected


def test_elsewhere_a_long_path_stays() -> None:
    assert make_reachable(Path("o" * 300), 200, windows=False) == Path("o" * 300)


def test_a_slide_in_the_root_of_a_drive_has_a_name() -> None:
    assert PurePosixPath(with_slashes("E:\\a.svs", windows=True)).stem == "a"
