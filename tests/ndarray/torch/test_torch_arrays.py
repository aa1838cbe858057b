"""Sparse tensors of PyTorch in and out, in the same memory where it can be shared."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import nd
from tests.calls import refused

VALUES = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [5, 0, 0, 3]], np.float32)
TYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")


def same(part, tensor):
    return part.ctypes.data == tensor.data_ptr()


def tensors(torch):
    dense = torch.tensor(VALUES)
    rows = torch.sparse_coo_tensor(torch.tensor([[2, 0]]), dense[[2, 0]], size=(3, 4))
    repeated = torch.sparse_coo_tensor(torch.tensor([[2, 0, 2, 0, 2], [3, 1, 0, 3, 3]]), torch.tensor([1.0, 2, 5, 1, 2]), (3, 4))
    return {"csr": dense.to_sparse_csr(), "csc": dense.to_sparse_csc(), "coo": dense.to_sparse(), "repeated": repeated,
            "rows": rows, "rows in order": rows.coalesce(), "int32": torch.sparse_csr_tensor(
                torch.tensor([0, 2, 2, 4], dtype=torch.int32), torch.tensor([1, 3, 0, 3], dtype=torch.int32),
                torch.tensor([2.0, 1, 5, 3]), size=(3, 4))}


@pytest.mark.parametrize("copy", [True, None])
@pytest.mark.parametrize("name", ["csr", "csc", "coo", "repeated", "rows", "rows in order", "int32"])
def test_every_layout_is_read(torch, name, copy):
    tensor = tensors(torch)[name]
    natural = "row_sparse" if "rows" in name else "csr"
    for make, stype in ((nd.sparse.csr_matrix, "csr"), (nd.sparse.row_sparse_array, "row_sparse"), (nd.sparse.array, natural)):
        made = make(tensor, copy=copy)
        assert (made.stype, made.dtype) == (stype, np.float32)
        np.testing.assert_array_equal(made.asnumpy(), VALUES)
        made.check_format()
    assert nd.array(tensor).stype == natural
    np.testing.assert_array_equal(tensor.to_dense().numpy(), VALUES)


@pytest.mark.parametrize("name", ["csr", "coo", "rows in order", "int32"])
def test_memory_is_shared_in_both_directions(torch, name):
    tensor = tensors(torch)[name]
    make = nd.sparse.row_sparse_array if "rows" in name else nd.sparse.csr_matrix
    numbers = tensor.indices()[-1] if tensor.layout is torch.sparse_coo else tensor.col_indices()
    for copy, values, indices in ((True, False, False), (None, True, False), (False, True, True)):
        x = make(tensor, copy=copy)
        assert (same(x._store.data, tensor.values()), same(x._store.indices, numbers)) == (values, indices)
    x.data[:] = 7
    assert set(tensor.values().flatten().tolist()) == {7}
    for copy, values, indices in ((True, False, False), (None, True, False), (False, True, True)):
        back = x.astorch(copy=copy)
        numbers = back.indices()[-1] if back.layout is torch.sparse_coo else back.col_indices()
        assert (same(x._store.data, back.values()), same(x._store.indices, numbers)) == (values, indices)
        np.testing.assert_array_equal(back.to_dense().numpy(), x.asnumpy())
    assert back.layout is (torch.sparse_coo if "rows" in name else torch.sparse_csr)
    del tensor, numbers, back
    assert set(x.data.asnumpy().flatten().tolist()) == {7}  # after the tensor that owned the memory


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_every_element_type_goes_out_and_comes_back(torch, stype, dtype):
    x = nd.array(VALUES, dtype=dtype).tostype(stype)
    tensor = x.astorch()
    assert str(tensor.dtype) == f"torch.{dtype}"
    back = nd.sparse.array(tensor)
    assert (back.stype, back.dtype) == (stype, x.dtype)
    np.testing.assert_array_equal(back.asnumpy(), x.asnumpy())
    assert nd.sparse.zeros(stype, (3, 4)).astorch().to_dense().sum() == 0


def test_components_may_be_tensors(torch):
    tensor = tensors(torch)["csr"]
    parts = tensor.values(), tensor.col_indices(), tensor.crow_indices()
    x = nd.sparse.csr_matrix(parts, shape=(3, 4), copy=False)
    assert same(x._store.data, parts[0])
    np.testing.assert_array_equal(x.asnumpy(), VALUES)


def test_copied_bytes_are_counted(torch):
    size = 300
    tensor = torch.sparse_csr_tensor(torch.arange(size + 1), torch.arange(size), torch.ones(size), size=(size, size))
    x = nd.sparse.csr_matrix(tensor)
    for call, name, copied in (
            (lambda: nd.sparse.csr_matrix(tensor), "copy torch -> cpu(0)", 12 * size + 8 * (size + 1)),
            (lambda: nd.sparse.csr_matrix(tensor, copy=None), "copy torch -> cpu(0)", 8 * size + 8 * (size + 1)),
            (lambda: nd.sparse.csr_matrix(tensor, copy=False), None, 0),
            (lambda: x.astorch(), "copy cpu(0) -> torch", 8 * size + 8 * (size + 1)), (lambda: x.astorch(copy=False), None, 0)):
        with mx.Profiler() as profile:
            call()
        found = {row["name"]: row["bytes"] for row in profile.table(of="transfers")}
        assert found == ({name: copied} if name else {})


ODD = {
    "gradient": (lambda torch, t: torch.sparse_coo_tensor(t.indices(), t.values().clone().requires_grad_(), (3, 4)), "detach"),
    "gradient of csr": (lambda torch, t: t.to_sparse_csr().requires_grad_(), "detach"),
    "other device": (lambda torch, t: t.to("meta"), r"device meta(.|\n)*cpu\(\)"),
    "blocks": (lambda torch, t: torch.eye(4).to_sparse_bsr((2, 2)), "to_sparse_csr"),
    "batches": (lambda torch, t: torch.stack([torch.eye(3)] * 2).to_sparse_csr(), r"batches(.|\n)*\[0\]"),
    "dense dimensions": (lambda torch, t: torch.ones(2, 3, 4).to_sparse(2), "1 dense"),
    "three sparse dimensions": (lambda torch, t: torch.ones(2, 3, 4).to_sparse(), "3 sparse"),
    "bfloat16": (lambda torch, t: t.to(torch.bfloat16), r"float\(\)"),
    "complex": (lambda torch, t: t.to(torch.complex64), "real"),
    "index outside": (lambda torch, t: torch.sparse_csr_tensor(
        torch.tensor([0, 2]), torch.tensor([0, 9]), torch.ones(2), size=(1, 3), check_invariants=False), "outside the 3 columns"),
    "pointers that fall": (lambda torch, t: torch.sparse_csr_tensor(
        torch.tensor([0, 2, 1]), torch.tensor([0]), torch.ones(1), size=(2, 3), check_invariants=False), "indptr"),
}
NOT_SHARED = {
    "repeated": (lambda torch, t: tensors(torch)["repeated"], "out of order, or repeat"),
    "csc": (lambda torch, t: t.to_sparse_csc(), "csc|cannot be shared|out of order"),
    "rows": (lambda torch, t: tensors(torch)["rows in order"], "row_sparse, not csr"),
    "wrongly marked": (lambda torch, t: torch.sparse_coo_tensor(
        torch.tensor([[1, 0], [0, 0]]), torch.ones(2), (2, 2), is_coalesced=True), "out of order"),
    "strides": (lambda torch, t: (torch.arange(6.0)[::2], torch.tensor([0, 2, 1]), torch.tensor([0, 2, 3])), "strides"),
    "dense": (lambda torch, t: t.to_dense(), "is dense"),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("copy", [True, None, False])
def test_odd_tensors_are_named(torch, name, copy):
    make, text = ODD[name]
    refused(mx.MXNetError, text, lambda: nd.sparse.array(make(torch, tensors(torch)["coo"]), copy=copy))


@pytest.mark.parametrize("name", NOT_SHARED)
def test_what_cannot_be_shared_is_named_and_copied_otherwise(torch, name):
    make, text = NOT_SHARED[name]
    source = make(torch, tensors(torch)["coo"])
    refused(mx.base.errors.ConversionError, rf"copy=False: .*({text})", nd.sparse.csr_matrix, source, copy=False)
    nd.sparse.csr_matrix(source, copy=None).check_format()


def test_a_dense_tensor_with_gradients_is_refused(torch):
    for call in (nd.array, nd.sparse.csr_matrix, lambda t: nd.sparse.csr_matrix((t, [0, 1], [0, 2]), shape=(1, 2))):
        with pytest.raises(mx.DTypeError, match="requires grad"):
            call(torch.ones(2, requires_grad=True))
