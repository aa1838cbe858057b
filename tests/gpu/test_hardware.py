"""The same checks on a real GPU, where there is one: every row of storage types, training, graphs and the profiler.

Without one a few of them run on the stand-in, which shows that the checks themselves work and nothing about hardware.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from test_calls import trained as trained_by_steps
from test_contexts import train
from test_graphs import run_sparse
from test_rows import TOLERANCE, typed, ways
from test_sweep import OPS, RANDOM, listed, stores

import sparsekit as mx
from sparsekit import autograd, nd
from sparsekit.bench.arrays import zipf
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.gluon.hybrid import explain

REAL = mx.num_gpus() > 0

#: Stored values of large matrices, and elements of an array whose places do not fit 32 bits; elsewhere as many as go through
#: the same code in a moment.
STORED = (10**6, 10**8) if REAL else (1000, 6000)
BEYOND_32_BITS = 2**31 + 17 if REAL else 2**12 + 17
#: Stored values of a row, and how often a matrix of large numbers is wider than it has rows.
IN_A_ROW = 25

NAMES = sorted(OPS) if REAL else sorted(OPS)[::25]
TYPES = [("float32", "int64"), ("float32", "int32"), ("float64", "int32"), ("float16", "int64")][: None if REAL else 1]


@pytest.fixture
def gpu(request):
    """The context of the GPU that is here, or of the stand-in's."""
    if not REAL:
        request.getfixturevalue("stand_in")
    with mx.config.set(densify="allow"):
        yield mx.gpu(0)


