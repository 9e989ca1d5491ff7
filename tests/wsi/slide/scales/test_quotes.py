"""What a message quotes of a text that looks like a scale: never anything that can carry a name."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wsi.plans import inspection
from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Inspection
from wsi.slide.mpp import get_valid_mpp
from wsi.slide.scales.quotes import quote_scale


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("a|MPP = 0|b", "MPP = 0"),
        ("a|MPP=NaN", "MPP = NaN"),
        ("MPP: unknown", "MPP = unknown"),
        ("OriginalMPP = 0.3", "MPP = 0.3"),
        ("MPP = 0.25 furlongs", "MPP = 0.25"),
        ("MPP = 0.25 Miller", "MPP = 0.25"),
        ("Miller MPP 0.25", "MPP = 0.25"),
        ("mpp = [0.25, 0.3]", "mpp = 0.25"),
        ("3dh_PixelSizeX = 242534|", "3dh_PixelSizeX = 242534"),
        ("Resolution = 300 dpi", "Resolution = 300 dpi"),
        ("Resolution = 4 px/um", "Resolution = 4 px/um"),
        ("the pixel size is 0.25 microns", "0.25 microns"),
        ("<Key>Pixel size</Key>", None),
        ("MPP = 12345678901", None),  # a number of a patient
        ("MPP = 12.05.1970", None),  # a date
        ("Resolution: see Dr Miller", None),
        ("unit=pixel", None),
        ("200 umbrellas", None),
        ("", None),
    ],
)
def test_quote_holds_the_field_the_number_and_a_known_unit(text: str, quote: str | None):
    assert quote_scale(text) == quote


WORDS = re.compile(
    r"3dh|original|mpp|pixel|pix|px|size|width|spacing|physical|spatial|calibration|scale|bar|resolution|per|microns?|"
    r"micromet(?:er|re)s?|nanomet(?:er|re)s?|millimet(?:er|re)s?|centimet(?:er|re)s?|inch(?:es)?|unknown|undefined|null|"
    r"none|nan|n/a|infinity|inf|dpi|ppi|points?|pt|mil|thou|u00b5m|u03bcm|micro|xb5|[nmcpuµμ\ufffd]?m|in|[sxye]",
    re.IGNORECASE,
)
PIECES = ["MPP", "Resolution", "pixel size", "microns", "um", "px", "/", " per ", "=", ":", " ", "0.25", "1,5e-1", "\n"]


@given(st.lists(st.sampled_from([*PIECES, "Miller", "Ng", "Li", "17.05.1970"]) | st.text(max_size=4)).map("".join))
def test_quote_of_any_text_is_short_and_holds_no_word_but_those_of_scales(text: str):
    quote = quote_scale(text)
    if quote is not None:
        assert len(quote) <= 80
        assert not re.search(r"[^\W\d_]", WORDS.sub("", quote)), quote


def test_quote_stands_in_the_message_and_says_what_to_do():
    seen = replace(inspection(100, 100), mpp_x=None, mpp_y=None, mpp_unread="MPP = 0")
    with pytest.raises(SlideRejected) as caught:
        get_valid_mpp(seen)
    assert caught.value.reason is RejectReason.NO_MPP
    assert '"MPP = 0", which is not understood' in caught.value.sentence
    assert "with the slide (`mpp`)" in caught.value.sentence


def test_inspection_that_was_stored_before_quotes_existed_is_read():
    stored = inspection(100, 100).as_json()
    del stored["mpp_unread"]
    assert Inspection.from_json(stored).mpp_unread is None
