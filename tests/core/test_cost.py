"""Floating-point operations beside closed forms, and beside loops that count them."""

import math

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import cost
from sparsekit.core.op import registry

OPS = {op.name: op for op in registry.values()}
DRAW = np.random.default_rng(0)


def ones(*shape):
    return mx.nd.ones(shape)


def csr(rows, columns, stored):
    """A csr matrix of so many values a row."""
    places = np.sort(np.stack([DRAW.permutation(columns)[:stored] for _ in range(rows)]), axis=1).ravel()
    return mx.nd.sparse.csr_matrix((np.ones(len(places), "float32"), places, np.arange(rows + 1) * stored), shape=(rows, columns))


def definite(size, *batch):
    return mx.nd.array(np.broadcast_to(np.eye(size) * 2 + 0.1, (*batch, size, size)).astype("float32"))


def counted(function, name=None):
    """Useful and dense-equivalent operations of the last operator that a call runs, or of the one of that name."""
    with mx.Profiler() as prof:
        function()
    found = [record for record in prof.records if record["kind"] == "op" and name in (None, record["name"])]
    assert name is None or len(found) == 1
    record = found[-1]
    return record["flops"], record["dense_flops"]


def meta(shape, stype="default", nnz=None):
    return {"stype": stype, "shape": list(shape), "nnz": math.prod(shape) if nnz is None else nnz}


# Products: a multiplication and an addition for each term


@pytest.mark.parametrize(("run", "expected"), [
    (lambda: mx.nd.dot(ones(40, 50), ones(50, 60)), 240_000),
    (lambda: mx.nd.dot(ones(50, 40), ones(60, 50), transpose_a=True, transpose_b=True), 240_000),
    (lambda: mx.nd.dot(ones(70), ones(70)), 140),
    (lambda: mx.nd.dot(ones(2, 3, 4), ones(4, 5)), 2 * 2 * 3 * 4 * 5),
    (lambda: mx.nd.batch_dot(ones(5, 20, 30), ones(5, 30, 40)), 240_000),
    (lambda: mx.nd.batch_dot(ones(5, 30, 20), ones(5, 40, 30), transpose_a=True, transpose_b=True), 240_000),
    (lambda: mx.nd.linalg.gemm2(ones(40, 50), ones(50, 60)), 240_000),
    (lambda: mx.nd.linalg.gemm2(ones(3, 50, 40), ones(3, 60, 50), transpose_a=True, transpose_b=True, alpha=2.0), 720_000),
    (lambda: mx.nd.linalg.gemm2(ones(40, 3, 50), ones(50, 3, 60), axis=0), 720_000),
    (lambda: mx.nd.linalg.gemm2(ones(50, 3, 40), ones(50, 3, 60), axis=0, transpose_a=True), 720_000),
    (lambda: mx.nd.linalg.gemm(ones(40, 50), ones(50, 60), ones(40, 60), beta=0.5), 240_000),
    (lambda: mx.nd.FullyConnected(ones(7, 20), ones(30, 20), num_hidden=30, no_bias=True), 2 * 7 * 20 * 30),
    (lambda: mx.nd.FullyConnected(ones(7, 20), ones(30, 20), ones(30), num_hidden=30), 2 * 7 * 20 * 30 + 7 * 30),
    (lambda: mx.nd.FullyConnected(ones(7, 4, 5), ones(30, 20), num_hidden=30, no_bias=True), 2 * 7 * 20 * 30),
    (lambda: mx.nd.FullyConnected(ones(7, 4, 5), ones(30, 5), num_hidden=30, no_bias=True, flatten=False), 2 * 28 * 5 * 30),
    (lambda: mx.nd.khatri_rao(ones(4, 6), ones(5, 6), ones(2, 6)), 2 * 40 * 6)],
    ids=range(16))
def test_products(run, expected):
    assert counted(run) == (expected, expected)


