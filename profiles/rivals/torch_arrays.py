"""PyTorch on the array workloads of ``sparsekit bench``, in each form that may be its fastest; see ``protocol.py``."""

from __future__ import annotations

import sys
import warnings

import torch
from protocol import Arrays, serve

warnings.simplefilter("ignore")  # CSR tensors are in beta, it says
THREADS = sorted({1, torch.get_num_threads()})
bag = torch.nn.functional.embedding_bag


class Worker(Arrays):
    """Operations by operation and form."""

    def info(self):
        return {"name": "torch", "version": torch.__version__, "python": sys.version.split()[0]}

    def total(self, result):
        values = result[-1] if isinstance(result, tuple) else result
        if values.layout != torch.strided:
            values = values.values()
        values = values.double()
        return values.sum(), values.abs().sum()

    def operations(self, parts):
        found = conversions(parts) if "dense" in parts else products(parts)
        return {operation: {f"{form},_{count}_thread{'s' * (count > 1)}": function for form, function in forms.items()
                            for count in THREADS} for operation, forms in found.items()}

    def time(self, operation, form):
        torch.set_num_threads(int(form.split(",_")[1].split("_")[0]))
        return super().time(operation, form)


def products(parts):
    shape = tuple(int(size) for size in parts["shape"])
    data, indices, indptr = (torch.from_numpy(parts[name]) for name in ("data", "indices", "indptr"))
    right, turned, rows, kept = (torch.from_numpy(parts[name]) for name in ("right", "turned", "rows", "kept"))
    left = torch.sparse_csr_tensor(indptr, indices, data, size=shape)
    weight = right.clone().requires_grad_()

    def pooled(table, places):
        return bag(places, table, indptr, mode="sum", per_sample_weights=data, include_last_offset=True)

    recorded = bag(indices, weight, indptr, mode="sum", per_sample_weights=data, include_last_offset=True, sparse=True)

    def unique_index_add():
        columns, places = torch.unique(indices, return_inverse=True)
        out = torch.zeros((len(columns), turned.shape[1]))
        return columns, out.index_add_(0, places, data[:, None] * turned.repeat_interleave(indptr.diff(), 0))

    def bag_backward():
        return torch.autograd.grad(recorded, weight, turned, retain_graph=True)[0].coalesce()

    return {
        "csr_dense": {"csr_tensor": lambda: left @ right, "embedding_bag": lambda: pooled(right, indices)},
        "csrT_dense": {"unique_index_add": unique_index_add, "embedding_bag_backward": bag_backward},
        "csr_row_sparse": {"searchsorted": lambda: pooled(kept, torch.searchsorted(rows, indices))},
    }


def conversions(parts):
    dense, tall = torch.from_numpy(parts["dense"]), torch.from_numpy(parts["tall"])
    matrix = dense.to_sparse_csr()
    rows = tall.to_sparse(1).coalesce()
    return {
        "dense_csr": {"to_sparse_csr": dense.to_sparse_csr},
        "csr_dense": {"to_dense": matrix.to_dense},
        "dense_row_sparse": {"to_sparse": lambda: tall.to_sparse(1)},
        "row_sparse_dense": {"to_dense": rows.to_dense},
    }


serve(Worker())
