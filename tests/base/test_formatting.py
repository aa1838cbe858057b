from __future__ import annotations

import math

import pytest

from sparsekit.base import formatting


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0 B"), (88, "88 B"), (999, "999 B"), (1288, "1.29 kB"), (59_280, "59.3 kB"), (512_000_000, "512 MB"),
     (999_700, "1.00 MB"), (1_576_000_000, "1.58 GB"), (-2048, "-2.05 kB"), (math.nan, "0 B"), (None, "0 B")],
)  # fmt: skip
def test_bytes(value, written):
    assert formatting.format_bytes(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0 s"), (0.85, "850 ns"), (12.34, "12.3 µs"), (999.96, "1.00 ms"), (12_345, "12.3 ms"), (4.1e6, "4.10 s"),
     (1.2e8, "2.00 min"), (1e-9, "0 s"), (-5, "-5.00 µs")],
)  # fmt: skip
def test_durations(value, written):
    assert formatting.format_duration(value) == written


@pytest.mark.parametrize(
    ("value", "written"), [(0, "0"), (12_345, "12,345"), (1_280_000, "1.28 M"), (2.56e9, "2.56 G"), (-3, "-3")]
)
def test_counts(value, written):
    assert formatting.format_count(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0 %"), (1e-5, "0.001 %"), (9.6e-6, "0.00096 %"), (0.25, "25 %"), (0.5, "50 %"), (1, "100 %"),
     (0.99999, ">99.9 %"), (1e-13, "1.0e-11 %"), (math.inf, "0 %")],
)  # fmt: skip
def test_densities(value, written):
    assert formatting.format_density(value) == written


@pytest.mark.parametrize(
    ("part", "whole", "written"), [(3, 5, "60 %"), (1, 1000, "<1 %"), (0, 5, "0 %"), (1, 0, "0 %")]
)
def test_shares(part, whole, written):
    assert formatting.format_share(part, whole) == written


@pytest.mark.parametrize(
    ("shape", "written"), [([10, 1_000_000], "10 × 1,000,000"), ((), "scalar"), (None, "?"), (["x"], "0")]
)
def test_shapes(shape, written):
    assert formatting.format_shape(shape) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.6931471, "0.6931"), (3, "3"), (12_345, "12,345"), (1_280_000, "1.28 M"), (-2048.55, "-2,048.6"), (2.5e-7, "2.50e-07"),
     (1e300, "1.00e+300"), ("x", "0"), (float("nan"), "0")],
)  # fmt: skip
def test_values(value, written):
    assert formatting.format_value(value) == written


def test_ticks_share_no_needless_digits():
    assert [formatting.format_tick(value, 50_000) for value in (0, 50_000, 150_000)] == ["0", "50 ms", "150 ms"]
    assert formatting.format_tick(1200, 200) == "1.2 ms"


def test_ratios():
    assert (formatting.format_ratio(9000.4), formatting.format_ratio(1.53)) == ("9,000×", "1.5×")