def test_products_of_sparse_matrices_count_what_is_stored():
    left, weight = csr(8, 500, 20), ones(500, 16)
    assert counted(lambda: mx.nd.dot(left, weight)) == (2 * 8 * 20 * 16, 2 * 8 * 500 * 16)
    assert counted(lambda: mx.nd.dot(left, ones(8, 16), transpose_a=True)) == (2 * 8 * 20 * 16, 2 * 8 * 500 * 16)
    assert counted(lambda: mx.nd.FullyConnected(left, ones(16, 500), num_hidden=16, no_bias=True)) == (
        2 * 8 * 20 * 16, 2 * 8 * 500 * 16)


def test_gradients_of_products_take_what_the_product_took():
    for left, right, settings in ((ones(4, 5, 6), ones(6, 7), {}), (ones(6, 5, 4), ones(7, 6), {"transpose_a": True,
                                                                                            "transpose_b": True})):
        left.attach_grad()
        right.attach_grad()
        with mx.autograd.record():
            made = mx.nd.dot(left, right, **settings)
        for side in ("left", "right"):
            assert counted(lambda made=made: made.backward(retain_graph=True), f"_dot_{side}_gradient") == (
                2 * 4 * 5 * 6 * 7,) * 2


# Decompositions and triangles: LAPACK's counts


def cholesky_by_counting(size):
    """Operations of the loops that factor a matrix."""
    count = 0
    for column in range(size):
        count += 2 * column + 1
        count += sum(2 * column + 1 for _ in range(column + 1, size))
    return count


def elimination_by_counting(size):
    """Operations of the loops of L U: a reciprocal and its products for each column, and the rank-one changes."""
    return sum(1 + rest + 2 * rest * rest for rest in range(size))


def solved_by_counting(size, columns):
    """Operations of a forward substitution with a division for each row."""
    return columns * sum(2 * row + 1 for row in range(size))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
def test_decompositions_are_as_many_as_their_loops_take(size):
    assert counted(lambda: mx.nd.linalg.potrf(definite(size)))[0] == cholesky_by_counting(size)
    assert counted(lambda: mx.nd.linalg.trsm(definite(size), ones(size, 5)))[0] == solved_by_counting(size, 5)
    assert counted(lambda: mx.nd.linalg.trmm(definite(size), ones(size, 5)))[0] == solved_by_counting(size, 5)
    assert counted(lambda: mx.nd.linalg.trsm(definite(size), ones(5, size), rightside=True))[0] == solved_by_counting(size, 5)
    assert counted(lambda: mx.nd.linalg.det(definite(size)))[0] == elimination_by_counting(size) + size - 1
    assert counted(lambda: mx.nd.linalg.slogdet(definite(size)))[0] == elimination_by_counting(size) + 2 * size - 1
    assert counted(lambda: mx.nd.linalg.sumlogdiag(definite(size)))[0] == 2 * size - 1


@pytest.mark.parametrize(("run", "expected"), [
    (lambda: mx.nd.linalg.syrk(ones(40, 50)), 40 * 41 * 50),
    (lambda: mx.nd.linalg.syrk(ones(3, 40, 50), transpose=True), 3 * 50 * 51 * 40),
    (lambda: mx.nd.linalg.potri(definite(30, 2)), 2 * round(2 * 30**3 / 3 + 30**2 / 2 + 5 * 30 / 6)),
    (lambda: mx.nd.linalg.inverse(definite(30)), round(2 * 30**3 - 3 * 30**2 / 2 + 5 * 30 / 2)),
    (lambda: mx.nd.linalg.gelqf(mx.nd.array(DRAW.standard_normal((20, 30)))), round(4 * 30 * 20**2 - 4 * 20**3 / 3)),
    (lambda: mx.nd.linalg.syevd(mx.nd.array(np.diag(np.arange(1.0, 21)))), 9 * 20**3),
    (lambda: mx.nd.linalg.potrf(definite(6, 2, 3)), 6 * cholesky_by_counting(6))], ids=range(7))
def test_other_decompositions(run, expected):
    assert counted(run) == (expected, expected)


# What is neither a product nor one operation for each value


