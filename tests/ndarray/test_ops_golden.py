"""Expressions against MXNet 1.9.1: values, dtypes, shapes, storage types, gradients, what is printed, and refusals."""

import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.naming import NameManager

FACTS = Path(__file__).parents[1] / "golden"
GOLDEN = {name: json.loads((FACTS / f"{name}.json").read_text(encoding="utf-8"))
          for name in ("constructors", "dense_ops", "gluon_rnn", "initializer", "losses", "metric", "neural_ops", "ops", "reprs")}

#: Where MXNet 1.9.1 raises and this library gives the answer that was meant: its shape, also with its storage type, or the plain
#: value.
BETTER = {
    "c[2:2]": (0, 5),
    "float(x[0, 0])": 1.0,
    "int(i[1, 2])": 6,
    "c / x": (4, 5),
    "r[1]": (1, 5),
    "c.tostype('row_sparse')": (4, 5),
    "r.tostype('csr')": (4, 5),
    "c.size": 20,
    "nd.norm(x, out_dtype='float64')": (1,),
    "nd.reverse(x, axis=-1)": (2, 3),
    "nd.transpose(x, axes=(-1, 0))": (3, 2),
    "nd.pad(x, mode='constant', pad_width=(1, 1, 1, 1))": (4, 5),
    "nd.broadcast_to(x[0], shape=(2, 3))": (2, 3),
    "contrib.boolean_mask(x, nd.array([0, 1, 1]), axis=1)": (2, 2),
    "c[::2]": (2, 5),
    "c[1, 2]": (1,),
    "mx.nd.FullyConnected(half(x), half(fw), half(fb), num_hidden=2)": (4, 2),
    "csr(r)": ("csr", (5, 2)),
    "row(c)": ("row_sparse", (3, 5)),
    **dict.fromkeys(("csr(compressed.tocoo())", "csr(compressed.tocsc())", "csr(lists, dtype='bool')",
                     "mx.nd.sparse.array(compressed.tocoo())"), ("csr", (3, 3))),
    "csr(([], [], [0]), shape=(0, 5))": ("csr", (0, 5)),
    "row((3,))": ("row_sparse", (3,)),
    **dict.fromkeys(("mx.nd.sparse.zeros('row_sparse', 4)", "mx.nd.sparse.empty('row_sparse', 4)"), ("row_sparse", (4,))),
    "mx.nd.sparse.empty('default', (2, 3)).shape": (2, 3),
    "mx.nd.array([mx.nd.ones((1,)), mx.nd.zeros((1,))])": ("default", (2, 1)),
    "mx.nd.zeros(()).shape": (),
    **dict.fromkeys(("mx.nd.arange(5, 1)", "mx.nd.arange(0)"), ("default", (0,))),
    "r.copyto(mx.nd.zeros((5, 2), dtype='float64'))": ("default", (5, 2)),
    "r.asscipy().shape": (5, 2),
    "float(mx.nd.array([2.5]))": 2.5,
    "int(mx.nd.array([2.5]))": 2,
    **dict.fromkeys(("weight.stype", "weight.grad_stype"), "default"),
    "mx.nd.dot(c, mx.nd.ones((5,)))": (2,),
    **dict.fromkeys(("r[0]", "r[1:2]"), (1, 3)),
    "c.reshape((5, 2))": (5, 2),
    "c[0, 1]": (1,),
    # Rows and columns given out of order are put in order, so there is nothing to complain of.
    "mx.nd.sparse.csr_matrix(([1.0, 2], [3, 1], [0, 2]), shape=(1, 5)).check_format()": None,
    "mx.nd.sparse.row_sparse_array((np.ones((2, 3)), [3, 1]), shape=(4, 3)).check_format()": None,
    "run(mx.metric.TopKAccuracy(5), ([classes(6)], [shares(6, 3)]))": [("top_k_accuracy_5", 1.0)] * 2,
    "run(mx.metric.Perplexity(None), ([classes(2, 3, count=4)], [shares(2, 3, 4)]))": [
        ("perplexity", pytest.approx(5.328473, rel=1e-6))] * 2,
    # It looks for the name among the base classes.
    "filled(two, 'p', 2 * (3 + 2 + 2), attrs={'__init__': mx.init.FusedRNN(mx.init.One(), 2, 1, 'rnn_relu').dumps()})": (14,),
}

