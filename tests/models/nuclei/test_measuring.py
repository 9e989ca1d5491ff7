from __future__ import annotations

import numpy as np
import pytest

from models.nuclei.measuring import compare
from models.nuclei.pictures import Annotated, measure_depth


def test_two_found_of_three_with_one_invented() -> None:
    annotated, found = np.zeros((2, 10, 30), np.int32)
    annotated[2:6, 2:6], annotated[2:6, 10:14], annotated[2:6, 20:24] = 1, 2, 3
    found[2:6, 2:6], found[2:6, 11:14], found[8:10, 26:30] = 5, 6, 7
    agreement = compare(found, annotated)
    assert (agreement.matched, agreement.annotated, agreement.found) == (2, 3, 3)
    assert agreement.f1 == pytest.approx(2 / 3)
    assert agreement.quality == pytest.approx((1 + 0.75) / 2 * 2 / 3)
    assert agreement.dice == pytest.approx(2 * 28 / (48 + 36))


def test_half_of_a_nucleus_is_not_it() -> None:
    annotated, found = np.zeros((2, 4, 8), np.int32)
    annotated[:, :4], found[:, :2] = 1, 1
    assert compare(found, annotated).matched == 0


def test_nothing_agrees_with_nothing() -> None:
    nothing = np.zeros((4, 4), np.int32)
    assert compare(nothing, nothing).f1 == 0


def test_depth_is_one_in_the_middle_of_each_nucleus_however_large() -> None:
    nuclei = np.zeros((20, 30), np.int32)
    nuclei[2:7, 2:7], nuclei[5:16, 15:26] = 1, 2
    depth = measure_depth(nuclei)
    assert depth[4, 4] == depth[10, 20] == 1
    assert depth[2, 2] == pytest.approx(1 / 3)
    assert not depth[nuclei == 0].any()


def test_depth_falls_where_two_nuclei_touch() -> None:
    nuclei = np.zeros((9, 18), np.int32)
    nuclei[:, :9], nuclei[:, 9:] = 1, 2
    assert measure_depth(nuclei)[4, 8] == pytest.approx(1 / 5)


def test_quadrants_cover_the_picture_once() -> None:
    annotated = Annotated(pixels=np.zeros((7, 9, 3), np.uint8), nuclei=np.zeros((7, 9), np.int32))
    times = np.zeros((7, 9), int)
    for quadrant in range(4):
        times[annotated.cut(quadrant)] += 1
    assert (times == 1).all()
