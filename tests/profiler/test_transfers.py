"""Copies between Python, numpy, scipy and the library: each that is made, with its bytes, and none that is not."""

import numpy as np
import pytest
import scipy.sparse

import sparsekit as mx
from sparsekit.core import hooks

SHAPE = (30, 40)
SIZE = 30 * 40 * 4


def csr():
    return mx.nd.sparse.csr_matrix(scipy.sparse.random(*SHAPE, 0.1, "csr", "float32", random_state=0))


def rows():
    return mx.nd.sparse.row_sparse_array((np.ones((3, 40), "float32"), [1, 5, 7]), shape=SHAPE)


def copies(function, *arguments):
    """Names and bytes of the copies that a call makes."""
    with mx.Profiler() as prof:
        function(*arguments)
    return [(record["name"], record["bytes"]) for record in prof.records if record["lane"] == "transfer"]


MADE = {
    "array of numpy": (mx.nd.array, lambda: (np.ones(SHAPE),), "numpy -> cpu(0)", SIZE),
    "array of lists": (mx.nd.array, lambda: ([[1.0, 2.0], [3.0, 4.0]],), "Python -> cpu(0)", 16),
    "array of an array": (mx.nd.array, lambda: (mx.nd.ones(SHAPE),), "cpu(0) -> cpu(0)", SIZE),
    "array of scipy": (mx.nd.array, lambda: (csr().asscipy(),), "scipy -> cpu(0)", 120 * 12 + 31 * 8),
    "csr of lists": (mx.nd.sparse.csr_matrix, lambda: (([1.0, 2.0], [2, 0], [0, 1, 2]), (2, 3)), "Python -> cpu(0)", 48),
    "csr of numpy": (mx.nd.sparse.csr_matrix, lambda: (np.eye(4, dtype="float32"),), "numpy -> cpu(0)", 4 * 12 + 40),
    "rows of numpy": (mx.nd.sparse.row_sparse_array, lambda: ((np.ones((2, 3), "float32"), [0, 2]), (5, 3)),
                      "numpy -> cpu(0)", 2 * 20),
    "asnumpy": (mx.nd.NDArray.asnumpy, lambda: (mx.nd.ones(SHAPE),), "cpu(0) -> numpy", SIZE),
    "asnumpy of csr": (mx.nd.NDArray.asnumpy, lambda: (csr(),), "cpu(0) -> numpy", SIZE),
    "tolist": (mx.nd.NDArray.tolist, lambda: (mx.nd.ones(SHAPE),), "cpu(0) -> numpy", SIZE),
    "numpy.asarray": (np.asarray, lambda: (mx.nd.ones(SHAPE),), "cpu(0) -> numpy", SIZE),
    "copyto": (mx.nd.NDArray.copyto, lambda: (mx.nd.ones(SHAPE), mx.nd.zeros(SHAPE)), "cpu(0) -> cpu(0)", SIZE),
    "copyto another context": (mx.nd.NDArray.copyto, lambda: (mx.nd.ones(SHAPE), mx.nd.zeros(SHAPE, mx.cpu(1))),
                               "cpu(0) -> cpu(1)", SIZE),
    "as_in_context": (mx.nd.NDArray.as_in_context, lambda: (mx.nd.ones(SHAPE), mx.cpu(1)), "cpu(0) -> cpu(1)", SIZE),
    "to another context": (mx.nd.array, lambda: (np.ones(SHAPE), mx.cpu(1)), "numpy -> cpu(0), cpu(0) -> cpu(1)", SIZE),
    "x[:] = numpy": (mx.nd.NDArray.__setitem__, lambda: (mx.nd.zeros(SHAPE), slice(None), np.ones(SHAPE, "float32")),
                     "numpy -> cpu(0)", SIZE),
}


@pytest.mark.parametrize("case", MADE)
def test_each_copy_is_noted_once_with_its_bytes(case):
    function, arguments, names, size = MADE[case]
    assert copies(function, *arguments()) == [(f"copy {name}", size) for name in names.split(", ")]


def test_scipy_gets_copies_of_the_indices_and_shares_the_values():
    matrix = csr()
    given = matrix._store   # whose int64 indices are read, and written as int32
    assert copies(matrix.asscipy) == [("copy cpu(0) -> scipy", given.indices.nbytes + given.indptr.nbytes)]
    assert np.shares_memory(matrix.asscipy().data, matrix._store.data)
    found = copies(rows().asscipy)
    made = rows().asscipy()
    assert found == [("copy cpu(0) -> scipy", made.data.nbytes + 2 * (made.indices.nbytes + made.indptr.nbytes))]


NOT_MADE = {
    "as_in_context where it is": lambda: mx.nd.ones(SHAPE).as_in_context(mx.cpu()),
    "from_numpy": lambda: mx.nd.from_numpy(np.ones(SHAPE)),
    "numbers beside an array": lambda: mx.nd.ones(SHAPE) + np.ones(SHAPE, "float32"),
    "copyto itself": lambda: (lambda x: x.copyto(x))(mx.nd.ones(SHAPE)),
    "zeros of a shape": lambda: mx.nd.sparse.csr_matrix((3, 4)),
    "dlpack": lambda: np.from_dlpack(mx.nd.ones(SHAPE)),
    "a loss that is printed": lambda: mx.nd.ones(SHAPE).sum().asscalar(),
    "one number set": lambda: mx.nd.zeros(SHAPE).__setitem__(0, 1.0),
}


@pytest.mark.parametrize("case", NOT_MADE)
def test_what_copies_nothing_is_not_noted(case):
    assert copies(NOT_MADE[case]) == []


def test_components_share_memory_and_are_not_noted():
    matrix = csr()
    assert copies(lambda: (matrix.data, matrix.indices, matrix.indptr)) == []


def test_a_metric_shows_what_it_takes_and_transfers_sum_it_up():
    labels, scores = mx.nd.array(np.zeros(64)), mx.nd.array(np.ones((64, 1)))
    metric = mx.metric.create("mse")
    with mx.Profiler() as prof:
        for _ in range(5):
            metric.update([labels], [scores])
    (row,) = prof.table(of="transfers").rows
    assert (row["name"], row["calls"], row["bytes"]) == ("copy cpu(0) -> numpy", 10, 10 * 256)
    assert 0 < row["total"] < prof.wall


def test_copies_of_other_values_each_time_are_no_advice():
    with mx.Profiler() as prof:
        for _ in range(4):
            mx.nd.array(np.ones((100, 100))).asnumpy()
    assert "repeated_transfer" not in {finding.rule for finding in prof.advice()}
    with mx.Profiler() as prof:
        for _ in range(4):
            mx.nd.ones((100, 100)).as_in_context(mx.cpu(1))
    assert "repeated_transfer" in {finding.rule for finding in prof.advice()}


def test_a_copy_that_fails_is_not_noted_and_raises_what_it_raised():
    with mx.Profiler() as prof:
        for wrong in (lambda: mx.nd.array(["a"]), lambda: mx.nd.ones((2, 3)).copyto(mx.nd.ones((3, 2)))):
            with pytest.raises(mx.MXNetError):
                wrong()
    assert not [record for record in prof.records if record["lane"] == "transfer"]
    assert hooks.sink is None
