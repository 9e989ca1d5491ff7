from __future__ import annotations

from tools.reference.formats import CODEC_NAMES, REASONS
from wsi.errors import RejectReason
from wsi.slide.coding import Codec
from wsi.slide.decoding import DECODERS


def test_the_page_names_every_codec_that_has_a_decoder_and_every_reason():
    assert set(CODEC_NAMES) == set(Codec) == set(DECODERS)
    assert set(REASONS) == set(RejectReason)