@pytest.mark.parametrize(("run", "name", "expected"), [
    (lambda: mx.nd.softmax(ones(4, 6)), "softmax", 5 * 24),
    (lambda: mx.nd.log_softmax(ones(4, 6)), "log_softmax", 5 * 24),
    (lambda: mx.nd.softmax_cross_entropy(ones(4, 6), ones(4)), "softmax_cross_entropy", 5 * 24),
    (lambda: mx.nd.LayerNorm(ones(4, 6), ones(6), ones(6)), "LayerNorm", 7 * 24),
    (lambda: mx.nd.BatchNorm(ones(4, 6), ones(6), ones(6), mx.nd.zeros(6), ones(6), use_global_stats=True), "BatchNorm", 4 * 24),
    (lambda: mx.nd.L2Normalization(ones(4, 6)), "L2Normalization", 3 * 24),
    (lambda: mx.nd.norm(ones(4, 6)), "norm", 2 * 24),
    (lambda: mx.nd.moments(ones(4, 6), axes=(0,)), "moments", 4 * 24),
    (lambda: mx.nd.sum(ones(4, 6), axis=1), "sum", 24),
    (lambda: mx.nd.add_n(ones(4, 6), ones(4, 6), ones(4, 6)), "add_n", 2 * 24),
    (lambda: mx.nd.sort(ones(4, 8)), "sort", 4 * 8 * 3),
    (lambda: mx.nd.topk(ones(4, 8), k=2, axis=0), "topk", 4 * 8 * 2),
    (lambda: mx.nd.argsort(ones(4, 8), axis=None), "argsort", 32 * 5),
    (lambda: mx.nd.multi_sum_sq(ones(4), ones(3, 5), num_arrays=2), "multi_sum_sq", 2 * 19),
    (lambda: mx.nd.identity(ones(4, 6)), "identity", 0),
    (lambda: mx.nd.BlockGrad(ones(4, 6)), "BlockGrad", 0),
    (lambda: mx.nd.ones_like(ones(4, 6)), "ones_like", 0),
    (lambda: mx.nd.LinearRegressionOutput(ones(4, 6), ones(4, 6)), "LinearRegressionOutput", 0),
    (lambda: mx.nd.LogisticRegressionOutput(ones(4, 6), ones(4, 6)), "LogisticRegressionOutput", 24),
    (lambda: mx.nd.CTCLoss(ones(5, 2, 4), ones(2, 3)), "CTCLoss", 5 * 2 * (5 * 4 + 14 * 7)),
    (lambda: mx.nd.exp(ones(4, 6)), "exp", 24)], ids=lambda value: value if isinstance(value, str) else "")
def test_others(run, name, expected):
    assert counted(run, name)[0] == expected


def test_a_recurrent_network_counts_its_products_and_biases_in_each_step():
    steps, batch, inputs, width, gates = 5, 2, 3, 4, 4
    parameters = gates * width * (inputs + width) + 2 * gates * width
    state = ones(1, batch, width)
    assert counted(lambda: mx.nd.RNN(ones(steps, batch, inputs), ones(parameters), state, state, state_size=width, num_layers=1,
                                     mode="lstm"), "RNN")[0] == 2 * steps * batch * parameters


def test_gradients_of_lookups_add_what_comes_from_above():
    weight = ones(1000, 8)
    weight.attach_grad(stype="default")
    with mx.autograd.record():
        made = mx.nd.Embedding(mx.nd.array([1, 5, 5]), weight, input_dim=1000, output_dim=8)
    assert counted(made.backward, "_embedding_backward")[0] == 3 * 8
    with mx.autograd.record():
        made = mx.nd.take(weight, mx.nd.array([1, 5]))
    assert counted(made.backward, "_take_backward")[0] == 2 * 8


def test_updates_of_several_weights_count_each():
    shapes = [(10, 3), (7,)]
    for name, group, counter in (("_multi_lamb_update", 4, "num_tensors"), ("_multi_adamw_update", 4, "num_weights"),
                                 ("multi_sgd_update", 2, "num_weights")):
        arrays = [meta(shape) for shape in shapes for _ in range(group)]
        assert OPS[name].cost({counter: 2}, arrays, [])[0] == 4 * (30 + 7)


# The registry


