"""Links between documents lead somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.links import ROOT, list_broken_links, list_missing_paths, list_pages, read_anchors, read_links


def test_every_link_leads_somewhere() -> None:
    assert [message for page in list_pages(ROOT) for message in list_broken_links(page, ROOT)] == []


def test_every_path_that_a_document_names_exists() -> None:
    assert [message for page in list_pages(ROOT) for message in list_missing_paths(page, ROOT)] == []


def test_a_missing_path_is_found(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    (tmp_path / "wsi").mkdir()
    (tmp_path / "wsi/states.py").write_text("")
    page.write_text("`wsi/states.py: MOVES` `wsi/states` `wsi/` `wsi/gone.py: MOVES`\n```\n`wsi/code.py`\n```\n")
    assert list(list_missing_paths(page, tmp_path)) == ["README.md: `wsi/gone.py` does not exist."]


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("[a](gone.md)", "does not exist"),
        ("![a](images/gone.png)", "does not exist"),
        ('<a href="gone.html">a</a>', "does not exist"),
        ("[a](other.md#gone)", "names no heading"),
        ("[a](#gone)", "names no heading"),
        ("[a](other.md#twice)", "or one of several"),
        ("[a]: gone.md", "does not exist"),
        ("[a](../wsi/states.py)", "not part of the site"),
        ("[a](../../secret.md)", "does not exist"),
    ],
)
def test_a_broken_link_is_found(tmp_path: Path, link: str, said: str) -> None:
    root = tmp_path / "root"
    for name, text in {
        "docs/page.md": f"# Page\n\n{link}\n",
        "docs/other.md": "# Other\n\n## Twice\n\n## Twice\n",
        "wsi/states.py": "",
        "../secret.md": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (message,) = list_broken_links(root / "docs/page.md", root)
    assert said in message


def test_right_links_and_code_are_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(
        "# One: two\n\n## `code` and [link](#one-two)\n\n[a](#one-two) [b](#code-and-link) [c](https://example.org/x#y)\n"
        "[d](README.md#one-two) `[e](gone.md)`\n\n```\n# not a heading\n[f](gone.md)\n```\n"
    )
    assert list(list_broken_links(page, tmp_path)) == []


def test_anchors_on_which_github_and_the_site_differ_are_none() -> None:
    assert read_anchors("# a & b\n# c d\n# e - f\n") == {"c-d"}
    assert read_links('[a](b) ![c](d "title")') == ["b", "d"]