#: Where this library differs on purpose: what the recorded facts have to be changed by before comparing.
DIFFERENT = {
    "x * c": {"kind": "CSRNDArray", "stype": "csr"},  # as MXNet's own elemwise_mul has it, and c * x
    "x * r": {"kind": "RowSparseNDArray", "stype": "row_sparse"},
    "c - c": {"indices": [0, 2, 4, 2, 3, 0, 3, 4], "indptr": [0, 3, 3, 5, 8]},  # one structure for any values
    "zeros_like(c)": {"indices": [0, 2, 4, 2, 3, 0, 3, 4], "indptr": [0, 3, 3, 5, 8]},
    # sparse where MXNet made the row_sparse array dense
    **{name: {"kind": "RowSparseNDArray", "stype": "row_sparse"} for name in ("r * row", "r * column", "r / row", "r / column")},
    # the absent row stays absent, where MXNet made it 0 / 0
    "r / x": {"kind": "RowSparseNDArray", "stype": "row_sparse", "value": [
        [1, np.nan, 1, np.nan, 1], [0] * 5, [np.nan, np.nan, 1, 1, np.nan], [1, np.nan, np.nan, 1, 1]]},
    **{name: {"kind": "CSRNDArray", "stype": "csr"} for name in ("c + r", "c - r", "c * r")},
    "retain(r, mx.nd.array([1, 3]))": {"indices": [3]},  # row 1 is not stored, so there is nothing to retain
    **{text: {"dtype": "float32"} for text in (  # as documented for lists
        "csr_matrix(([1, 2], ([0, 1], [2, 0])), shape=(2, 3))", "csr(([1, 2], ([0, 1], [1, 3])))",
        "csr(([1, 2], ([0, 1], [1, 3])), shape=(4, 5))", "csr(([1, 2], ([1, 0], [1, 3])), shape=(2, 5))",
        "csr(([1, 2, 4], ([0, 1, 0], [1, 3, 1])), shape=(2, 5))")},
    "dense.copyto(dense)": {"kind": "NDArray", "stype": "default", "dtype": "float64", "shape": [3, 3],
                            "value": [[0, 1.5, 0], [0, 0, 0], [2, 0, -3]]},  # it is returned as any other array is
    "np.asarray(dense).dtype.name": {"value": "float64"},  # not objects
    "type(c.asscipy()).__name__": {"value": "csr_array"},  # scipy's newer class
    "repr(mx.gluon.Parameter('w', shape=(2, 3)))": {"value": "Parameter w (shape=(2, 3), dtype=float32)"},  # a dtype is numpy's
    "repr(mx.gluon.Parameter('w', shape=(2, 0), stype='row_sparse'))": {"value": "Parameter w (shape=(2, 0), dtype=float32)"},
}


#: Warnings that expressions of a recording may give: ways that are old, the logarithm of zero.
QUIET = {"gluon_rnn": DeprecationWarning, "initializer": DeprecationWarning, "metric": RuntimeWarning}

#: Relative errors of recordings that are compared more strictly than by 2e-5.
EXACT = {"constructors": 1e-7, "initializer": 1e-6, "losses": 1e-5, "metric": 2e-6}  # MXNet's softmax is good to 7e-6

#: Where the gradient differs on purpose, and what is right instead.
DELIBERATE = {
    "mx.nd.SoftmaxOutput(x, label, out_grad=True)": "MXNet multiplies by the output, not by the gradient from above",
    "mx.nd.SoftmaxOutput(cube, places, multi_output=True, smooth_alpha=0.1)": "MXNet leaves smooth_alpha out",
    "mx.nd.LeakyReLU(x, act_type='selu')": "MXNet's slope is scale * (out + alpha), and should be out + scale * alpha",
    "mx.nd.SoftmaxActivation(cube)": "MXNet's gradient takes a sample for one softmax, its value each last axis",
}

