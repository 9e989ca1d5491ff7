"""Rules by which the images of a file are grouped into pyramids."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsi.errors import SlideRejected
from wsi.records.slides import Choice
from wsi.slide.layouts.pyramids import ChosenPyramid, StoredImage, choose_pyramid, find_pyramids, shows_same_field

sides = st.integers(1, 200_000)
images = st.builds(
    StoredImage,
    number=st.just(0),
    width=sides,
    height=sides,
    mpp=st.none() | st.floats(0.05, 50),
    is_tiled=st.booleans(),
    is_reduced=st.booleans(),
    plane=st.sampled_from([0.0, 1.0]),
)


def numbered(found: list[StoredImage]) -> list[StoredImage]:
    return [replace(image, number=number) for number, image in enumerate(found)]


@given(st.lists(images, min_size=1, max_size=12).map(numbered))
def test_every_image_is_in_exactly_one_pyramid_and_levels_shrink(found: list[StoredImage]):
    pyramids = find_pyramids(found)
    held = sorted(image.number for pyramid in pyramids for image in pyramid.levels)
    assert held == list(range(len(found)))
    for pyramid in pyramids:
        sizes = [image.side for image in pyramid.levels]
        assert sizes == sorted(set(sizes), reverse=True)
        assert len({image.plane for image in pyramid.levels}) == 1
    assert [pyramid.base.number for pyramid in pyramids] == sorted(pyramid.base.number for pyramid in pyramids)


@given(st.lists(images, min_size=1, max_size=8).map(numbered))
def test_a_choice_is_made_or_left_to_the_user_and_every_number_chooses(found: list[StoredImage]):
    pyramids = find_pyramids(found)
    chosen: ChosenPyramid | None = None
    with suppress(SlideRejected):
        chosen = choose_pyramid(pyramids, None)
    assert (chosen is None) <= (len(pyramids) > 1)
    assert chosen is None or chosen.pyramid in pyramids
    for number, pyramid in enumerate(pyramids if len(pyramids) > 1 else (), 1):
        assert choose_pyramid(pyramids, Choice(picture=number)).pyramid == pyramid


@given(
    st.integers(2_000, 150_000),
    st.integers(2_000, 150_000),
    st.lists(st.sampled_from([2, 4]), min_size=1, max_size=5),
    st.sampled_from([lambda side, step: side // step, lambda side, step: -(-side // step), lambda s, t: round(s / t)]),
    st.randoms(use_true_random=False),
)
def test_a_pyramid_is_one_however_its_sides_are_rounded_and_wherever_its_levels_lie(width, height, steps, halve, order):
    levels = [(width, height)]
    for step in steps:
        wide, high = (halve(side, step) for side in levels[-1])
        if min(wide, high) >= 64:
            levels.append((wide, high))
    places = list(range(len(levels)))
    order.shuffle(places)
    found = [StoredImage(number=place, width=w, height=h) for place, (w, h) in zip(places, levels, strict=True)]
    (pyramid,) = find_pyramids(sorted(found, key=lambda image: image.number))
    assert [(image.width, image.height) for image in pyramid.levels] == levels


@pytest.mark.parametrize(
    ("smaller", "same"),
    [((1000, 750), True), ((1000, 752), True), ((1000, 753), False), ((1000, 747), False), ((750, 1000), False)],
)
def test_proportions_decide_within_a_rounded_pixel(smaller: tuple[int, int], same: bool):
    base = StoredImage(number=0, width=4000, height=3000)
    assert shows_same_field(StoredImage(number=1, width=smaller[0], height=smaller[1]), base) is same


def test_an_image_whose_scale_contradicts_its_size_is_no_level():
    base = StoredImage(number=0, width=4000, height=3000, mpp=0.25)
    level = StoredImage(number=1, width=2000, height=1500, mpp=0.5)
    other = replace(level, mpp=0.25)
    assert len(find_pyramids([base, level])) == 1
    assert len(find_pyramids([base, other])) == 2


@pytest.mark.parametrize(
    ("other", "is_another_scan"),
    [
        (StoredImage(number=1, width=20_000, height=9_000, mpp=0.25), True),
        (StoredImage(number=1, width=900, height=700, mpp=0.25), True),
        (StoredImage(number=1, width=20_000, height=9_000, mpp=1.0), False),
        (StoredImage(number=1, width=20_000, height=9_000), True),
        (StoredImage(number=1, width=2_040, height=1_000), False),
        (StoredImage(number=1, width=2_060, height=1_000), True),
        (StoredImage(number=1, width=1_280, height=431), False),
    ],
)
def test_scale_and_size_tell_an_overview_from_another_scan(other: StoredImage, is_another_scan: bool):
    slide = StoredImage(number=0, width=40_000, height=30_000, mpp=0.25)
    if is_another_scan:
        with pytest.raises(SlideRejected, match="2 scans"):
            choose_pyramid(find_pyramids([slide, other]), None)
    else:
        assert choose_pyramid(find_pyramids([other, slide]), None).pyramid.base == slide
