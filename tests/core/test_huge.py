"""Sparse arrays whose dense form has terabytes: no operator, method or gradient asks for memory, time or an unnamed error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.core.op import find
from tests.calls import refused

PROGRAM = Path(__file__).with_name("huge_arrays.py")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit on memory is Linux's")
@pytest.mark.parametrize("what", ["operators", pytest.param("surface", marks=pytest.mark.thorough)])
def test_huge_sparse_arrays_stay_within_a_gibibyte_and_end(what):
    package = str(Path(mx.__file__).parents[1])
    done = subprocess.run([sys.executable, PROGRAM, what], capture_output=True, text=True, timeout=400, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])})
    assert done.stdout.splitlines() == ["done"], done.stdout[-4000:] + done.stderr[-4000:]


def tall():
    return mx.nd.sparse.csr_matrix(([1.0], [3], [0, 0, 1]), shape=(2, 1 << 40))


def test_what_is_too_large_says_how_large():
    refused(mx.DensificationError, r"csr array of shape \(2, 1099511627776\) has indptr, 8 bytes", lambda: tall().transpose())
    with pytest.raises(mx.InsufficientMemoryError, match="8,796,093,022,208 bytes could not be allocated") as caught:
        tall().asnumpy()
    assert "Errno" not in str(caught.value)
    with pytest.raises(mx.InsufficientMemoryError, match=r"one_hot: the dense result of shape \(2, 4398046511104\)"):
        mx.nd.one_hot(mx.nd.array([0, 1]), depth=1 << 42)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_the_limit_holds_for_dense_results_and_gradients_of_sparse_arrays(stype):
    x, row = mx.nd.array([[0, 1.0], [2, 0]]).tostype(stype), mx.nd.ones((1, 2))
    x.attach_grad(stype="default")
    for _ in range(2):  # calls whose plan is ready too
        assert (mx.nd.broadcast_add(x, row).asnumpy() == [[1, 2], [3, 1]]).all()
        assert mx.nd.dot(x, mx.nd.ones((2, 1))).shape == (2, 1)
    with mx.config.set(densify_limit=8):
        with mx.autograd.record():
            total = x.sum()
        refused(mx.DensificationError, f"gradient of a reduction for a {stype} array", total.backward)
        if stype == "csr":  # whose products are dense by nature
            assert mx.nd.dot(x, mx.nd.ones((2, 2))).asnumpy().tolist() == [[1, 1], [2, 2]]


def test_a_row_sparse_mask_of_many_rows_selects_its_elements():
    rows = mx.nd.sparse.row_sparse_array(([[1.0, 0], [0, 2]], [3, 10**9 - 1]), shape=(10**9, 2))
    assert rows[rows].asnumpy().tolist() == [1.0, 2.0]


def test_indexing_by_arrays_makes_nothing_of_the_size_of_the_result_to_know_its_shape():
    shape = find("_index").bind({"key": (("slice", None, None, 2), ("array", 0))}).infer_shape([(1 << 40, 8), (1, 3)])
    assert shape == (1 << 39, 3)
