from __future__ import annotations

from pathlib import Path

from tools.formats import CODEC_NAMES, REASONS, page
from wsi.errors import RejectReason
from wsi.slide.coding import Codec
from wsi.slide.decoding import DECODERS


def test_the_committed_page_of_formats_is_the_generated_one():
    committed = Path(__file__).parents[3] / "docs" / "formats.md"
    assert committed.read_text() == page(), "run: python -m tools.formats > docs/formats.md"


def test_the_page_names_every_codec_that_has_a_decoder_and_every_reason():
    assert set(CODEC_NAMES) == set(Codec) == set(DECODERS)
    assert set(REASONS) == set(RejectReason)