#: What MXNet takes and this library refuses by name: NaN names no row; numbers would become others, or are none.
STRICT = {
    "mx.nd.Embedding(mx.nd.array([np.nan]), w, input_dim=4, output_dim=3)": "positions must be integers, got NaN",
    "mx.gluon.nn.Dense(2, in_units=-3)": "in_units",
    "run(mx.metric.TopKAccuracy(2), ([classes(6)], [wave(6)]))": "Hint:",  # it compares labels with the order of the scores
    **dict.fromkeys(("csr(lists, dtype='uint8')", "row(lists, dtype='uint8')", "mx.nd.array(None)", "mx.nd.array([None])",
                     "mx.nd.array(np.array(['2020-01-01'], 'datetime64[D]'))", "dense.as_np_ndarray().shape"), "Hint:"),
}

#: Python's own errors.
WITHOUT_HINT = {"x.nnz": "no attribute 'nnz'"}

#: Zeros and ones of the length of the axis may be a mask, and are refused.
MAYBE_MASKS = ("x[nd.array([0, 1])]", "assign('x', 'x[nd.array([0, 1])] = 3')")


def name(case):
    return case["expression"] + (" by " + " ".join(case["variables"]) if "variables" in case else "")


def namespace(golden):
    names = {"mx": mx, "np": np}
    for line in GOLDEN[golden]["setup"]:
        exec(line, names)
    return names


def evaluated(golden, expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QUIET.get(golden, mx.base.StorageFallbackWarning))
        return eval(expression, namespace(golden))


@pytest.fixture(autouse=True)
def anew():
    """Names of blocks count from 0, many expressions are computed by the dense fallback, and a setup registers an initializer."""
    known = mx.init.create.__wrapped__.__globals__["_registry"].classes
    before = dict(known)
    with warnings.catch_warnings(), NameManager():
        warnings.simplefilter("ignore", mx.base.StorageFallbackWarning)
        yield
    known.clear()
    known.update(before)


def numbers(value, dtype):
    return np.array(value, dtype=np.float64 if dtype.startswith("float") else dtype)


def check(result, expected, half=False, tolerance=2e-5):  # MXNet sums float32 in one go
    """Compare with a recorded result: arrays by value, dtype and storage; the rest by equality."""
    if expected["kind"] in ("list", "tuple") and "items" in expected:
        assert len(result) == len(expected["items"])
        for item, recorded in zip(result, expected["items"], strict=True):
            check(item, recorded, half, tolerance)
    elif expected["kind"] == "type":  # x.dtype is numpy's dtype here, the scalar type in MXNet
        assert f"<class 'numpy.{np.dtype(result).name}'>" == expected["value"]
    elif "stype" not in expected:
        if isinstance(result, np.ndarray):
            np.testing.assert_allclose(result, np.array(expected["value"], result.dtype), rtol=tolerance)
            return
        if isinstance(result, float):
            assert result == pytest.approx(float(expected["value"]), rel=tolerance, nan_ok=True)
            assert type(result) is float, "plain numbers print as such"
        assert isinstance(result, float) or expected["value"] in (repr(result), result)
    else:
        assert type(result).__name__ == expected["kind"]
        assert result.stype == expected["stype"]
        assert np.dtype(result.dtype).name == expected["dtype"]
        assert result.shape == tuple(expected["shape"])
        tolerance = 2e-3 if half or expected["dtype"] == "float16" else tolerance  # MXNet sums halves in halves
        value = numbers(expected["value"], expected["dtype"]).reshape(result.shape)
        np.testing.assert_allclose(result.asnumpy(), value, rtol=tolerance, atol=tolerance)
        check_structure(result, expected)


