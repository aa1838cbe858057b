"""Warnings name the line of the user's that led to them, however deep in the library they arise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import dispatch


def dense():
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    return net


def again(net):
    net.initialize()


def clipped(net):
    mx.gluon.utils.clip_global_norm([mx.nd.array([np.inf])], 1.0)


def densified(net):
    mx.nd.sparse.csr_matrix((3, 3)).exp()


def renamed(net):
    net.save_params("/dev/null")


def pulled(net):
    with mx.gluon.utils.split_and_load(mx.nd.ones((2, 3)), [mx.cpu()])[0].context:
        net.collect_params().initialize()


def handled(net):
    mx.gluon.contrib.estimator.Estimator(net, mx.gluon.loss.L2Loss(), train_metrics=mx.metric.MSE())


@pytest.mark.parametrize("function", [again, clipped, densified, renamed, pulled, handled])
def test_a_warning_names_the_line_of_the_user(function):
    net = dense()
    dispatch._warned.clear()  # each fallback warns once
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(net)
    assert found
    lines = range(function.__code__.co_firstlineno + 1, function.__code__.co_firstlineno + 4)
    assert [(one.filename, one.lineno in lines) for one in found] == [(__file__, True)] * len(found)
