"""Displays that are registered, and how they write numbers with their units."""
import importlib
import math

import pytest

import sparsekit as mx
from sparsekit.base import displays, formatting
from sparsekit.base.displays import NO_OPERATORS
from sparsekit.base.errors import UnknownNameError
from tests.calls import refused


@pytest.mark.parametrize("name", displays.renderers)
def test_every_registered_display_exists(name):
    module, _, attribute = displays.renderers[name].partition(":")
    assert callable(getattr(importlib.import_module(module), attribute))


def test_a_display_is_called_with_what_it_is_given():
    assert NO_OPERATORS in displays.call("timeline_figure", {"a": mx.Profiler().tables}, title="t").alt


def test_an_unknown_display_names_those_that_exist():
    refused(UnknownNameError, "timeline_figure", displays.call, "timeline_figur")


def test_registering_needs_a_module_and_an_attribute():
    refused(UnknownNameError, "module:attribute", displays.register, "x", "no.colon")
    displays.register("square", "math:sqrt")
    try:
        assert displays.call("square", 9) == 3
    finally:
        del displays.renderers["square"]


#: What each function writes for a value, or for several.
WRITTEN = {
    formatting.format_bytes: [
        (0, "0 B"), (88, "88 B"), (999, "999 B"), (1288, "1.29 kB"), (59_280, "59.3 kB"), (512_000_000, "512 MB"),
        (999_700, "1.00 MB"), (1_576_000_000, "1.58 GB"), (-2048, "-2.05 kB"), (math.nan, "0 B"), (None, "0 B")],
    formatting.format_duration: [
        (0, "0 s"), (0.85, "850 ns"), (12.34, "12.3 µs"), (999.96, "1.00 ms"), (12_345, "12.3 ms"), (4.1e6, "4.10 s"),
        (1.2e8, "2.00 min"), (1e-9, "0 s"), (-5, "-5.00 µs")],
    formatting.format_count: [(0, "0"), (12_345, "12,345"), (1_280_000, "1,280,000"), (2.56e9, "2.56 G"), (-3, "-3")],
    formatting.format_density: [
        (0, "0 %"), (1e-5, "0.001 %"), (9.6e-6, "0.00096 %"), (0.25, "25 %"), (0.5, "50 %"), (1, "100 %"),
        (0.99999, ">99.9 %"), (1e-13, "1.0e-11 %"), (math.inf, "0 %")],
    formatting.format_share: [((3, 5), "60 %"), ((1, 1000), "<1 %"), ((0, 5), "0 %"), ((1, 0), "0 %")],
    formatting.format_shape: [([10, 1_000_000], "10 × 1,000,000"), (((),), "scalar"), (None, "?"), (["x"], "0")],
    formatting.format_value: [
        (0.6931471, "0.6931"), (3, "3"), (12_345, "12,345"), (1_280_000, "1,280,000"),
        (-2048.55, "-2,048.6"), (2.5e-7, "2.50e-07"),
        (1e300, "1.00e+300"), ("x", "0"), (float("nan"), "0")],
    formatting.format_tick: [((0, 50_000), "0"), ((50_000, 50_000), "50 ms"), ((150_000, 50_000), "150 ms"),
                             ((1200, 200), "1.2 ms")],
    formatting.format_ratio: [(9000.4, "9,000×"), (1.53, "1.5×")],
}


@pytest.mark.parametrize("function", WRITTEN, ids=lambda function: function.__name__)
def test_numbers_are_written_with_their_units(function):
    for values, written in WRITTEN[function]:
        assert function(*(values if isinstance(values, tuple) else (values,))) == written, values