def check_structure(result, expected):
    """Compare indices; csr rows as sets, since MXNet leaves those of sums and products out of order."""
    assert all(getattr(result, name).dtype == np.int64 for name in ("indices", "indptr") if name in expected)
    if "indptr" not in expected:
        assert "indices" not in expected or result.indices.asnumpy().tolist() == expected["indices"]
        return
    ends = result.indptr.asnumpy().tolist()
    assert ends == expected["indptr"]
    for start, end in itertools.pairwise(ends):
        row = result.indices.asnumpy()[start:end].tolist()
        assert row == sorted(expected["indices"][start:end])


def of_kind(refused, differentiated):
    return [
        pytest.param(golden, case, id=name(case))
        for golden, facts in GOLDEN.items()
        for case in facts["cases"]
        if ("error" in case["result"]) == refused and bool(case.get("gradients")) == differentiated
        and case["expression"] not in MAYBE_MASKS
    ]


@pytest.mark.parametrize("expression", MAYBE_MASKS)
def test_an_index_that_may_be_a_mask_is_refused(expression):
    with pytest.raises(mx.RowIndexError, match="may be a mask"):
        eval(expression, namespace("dense_ops"))


def expected_of(case):
    changes = [DIFFERENT[key] for key in DIFFERENT if case["expression"].endswith(key)]
    expected = {**case["result"], **(changes[0] if changes else {})}
    return expected


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.IndexWarning")  # MXNet clips without a word
@pytest.mark.parametrize(("golden", "case"), of_kind(refused=False, differentiated=False))
def test_expression_has_the_value_of_mxnet(golden, case):
    if case["expression"] in STRICT:
        with pytest.raises(mx.MXNetError, match=STRICT[case["expression"]]):
            evaluated(golden, case["expression"])
        return
    check(evaluated(golden, case["expression"]), expected_of(case), "half(" in case["expression"], EXACT.get(golden, 2e-5))


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.IndexWarning")
@pytest.mark.parametrize(("golden", "case"), of_kind(refused=False, differentiated=True))
def test_expression_has_the_gradients_and_states_of_mxnet(golden, case):
    names = namespace(golden)
    for variable in case["variables"]:
        names[variable].attach_grad()
    with mx.autograd.record():
        out = eval(case["expression"], names)
    outs = out if isinstance(out, list) else [out]
    mx.autograd.backward(outs, [names["head"](array) for array in outs] if "head" in names else None)
    half = "half(" in case["expression"]
    check(out, case["result"], half, EXACT.get(golden, 2e-5))
    for state, expected in zip(case.get("states", ()), case.get("after", ()), strict=True):
        check(names[state], expected, half)
    if case["expression"] in DELIBERATE:
        with pytest.raises(AssertionError):
            check(names[case["variables"][0]].grad, case["gradients"][0])
        return
    for variable, expected in zip(case["variables"], case["gradients"], strict=True):
        check(names[variable].grad, expected, half, EXACT.get(golden, 2e-5))


@pytest.mark.parametrize(("golden", "case"), of_kind(refused=True, differentiated=False))
def test_expression_that_mxnet_refuses_is_refused_or_right(golden, case):
    expression = case["expression"]
    if expression in BETTER:
        result = evaluated(golden, expression)
        shape = getattr(result, "shape", result)
        assert BETTER[expression] in (shape, (getattr(result, "stype", ""), shape))
        return
    python = "argument" in case["result"]["reason"] and case["result"]["error"] == "TypeError"
    said = "argument" if python else WITHOUT_HINT.get(expression, "Hint:")
    with pytest.raises((mx.MXNetError, AttributeError, IndexError, *([TypeError] if python else [])), match=said):
        evaluated(golden, expression)


def test_the_lists_of_differences_name_recorded_expressions():
    known = {case["expression"] for facts in GOLDEN.values() for case in facts["cases"]}
    assert {*BETTER, *STRICT, *DELIBERATE, *MAYBE_MASKS} <= known
    assert [key for key in DIFFERENT if not any(expression.endswith(key) for expression in known)] == []