@pytest.mark.parametrize(("value", "index"), TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_row_gives_what_a_cpu_gives(gpu, name, value, index):
    op, tolerance = OPS[name], {**TOLERANCE, "float32": 1e-4}[value]
    for arrays, attrs, stypes in ways(op).values():
        here = tuple(wrap(typed(store, value, index), mx.cpu()) for store in stores(op, arrays, attrs, stypes))
        there, call = tuple(array.as_in_context(gpu) for array in here), op.bind(attrs)
        try:
            wanted = listed(invoke(call, here, None, mx.cpu()))
        except mx.SparsekitError as error:
            with pytest.raises(type(error)):
                invoke(call, there, None, gpu)
            continue
        found = listed(invoke(call, there, None, gpu))
        for left, right in zip((*wanted, *here), (*found, *there), strict=True):
            assert (left.stype, left.dtype, left.shape, right.context) == (right.stype, right.dtype, right.shape, gpu)
            if name not in RANDOM:
                np.testing.assert_allclose(right.asnumpy().astype(float), left.asnumpy().astype(float), tolerance, tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_gives_the_same_bits_twice(gpu, name):
    op = OPS[name]
    if name in RANDOM:
        return
    for arrays, attrs, stypes in ways(op).values():
        made = []
        for _ in range(2):
            given = tuple(wrap(store, mx.cpu()).as_in_context(gpu) for store in stores(op, arrays, attrs, stypes))
            made.append([array.asnumpy().tobytes() for array in listed(invoke(op.bind(attrs), given, None, gpu))])
        assert made[0] == made[1]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adagrad", "ftrl"])
def test_training_gives_the_weights_of_a_cpu(gpu, optimizer, hybrid):
    here, losses, *_ = train(mx.cpu(), optimizer, hybrid)
    there, found, *gradients = train(gpu, optimizer, hybrid)
    np.testing.assert_allclose(found, losses, rtol=1e-3)
    for left, right in zip(here, there, strict=True):
        np.testing.assert_allclose(right.asnumpy(), left.asnumpy(), rtol=2e-3, atol=1e-5)
    assert all(gradient.stype == "row_sparse" for gradient in gradients)


@pytest.mark.parametrize("sizes", [(3, 3, 3, 3), (3, 3, 5, 2, 4, 3)])
def test_captured_graphs_with_sparse_batches(gpu, sizes):
    net, found = run_sparse(gpu, sizes)
    for left, right in zip(found, run_sparse(mx.cpu(), sizes)[1], strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5)
    assert any(row["reason"] == "" for row in explain(net)), explain(net)


def test_the_profiler_has_times_and_memory_of_the_device(gpu):
    x = nd.ones((64, 64), ctx=gpu)
    with mx.Profiler() as profile:
        nd.dot(x, x).wait_to_read()
    assert any(row["op"] == "dot" and row["milliseconds"] > 0 for row in profile.table(of="devices").rows)
    assert profile.memory["devices"][str(gpu)]["held"] >= profile.memory["devices"][str(gpu)]["used"] > 0


def large(stored, hot, seed=0):
    """A matrix with so many stored values in 25 fields of columns, each drawn alike, or by Zipf's law: some are in most rows."""
    rng, rows, field = np.random.default_rng(seed), stored // IN_A_ROW, max(40, stored // 2500)
    drawn = (zipf(rng, (rows, IN_A_ROW), field, np.linspace(2.5, 1.05, IN_A_ROW)) if hot
             else rng.integers(0, field, (rows, IN_A_ROW)))
    indices = (drawn + np.arange(IN_A_ROW) * field).reshape(-1)
    data = rng.standard_normal(indices.size, dtype=np.float32)
    return scipy.sparse.csr_matrix((data, indices, np.arange(0, indices.size + 1, IN_A_ROW)), (rows, IN_A_ROW * field))


def assert_near(found, wanted, magnitude):
    """As near as sums of float32 values of this magnitude can be."""
    assert np.abs(found - wanted).max() <= 2e-6 * np.sqrt(STORED[-1]) * max(1.0, float(np.abs(magnitude).max()))


@pytest.mark.parametrize("hot", [False, True])
@pytest.mark.parametrize("stored", STORED)
def test_many_stored_values(gpu, stored, hot):
    """Products, sums and the gradient of an embedding, some of whose columns are in most rows; the same bits twice."""
    matrix, rng = large(stored, hot), np.random.default_rng(1)
    right, turned = (rng.standard_normal((size, 4), dtype=np.float32) for size in matrix.shape[::-1])
    there = nd.sparse.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape, ctx=gpu)
    sizes, wide = abs(matrix), matrix.astype(np.float64)
    work = {
        "dot": (lambda: nd.sparse.dot(there, nd.array(right, ctx=gpu)), wide @ right, sizes @ abs(right)),
        "turned": (lambda: nd.sparse.dot(there, nd.array(turned, ctx=gpu), transpose_a=True), wide.T @ turned,
                   sizes.T @ abs(turned)),
        "columns": (lambda: there.sum(axis=0), wide.sum(axis=0), sizes.sum(axis=0)),
        "rows": (lambda: there.sum(axis=1), wide.sum(axis=1), sizes.sum(axis=1)),
    }
    for run, wanted, magnitude in work.values():
        made = [run() for _ in range(2)]
        found = [one.tostype("default").asnumpy() for one in made]
        assert found[0].tobytes() == found[1].tobytes()
        assert_near(found[0].reshape(-1), np.asarray(wanted).reshape(-1), magnitude)


@pytest.mark.parametrize("stored", STORED[:1] if REAL else STORED)
def test_the_gradient_of_an_embedding_whose_words_are_in_most_rows(gpu, stored):
    matrix, width = large(stored, True), 8
    slopes = np.random.default_rng(2).standard_normal((matrix.nnz, width), dtype=np.float32)
    wanted = np.zeros((matrix.shape[1], width))
    np.add.at(wanted, matrix.indices, slopes)
    found = []
    for _ in range(2):
        weight = nd.ones((matrix.shape[1], width), ctx=gpu)
        weight.attach_grad(stype="row_sparse")
        with autograd.record():
            words = nd.array(matrix.indices, ctx=gpu, dtype="int64")
            out = nd.Embedding(words, weight, input_dim=matrix.shape[1], output_dim=width, sparse_grad=True)
        out.backward(nd.array(slopes, ctx=gpu))
        gradient = weight.grad
        np.testing.assert_array_equal(gradient.indices.asnumpy(), np.unique(matrix.indices))
        found.append(gradient.tostype("default").asnumpy())
    assert found[0].tobytes() == found[1].tobytes()
    assert_near(found[0], wanted, wanted)


def test_a_lazy_step_touches_the_rows_of_a_large_gradient_and_no_others(gpu):
    matrix = large(STORED[0], True)
    rows, width = np.unique(matrix.indices).astype(np.int64), 8
    data = np.random.default_rng(3).standard_normal((rows.size, width), dtype=np.float32)
    weight = nd.ones((matrix.shape[1], width), ctx=gpu)
    gradient = nd.sparse.row_sparse_array((data, rows), shape=weight.shape, ctx=gpu)
    mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.5))(0, gradient, weight)
    wanted = np.ones(weight.shape, np.float32)
    wanted[rows] -= np.float32(0.5) * data
    np.testing.assert_allclose(weight.asnumpy(), wanted, rtol=1e-6)


