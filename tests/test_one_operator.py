"""``pytest --op NAME`` selects the tests of one operator, and what it selects finds defects planted in it."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[1]

#: A plugin that changes an operator once the tests are collected; ``op`` is its record.
PLANT = """
from sparsekit.core.op import registry
from sparsekit.storage import CSR, RowSparse, densify

def scaled(store):
    if isinstance(store, CSR):
        return CSR(store.data * 1.01, store.indices, store.indptr, store.shape)
    return RowSparse(store.data * 1.01, store.indices, store.shape) if isinstance(store, RowSparse) else store * 1.01

def change(op):
{defect}

def pytest_collection_finish():
    change(registry[{name!r}])
"""

DEFECTS = {
    "a wrong slope": """
    slope = op.gradient_function
    vars(op)["gradient_function"] = lambda F, g, *rest: slope(F, g * 1.01, *rest)
""",
    "wrong values in every row": """
    for rule in op.rules:
        rule.ufunc, rule.function = "", lambda *given, row=rule.function: scaled(row(*given))
""",
    "a row that gives a dense result and declares a sparse one": """
    for rule in op.rules:
        if rule.outputs != ("default",):
            rule.function = lambda *given, row=rule.function: densify(row(*given))
""",
}


#: Options that leave notebooks out, of which no operator selects one: their plugin takes seconds to import.
NO_NOTEBOOKS = ("-p", "no:nbval", "-o", "addopts=--strict-markers --import-mode=importlib")


@pytest.fixture(scope="module")
def pytest_with():
    """A function that runs pytest with these arguments and with plugins of folders; it gives the exit code and the output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}

    def run(*arguments, plugins=()):
        places = os.pathsep.join(filter(None, [*map(str, plugins), environment.get("PYTHONPATH")]))
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], cwd=ROOT, text=True,
                              env={**environment, "PYTHONPATH": places}, capture_output=True, timeout=400)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture(scope="module")
def collected(pytest_with):
    """A function that lists the tests that are collected, and says how many were made before some were left out."""
    @functools.cache
    def collect(*arguments):
        code, printed = pytest_with("--collect-only", *arguments)
        assert code == 0, printed[-2000:]
        made = re.search(r"^(?:\d+/)?(\d+) tests collected", printed, re.M)
        return [line for line in printed.splitlines() if "::" in line], int(made[1])

    return collect


@pytest.fixture(scope="module")
def sweep(collected):
    """The whole sweep over the registry."""
    return collected("tests/core/test_sweep.py", *NO_NOTEBOOKS)[0]


@pytest.mark.parametrize(("name", "options"), [
    ("cbrt", ()), ("SequenceMask", NO_NOTEBOOKS), ("_contrib_quadratic", NO_NOTEBOOKS)])
def test_of_the_sweep_it_selects_the_operators_cases_and_no_others(name, options, sweep, collected):
    expected = {line for line in sweep if re.search(rf"\[{name}(-|\])", line)}
    found, made = collected("--op", name, *options)
    assert len(expected) >= 4
    assert {line for line in found if line.startswith("tests/core/test_sweep.py")} == expected
    assert made < 1000  # of some 30,000: collecting takes two seconds, as the other tests are never made


def test_files_named_after_an_operator_are_selected_whole(collected):
    whole, _ = collected("tests/ndarray/test_sparse_retain.py", *NO_NOTEBOOKS)
    found, _ = collected("--op", "retain", *NO_NOTEBOOKS)  # which is an alias
    assert set(whole) <= set(found)


def test_a_name_that_is_none_is_an_error_with_names_alike(pytest_with):
    code, printed = pytest_with("--op", "dott", *NO_NOTEBOOKS)
    assert code == pytest.ExitCode.USAGE_ERROR, printed[-2000:]
    assert "There is no operator named 'dott'" in printed
    assert "did you mean 'dot'?" in printed


@pytest.mark.parametrize(("name", "defect"), [*(("cbrt", defect) for defect in DEFECTS), ("dot", "a wrong slope")])
def test_what_it_selects_finds_a_defect(name, defect, tmp_path, pytest_with):
    (tmp_path / "planted.py").write_text(PLANT.format(name=name, defect=DEFECTS[defect]), encoding="utf-8")
    code, printed = pytest_with("--op", name, "-x", "-p", "planted", *NO_NOTEBOOKS, plugins=[tmp_path])
    assert code == pytest.ExitCode.TESTS_FAILED, printed[-2000:]
    assert re.search(r"^FAILED tests/", printed, re.M)


def test_without_a_defect_everything_selected_passes(pytest_with):
    # Type checkers take ten seconds.
    code, printed = pytest_with("--op", "cbrt", "--deselect", "tests/typing", *NO_NOTEBOOKS)
    assert code == 0, printed[-2000:]
