"""Sums over squares and the extremes of channels are those that the slow way gives, sums of whole slides that pass 31
bits included."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wsi.inspection.boxes import compute_box_sums, dilate, filter_majority
from wsi.inspection.channels import compute_channel_max, compute_channel_min

SIDES = st.integers(1, 40)


@settings(deadline=None)
@given(SIDES, SIDES, st.integers(0, 6), st.sampled_from([1, 255, 2**31 // 13**2 - 1]))
def test_each_sum_is_of_the_square_around_with_edges_repeated(height: int, width: int, reach: int, most: int):
    image = np.random.default_rng(height * width).integers(0, most, (height, width), dtype=np.int32, endpoint=True)
    side = 2 * reach + 1
    padded = np.pad(image.astype(np.int64), reach, mode="edge")
    slow = np.lib.stride_tricks.sliding_window_view(padded, (side, side)).sum(axis=(2, 3))
    assert (compute_box_sums(image, side) == slow).all()
    mask = image > most // 2
    around = np.lib.stride_tricks.sliding_window_view(np.pad(mask, reach, mode="edge"), (side, side)).mean(axis=(2, 3))
    assert (filter_majority(mask, side) == (around > 0.5)).all()
    assert (dilate(mask, side) == (around > 0)).all()


@settings(deadline=None)
@given(SIDES, SIDES, st.sampled_from([np.uint8, np.uint16]))
def test_the_extremes_of_three_channels_are_numpys(height: int, width: int, kind: type[np.unsignedinteger]):
    pixels = np.random.default_rng(height * width).integers(0, np.iinfo(kind).max, (height, width, 3), dtype=kind)
    assert (compute_channel_max(pixels) == pixels.max(axis=-1)).all()
    assert (compute_channel_min(pixels) == pixels.min(axis=-1)).all()
    assert compute_channel_max(pixels).dtype == kind
