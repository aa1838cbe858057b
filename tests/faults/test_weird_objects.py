"""Objects of every kind in the place of every argument: whatever they are, the error is one of the library's."""

from __future__ import annotations

from pathlib import Path

import programs
import pytest

PROGRAM = Path(__file__).with_name("weird.py").read_text(encoding="utf-8")

#: Callables whose every argument may be any object; ``weird.py`` knows more.
HELD = [
    "nd.array", "nd.zeros", "nd.ones", "nd.full", "nd.empty", "nd.arange", "nd.linspace", "nd.eye", "nd.from_numpy",
    "nd.from_dlpack",
    "nd.load", "nd.save", "nd.load_frombuffer", "csr_matrix", "csr_matrix of components", "csr_matrix of places",
    "row_sparse_array", "row_sparse_array of components", "sparse.array", "sparse.zeros", "sparse.empty", "sparse.retain",
    "from_binsparse", "binsparse", "binsparse described", "binsparse parts", "random.uniform", "random.normal", "random.randint",
    "random.multinomial", "random.shuffle", "Context", "cpu", "NDArrayIter", "CSVIter", "LibSVMIter", "astype", "tostype",
    "copyto",
    "attach_grad", "as_in_context", "load_trace", "to_html", "save_trace", "save_parameters", "load_parameters",
    "metric.TopKAccuracy", "metric.F1", "metric.Perplexity", "metric.CrossEntropy", "metric.MSE", "metric.PearsonCorrelation",
    "metric.Loss", "sym.linspace", "sym.split_v2", "infer_storage_type", "infer_type", "ArrayDataset",
]


@pytest.mark.parametrize("part", [0, 1])
def test_weird_objects_for_constructors_and_readers(part):
    done = programs.run(PROGRAM, "0", "1", "12", "3", *HELD[part::2], memory=4000 * programs.MIB, timeout=400)
    assert done.check().splitlines() == ["done"], done.stderr[-300:]