def test_more_elements_than_32_bits_count(gpu):
    """Elements behind the first 2**31, of a dense array and of one that stores so many."""
    count = BEYOND_32_BITS
    x = nd.zeros((count,), dtype="int8", ctx=gpu)
    x[count - 5:] = 3
    assert int((x + 1)[count - 6:].asnumpy().sum()) == 1 + 5 * 4
    rows = 64
    each = count // rows
    data = nd.ones((rows * each,), dtype="float16", ctx=gpu)
    indptr = np.arange(0, rows * each + 1, each)
    indices = nd.tile(nd.arange(each, dtype="int32", ctx=gpu), reps=(rows,))
    matrix = nd.sparse.csr_matrix((data, indices, nd.array(indptr, dtype="int64", ctx=gpu)), shape=(rows, each), ctx=gpu)
    scaled = nd.sparse.dot(matrix, nd.full((each, 1), 2.0 ** -10, dtype="float16", ctx=gpu)).asnumpy()
    np.testing.assert_allclose(scaled[:, 0].astype(float), min(each * 2.0 ** -10, np.inf), rtol=2e-3)


def test_a_long_layer_normalization(gpu):
    rng, width = np.random.default_rng(5), 400_000 if REAL else 3000
    x, gamma, beta = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((2, width), width, width))
    x += np.where(np.arange(width) < width // 2, 4, 6)
    made = []
    for _ in range(2):
        there = [nd.array(part, ctx=gpu) for part in (x, gamma, beta)]
        there[0].attach_grad()
        with autograd.record():
            out = nd.LayerNorm(*there)
        out.backward()
        made.append((out.asnumpy(), there[0].grad.asnumpy()))
    wide = x.astype(float)
    normal = (wide - wide.mean(axis=1, keepdims=True)) / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    slopes = gamma - gamma.mean() - normal * (gamma * normal).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(made[0][0], normal * gamma + beta, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(made[0][1], slopes / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5), rtol=1e-3, atol=1e-3)
    assert [part.tobytes() for part in made[0]] == [part.tobytes() for part in made[1]]


def test_rows_of_every_length_are_reduced(gpu):
    lengths = np.array([0, 1, 33, 64, 300_000 if REAL else 900, 5, 1025])
    indptr = np.append(0, np.cumsum(lengths))
    indices = np.concatenate([np.arange(length) for length in lengths])
    data = np.random.default_rng(6).uniform(1, 2, indices.size).astype(np.float32)
    matrix = nd.sparse.csr_matrix((data, indices, indptr), shape=(lengths.size, int(lengths.max())), ctx=gpu)
    found = [getattr(matrix, name)(axis=1).tostype("default").asnumpy().reshape(-1) for name in ("max", "max", "min")]
    rows = np.split(data, indptr[1:-1])
    np.testing.assert_array_equal(found[0], [row.max(initial=0) for row in rows])
    np.testing.assert_array_equal(found[2], [row.min() if row.size == lengths.max() else 0 for row in rows])
    assert found[0].tobytes() == found[1].tobytes()


def test_a_product_of_two_matrices_with_columns_in_most_rows(gpu):
    left, rng = large(STORED[0], True), np.random.default_rng(7)
    right = scipy.sparse.random(left.shape[1], 300, 0.02, "csr", np.float32, rng)
    there = [nd.sparse.csr_matrix((one.data, one.indices, one.indptr), shape=one.shape, ctx=gpu) for one in (left, right)]
    made = [nd.sparse.dot(*there, forward_stype="default").asnumpy() for _ in range(2)]
    wanted = (left.astype(np.float64) @ right.astype(np.float64)).toarray()
    np.testing.assert_allclose(made[0], wanted, rtol=1e-4, atol=1e-4)
    assert made[0].tobytes() == made[1].tobytes()


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_training_step_as_captured_graphs_gives_the_weights_of_a_cpu(gpu, optimizer):
    found = trained_by_steps(gpu, "step", optimizer, 8, (0.05, 0.01))
    wanted = trained_by_steps(mx.cpu(), "eager", optimizer, 8, (0.05, 0.01))
    for part, expected in zip(found[:3], wanted[:3], strict=True):
        for left, right in zip(part, expected, strict=True):
            np.testing.assert_allclose(left, right, rtol=2e-3, atol=1e-5)
    assert any(row["reason"] == "" for row in explain(found[-1])), explain(found[-1])
