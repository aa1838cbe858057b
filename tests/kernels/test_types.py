"""Kernels of the three folders are declared as they are, and mypy refuses what does not fit these and other types."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sparsekit.kernels import FILES, kernels_of, types
from sparsekit.kernels.cpu.update import with_formulas

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "sparsekit" / "kernels"

#: Members of ``ArrayModule`` that only a GPU's has.
CUPYS = {"copy_each", "cuda", "formula", "get_default_memory_pool"}


def parameters(node: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]]


def declared(name: str) -> dict[str, list[str]]:
    """The methods of a Protocol of ``kernels/types.py``, with the names of their parameters."""
    module = ast.parse((KERNELS / "types.py").read_text(encoding="utf-8"))
    found = next(node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name)
    return {node.name: parameters(node)[1:] for node in found.body if isinstance(node, ast.FunctionDef)}


def is_step(node: ast.FunctionDef) -> bool:
    """Whether a kernel is called as ``UpdateStep`` says, or made such by ``over_rows``."""
    return (any(ast.unparse(one).startswith("over_rows(") for one in node.decorator_list)
            or parameters(node)[:5] == ["weight", "data", "indices", "moves", "numbers"])


def functions(folder: str, file: str) -> dict[str, list[str]]:
    """The kernels that a file defines, makes of a step of ``kernels/cpu``, or takes from there, with their parameters."""
    found = {}
    for node in ast.parse((KERNELS / folder / f"{file}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = ["a step"] if is_step(node) else parameters(node)
        elif ast.unparse(node).startswith("globals().update({name: over_rows(step)"):
            found |= {name: ["a step"] for name in with_formulas(importlib.import_module(f"sparsekit.kernels.cpu.{file}"))}
        elif isinstance(node, ast.ImportFrom) and node.module == f"cpu.{file}":
            found |= {alias.name: functions("cpu", file)[alias.name] for alias in node.names}
    return found


def written(folder: str) -> dict[str, list[str]]:
    """The kernels of one folder, with the names of their parameters."""
    return {name: found for file in FILES for name, found in functions(folder, file).items() if name in kernels_of(file)}


@pytest.mark.parametrize("folder", ["cpu", "numpy", "gpu"])
def test_every_kernel_is_declared_with_its_parameters(folder):
    steps = {name: ["a step"] for file in FILES for name in kernels_of(file) if name.endswith("_step")}
    assert len(steps) > 15
    assert declared("Kernels") | steps == written(folder)


def test_numpy_has_every_declared_function():
    assert [name for name in declared("ArrayModule") if not hasattr(np, name)] == sorted(CUPYS)
    assert [name for name in declared("Solvers") if not hasattr(np.linalg, name)] == []


def test_the_functions_declared_as_universal_are():
    universal = [node.name for node in ast.walk(ast.parse((KERNELS / "types.py").read_text(encoding="utf-8")))
                 if isinstance(node, ast.FunctionDef) and getattr(node.returns, "id", "") == "Ufunc"]
    assert len(universal) > 30
    assert [name for name in universal if not isinstance(getattr(np, name), np.ufunc)] == []


def test_the_names_exist_at_run_time_too():
    assert all(hasattr(types, name) for name in types.__all__)


PLANTED = '''
from sparsekit.base.types import Attrs, Indices, Values
from sparsekit.core.types import Sink
from sparsekit.kernels import for_device
from sparsekit.kernels.types import Kernels
from sparsekit.optimizer import SGD
from sparsekit.profiler import Profile
from sparsekit.storage import CSR, RowSparse, convert
from sparsekit.storage.types import Store


def product(k: Kernels, left: CSR, right: Values, out: Values) -> None:
    k.csr_dot_dense(left.data, left.indices, left.indptr, right, out)
    k.csr_dot_dens(left.data, left.indices, left.indptr, right, out)       # a misspelt kernel
    k.csr_dot_dense(left.data, left.nosuchfield, left.indptr, right, out)  # a wrong field
    k.csr_dot_dense(left.indices, left.data, left.indptr, right, out)      # two arguments swapped
    k.csr_dot_dense(left.data, left.indices, left.indptr, right)           # one argument too few
    k.csr_dot_dense(left, right, out, left.indptr, right)                  # a store in the place of its values
    k.xp.zeroes(left.shape)                                                # a misspelt function


def converted(store: Store, rows: RowSparse) -> CSR:
    found = convert(store, "csr")
    convert("csr", store)                                                  # two arguments swapped
    store.indptr                                                           # what not every store has
    rows.indptr                                                            # what no row-sparse store has
    for_device("cpu").dense_to_csr(found)                                  # a sparse store in the place of a dense array
    return found


def told(profile: Profile, sink: Sink) -> None:
    profile.records[0]["duration"] + profile.memory["peak_bytes"]
    profile.records[0]["length"]                                           # a wrong field of a record
    profile.memory["at_peak"][0]["dtypes"]                                 # a wrong field of a row
    profile.what_if(batchsize=3)                                           # a misspelt argument
    sink.span("reading", "io", 0, 1, {})
    sink.span(0, 1, "reading", "io", {})                                   # arguments in another order
    SGD(learning_rate=0.1, momentum=0.9)
    SGD(lerning_rate=0.1)                                                  # a misspelt setting
'''


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Line of the planted module -> what mypy says of it."""
    file = tmp_path_factory.mktemp("planted") / "planted.py"
    file.write_text(PLANTED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", "--cache-dir",
         str(file.parent / "cache"), "--follow-imports", "silent", str(file)],
        capture_output=True, text=True, cwd=ROOT, timeout=400)
    assert done.returncode in (0, 1), done.stderr
    return {int(line): f"{text}" for line, text in re.findall(r"planted\.py:(\d+): error: (.*)", done.stdout)}


@pytest.mark.thorough
@pytest.mark.slow
def test_mypy_refuses_every_planted_mistake_and_nothing_else(refused):
    lines = PLANTED.splitlines()
    assert sorted(refused) == [number for number, line in enumerate(lines, 1) if "  # " in line], refused
