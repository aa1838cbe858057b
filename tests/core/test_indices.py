"""What is said about indices that do not fit: once per line, as config.indices says."""

import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DTypeError, IndexWarning, RowIndexError
from sparsekit.core import indices


@pytest.fixture(autouse=True)
def _nothing_told():
    indices._told.clear()


def _tell(values):
    indices.check(values, 3, "A loss: the label", "classes", "map labels to 0 … 2.")


@pytest.mark.parametrize("values", [[3], [-1], [0, 7], [np.nan], [np.inf]])
@pytest.mark.parametrize("made", [np.array, mx.nd.array])
def test_numbers_outside_are_told_with_the_line(values, made):
    with pytest.warns(IndexWarning, match=r"test_indices\.py:\d+: A loss: the label .* outside the 3 classes") as told:
        _tell(made(values))
    assert told[0].filename == __file__


def test_numbers_inside_are_silent():
    _tell(np.arange(3))
    _tell(mx.nd.array([0, 1, 2]))
    _tell(np.empty(0))


def test_a_line_is_told_once_and_another_line_again():
    def tell():
        for _ in range(3):
            indices.check(np.array([5]), 3, "A loss: the label", "classes", "map labels.")
        indices.check(np.array([5]), 3, "A loss: the label", "classes", "map labels.")

    with pytest.warns(IndexWarning) as told:
        tell()
    assert len(told) == 2


def test_the_setting_makes_it_an_error_or_silent():
    with mx.config.set(indices="error"), pytest.raises(RowIndexError, match=r"7 is outside the 3 classes.*\n?Hint"):
        _tell(np.array([7]))
    with mx.config.set(indices="error"), pytest.raises(DTypeError):
        indices.notice("nd.array", "Numbers change", "pass dtype.", DTypeError)
    with mx.config.set(indices="allow"), warnings.catch_warnings():
        warnings.simplefilter("error")
        _tell(np.array([7]))
    with pytest.raises(mx.MXNetError, match=r"config\.indices named 'never'"):
        mx.config.indices = "never"
