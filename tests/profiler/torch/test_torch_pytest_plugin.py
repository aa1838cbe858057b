"""The pytest plugin on tests that run PyTorch: with a marker that asks for it, by an import at the top, and by one too late."""

from __future__ import annotations

import re

import pytest

from tests.profiler.test_pytest_plugin import pytest_in

MODEL = '''
import pytest
IMPORT

contract = pytest.mark.sparse_contract


def step(sparse):
    import torch
    model = torch.nn.EmbeddingBag(50_000, 16, mode="sum", sparse=sparse)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model(torch.arange(30).reshape(3, 10)).sum().backward()
    optimizer.step()


@contract(peak_below="7 MB", grad_rows=("EmbeddingBag.weight", 30), ASK)
def test_sparse():
    step(True)


@contract(peak_below="6 MB", ASK)
def test_dense():
    step(False)


@pytest.mark.sparse_profile(torch=True)
def test_fixture(sparse_profile):
    step(False)
    sparse_profile.stop()
    assert "30 of 50,000 rows" in str(sparse_profile.table(of="gradients"))
'''


@pytest.mark.thorough
def test_contracts_on_pytorch(torch, tmp_path):
    source = MODEL.replace("IMPORT", "import torch").replace(", ASK", "")
    said = pytest_in(tmp_path, "--sparsekit-profile", "-n", "2", source=source)
    assert "1 failed, 2 passed" in said
    assert "peak_below('6 MB') is broken: the peak was" in said
    assert re.search(r"Event: aten::\S+ \(\w+\).* at test_program.py:\d+, ", said)
    assert re.search(r"Advice: .*EmbeddingBag.weight.* 30 of .*sparse=True", said)
    assert re.search(r"test_program.py::test_dense +\d+ ", said)


def test_contracts_need_pytorch_from_the_start(torch, tmp_path):
    late = pytest_in(tmp_path, source=MODEL.replace("IMPORT", "").replace(", ASK", "").replace("torch=True", "lines=True"))
    assert "PyTorch was imported during the test, so its operators were not recorded." in late
    assert late.count("Hint: import it at the top of the file") == 1  # then it is imported
    asked = pytest_in(tmp_path, source=MODEL.replace("IMPORT", "").replace("ASK", "torch=True"))
    assert "1 failed, 2 passed" in asked
    assert "peak_below('6 MB') is broken" in asked
