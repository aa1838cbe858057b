"""A program that computes with numpy alone has an empty timeline, and every way to look at it says why and what to do."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.displays import NO_OPERATORS


def numpy_loop():
    weight = np.zeros((10, 2))
    for _ in range(3):
        weight -= 0.1 * (np.eye(10) @ weight - 1)
    return weight


def with_nothing():
    with mx.Profiler() as prof:
        numpy_loop()
    return prof


def with_a_span():
    with mx.Profiler() as prof:
        for _ in range(3):
            with prof.span("numpy"):
                numpy_loop()
            prof.step()
    return prof


def with_a_read():
    x = mx.nd.ones((3, 3))
    with mx.Profiler() as prof:
        x.asnumpy() @ x.asnumpy()
    return prof


@pytest.mark.parametrize("record", [with_nothing, with_a_span, with_a_read])
def test_a_profile_without_operators_says_why(record):
    prof = record()
    for said in (prof.summary(), prof._repr_mimebundle_()["text/plain"], prof.timeline().alt, prof.timeline().html(),
                 repr(prof.table()), prof.table().html):
        assert "does not record numpy, scipy or plain Python" in said
        assert "mx.nd.array(values)" in said
        assert "prof.span(" in said


def test_two_programs_of_numpy_are_told_so():
    assert mx.profiler.merge({"a": with_nothing(), "b": with_nothing()}).timeline().finding == NO_OPERATORS