def test_no_operator_of_another_form_counts_as_elementwise():
    """What counts one operation for each value of its result takes arrays of that shape, or spreads them to it."""
    odd = []
    for name, op in OPS.items():
        for arrays, attrs in op.sample() if op.cost is cost.elementwise else ():
            call = op.bind(attrs)
            made = call.infer_shape([array.shape for array in arrays])
            first = tuple(made[0] if isinstance(made, list) else made)
            if first not in [array.shape for array in arrays] and first != infer_spread(arrays):
                odd.append(name)
    # These count one for each value of what they give, whatever they take.
    assert set(odd) <= {"_unpad", "cumsum", "multi_lars", *(name for name in OPS if name.startswith("_random_pdf_"))}
    assert not any(op.cost is cost.elementwise for name, op in OPS.items() if name.startswith("_linalg_") or "dot" in name)


def infer_spread(arrays):
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        return None


def test_every_formula_bears_the_samples_of_its_operator():
    for name, op in OPS.items():
        for arrays, attrs in op.sample():
            call = op.bind(attrs)
            made = call.infer_shape([array.shape for array in arrays])
            shapes = made if isinstance(made, list) else [(1,) if made is None else made]  # any, where values decide it
            outputs = [meta(shape) for shape in shapes]
            useful, dense = op.cost(call.attrs, [meta(array.shape) for array in arrays], outputs)
            assert (useful >= 0, useful) == (True, dense), name


# Bytes


#: Operators whose result may be smaller than an array that they read to its end, or of which they read the shape only.
READ_WHOLE = {"ravel_multi_index", "_contrib_getnnz", "all_finite", "multi_all_finite",
              "broadcast_like", "shape_array", "size_array", "_contrib_arange_like"}


def moved(op, arrays, attrs):
    """Bytes that the profiler says a call moves, those of its inputs, and those of its results."""
    inputs = [mx.nd.array(array, dtype=array.dtype) for array in arrays]
    with mx.Profiler() as prof:
        made = getattr(mx.nd, op)(*inputs, **attrs)
    (record,) = [record for record in prof.records if record["name"] == OPS[op].name]
    assert made is not None
    return record["bytes"], [one["bytes"] for one in record["inputs"]], sum(one["bytes"] for one in record["outputs"])


@pytest.mark.parametrize(("op", "arrays", "attrs"), [
    ("Embedding", [np.float32([1, 5]), np.ones((1000, 8), np.float32)], {"input_dim": 1000, "output_dim": 8}),
    ("take", [np.ones((1000, 8), np.float32), np.float32([1, 5])], {}),
    ("pick", [np.ones((3, 1000), np.float32), np.float32([1, 5, 7])], {}),
    ("gather_nd", [np.ones((1000, 8), np.float32), np.int64([[1, 5]])], {}),
    ("batch_take", [np.ones((3, 1000), np.float32), np.int32([1, 5, 7])], {}),
    ("slice_axis", [np.ones((8, 1000), np.float32)], {"axis": 1, "begin": 3, "end": 5}),
    ("slice", [np.ones((8, 1000), np.float32)], {"begin": (0, 3), "end": (8, 5)})])
def test_a_look_up_reads_no_more_of_its_table_than_it_gives(op, arrays, attrs):
    found, taken, given = moved(op, arrays, attrs)
    table = OPS[op].selects
    assert taken[table] > 10 * given
    assert found == 2 * given + sum(taken) - taken[table]


def test_every_operator_that_only_moves_and_gives_less_than_it_takes_says_what_it_selects():
    """What computes nothing and gives fewer values than an input holds has not read all of it."""
    found = set()
    for name, op in OPS.items():
        if op.cost is not cost.none or op.mutates or op.selects is not None:
            continue
        for arrays, attrs in op.sample():
            made = op.bind(attrs).infer_shape([array.shape for array in arrays])
            shapes = made if isinstance(made, list) else [made]
            if None not in shapes and max(map(np.size, arrays), default=0) > sum(math.prod(shape) for shape in shapes):
                found.add(name)
    assert found <= READ_WHOLE
