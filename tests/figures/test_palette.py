"""Colours: read by everyone, in both themes, and told apart without their hue."""

from __future__ import annotations

import itertools

import pytest

from sparsekit.figures.palette import DARK, INKS, KINDS, LIGHT, MEANING, letters_on, series

THEMES = pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])


def _luminance(color):
    channels = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """The contrast ratio of two colours (``#rrggbb``), 1 to 21, as the Web Content Accessibility Guidelines 2 define it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@THEMES
def test_letters_are_read_on_everything_that_they_stand_on(colors):
    for ground in ("paper", "lens"):
        for ink in INKS:
            assert contrast(colors[ink], colors[ground]) >= 4.5
    for kind in KINDS:
        assert contrast(colors[letters_on(kind)], colors[kind]) >= 4.5, kind


@THEMES
def test_dense_and_sparse_are_seen_on_the_paper(colors):
    for kind in ("dense", "sparse", "edge", "muted"):
        assert contrast(colors[kind], colors["paper"]) >= 3


def test_every_kind_has_a_meaning_and_both_themes_have_every_colour():
    assert set(MEANING) == set(KINDS)
    assert set(LIGHT) == set(DARK)


def test_curves_are_told_apart_by_ink_and_dashes():
    chosen = [series(number) for number in range(12)]
    assert all(one != other for one, other in itertools.combinations(chosen, 2))
