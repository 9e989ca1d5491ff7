"""Bars, in a file and in a notebook."""

from __future__ import annotations

import builtins
import sys

import pytest

from tessera.progress import TilesBar, choose_console, is_watched, make_bytes_bar


class ZMQInteractiveShell:
    """A notebook's shell, by whose name rich knows one."""


@pytest.fixture
def _notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)


def test_a_file_is_not_watched() -> None:
    assert not is_watched()


@pytest.mark.usefixtures("_notebook")
def test_a_notebook_is_watched() -> None:
    assert is_watched()


@pytest.mark.usefixtures("_notebook")
def test_without_ipywidgets_a_bar_is_drawn_as_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert not choose_console().is_jupyter
    with TilesBar() as bar:  # rich would warn that ipywidgets is needed, and warnings are errors here
        bar.begin("a")(8)
        bar.advance(8)
    assert "8/8" in capsys.readouterr().err


def test_a_speed_that_is_not_known_yet_is_left_blank(capsys: pytest.CaptureFixture[str]) -> None:
    with make_bytes_bar() as bar:
        bar.update(bar.add_task("a.svs", total=9), completed=9)
    drawn = capsys.readouterr().err
    assert "9/9 bytes" in drawn
    assert "?" not in drawn
