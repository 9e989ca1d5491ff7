"""Real and broken slides that lie beside the repository, in ../shared/slides (its MANIFEST.md says what each is)."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_SLIDES = Path(__file__).resolve().parents[2] / "shared" / "slides"


def shared_slide(name: str) -> Path:
    """The path of `name`, such as "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"; skips the test without the folder."""
    if not SHARED_SLIDES.is_dir():
        pytest.skip("the folder ../shared/slides is absent; it holds the real slides that this test reads")
    path = SHARED_SLIDES / name
    assert path.exists(), f"../shared/slides has no {name}"
    return path
