"""The pytest plugin on tests that run PyTorch: with a marker that asks for it, by an import at the top, and by one too late."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = ROOT / "sparsekit" / "profiler" / "plugin"

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


def told(folder: Path, source: str, *options: str) -> str:
    (folder / "test_program.py").write_text(source)
    path = os.pathsep.join([str(ROOT), str(PLUGIN), *filter(None, [os.environ.get("PYTHONPATH")])])
    # With CI, pytest writes messages twice: summaries are whole.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST", "SPARSEKIT"))}
    environment |= {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "pytest_sparsekit", "-p", "xdist", "--strict-markers", *options,
                           "test_program.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
def test_contracts_on_pytorch(torch, tmp_path):
    said = told(tmp_path, MODEL.replace("IMPORT", "import torch").replace(", ASK", ""), "--sparsekit-profile", "-n", "2")
    assert "1 failed, 2 passed" in said
    assert "peak_below('6 MB') is broken: the peak was" in said
    assert re.search(r"Event: aten::\S+ \(\w+\).* at test_program.py:\d+, ", said)
    assert re.search(r"Advice: .*EmbeddingBag.weight.* 30 of .*sparse=True", said)
    assert re.search(r"test_program.py::test_dense +\d+ ", said)


def test_contracts_need_pytorch_from_the_start(torch, tmp_path):
    late = told(tmp_path, MODEL.replace("IMPORT", "").replace(", ASK", "").replace("torch=True", "lines=True"))
    assert "PyTorch was imported during the test, so its operators were not recorded." in late
    assert late.count("Hint: import it at the top of the file") == 1  # then it is imported
    asked = told(tmp_path, MODEL.replace("IMPORT", "").replace("ASK", "torch=True"))
    assert "1 failed, 2 passed" in asked
    assert "peak_below('6 MB') is broken" in asked
