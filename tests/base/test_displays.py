from __future__ import annotations

import importlib

import pytest

import sparsekit as mx
from sparsekit.base import displays
from sparsekit.base.displays import NO_OPERATORS
from sparsekit.base.errors import UnknownNameError


@pytest.mark.parametrize("name", displays.renderers)
def test_every_registered_display_exists(name):
    module, _, attribute = displays.renderers[name].partition(":")
    assert callable(getattr(importlib.import_module(module), attribute))


def test_a_display_is_called_with_what_it_is_given():
    assert NO_OPERATORS in displays.call("timeline_figure", {"a": mx.Profiler().tables}, title="t").alt


def test_an_unknown_display_names_those_that_exist():
    with pytest.raises(UnknownNameError, match="timeline_figure"):
        displays.call("timeline_figur")


def test_registering_needs_a_module_and_an_attribute():
    with pytest.raises(UnknownNameError, match="module:attribute"):
        displays.register("x", "no.colon")
    displays.register("square", "math:sqrt")
    try:
        assert displays.call("square", 9) == 3
    finally:
        del displays.renderers["square"]
