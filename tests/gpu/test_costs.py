"""What kernels cost, as far as it can be counted, stays what was recorded, and within bounds that say what is good."""

from __future__ import annotations

import json
import re
import sys

import costs
import device_library
import fake_cupy
import pytest

from sparsekit import kernels
from sparsekit.kernels.gpu import grouped, launch

#: How much more than recorded is noticed: other compilers leave other loads in a loop.
SLACK = 1.2

#: Bytes that a kernel touches for each byte of its elements, and loads of the busiest thread, at all shapes.
TOUCHED, LONGEST = 4, 130

#: Kernels beyond these bounds, with theirs and the reason.
BEYOND = {
    "dot_csr": (5, 130, "every row reads the rows of the right side that it needs anew; the second cache has them"),
    "reduce_runs": (8, 130, "threads of a warp read entries that lie 32 apart"),
    "dot_rows": (23, 130, "a team an element reads its row of the left side anew; the second cache has it"),
    "dot_small": (5, 260, "32 threads share an element of a product that is deep, and few elements are left to share"),
    "dot_grouped": (8, 160, "32 entries a thread, four loads each"),
    "sum_grouped": (5, 130, "one column wide, threads of a warp read places that lie 32 entries apart"),
    "join_groups": (13, 130, "it reads a row of parts for 16 entries, which is little beside what these are"),
    "count_pairs": (4, 330, "a thread a row walks along two rows"),
    "add_pairs": (8, 500, "the same"), "multiply_pairs": (8, 330, "the same"), "spread_pairs": (8, 500, "the same"),
}


def count(library, *what):
    """The costs of shapes and kernels, counted now."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in fake_cupy.modules().items():
            patch.setitem(sys.modules, name, module)
        patch.setattr(kernels, "_loaded", {"cpu": kernels.for_device("cpu")})
        patch.setattr(launch, "_compiled", library.compiled)
        return costs.measure(library, *what)


@pytest.fixture(scope="module")
def counted(compiled):
    """All costs, counted now."""
    return count(compiled)


def recorded():
    record = json.loads(costs.RECORD.read_text(encoding="utf-8"))
    assert record["columns"] == list(costs.Cost._fields)
    return [costs.Cost(*row) for row in record["costs"]]


@pytest.mark.thorough
def test_no_kernel_costs_more_than_recorded(counted):
    before = recorded()
    assert [row[:3] for row in counted] == [row[:3] for row in before], "python tests/gpu/costs.py --write"
    worse = [pair for pair in zip(counted, before, strict=True)
             if pair[0].touched > SLACK * pair[1].touched or pair[0].longest > SLACK * pair[1].longest]
    assert worse == []


def test_the_page_of_the_documentation_has_what_is_recorded():
    text = costs.PAGE_FILE.read_text(encoding="utf-8")
    assert text == costs.page(recorded()), "python tests/gpu/costs.py --write"
    assert "Predicted, not measured" in text


def test_every_device_function_is_recorded():
    assert {row.function for row in recorded()} == set(device_library.kernels()), "python tests/gpu/costs.py --write"


def test_the_page_predicts_every_function_of_the_sources():
    """None is left out that nothing declares as a kernel."""
    text = launch.library()
    sources = {*re.findall(r"DEVICE void (\w+)\(", text), *re.findall(r"^STEP\((\w+),", text, re.MULTILINE)}
    listed = re.findall(r"^\| `(\w+)` \|", costs.PAGE_FILE.read_text(encoding="utf-8"), re.MULTILINE)
    others = {"name", "add_groups", "team_meets"}  # a macro's word, and what kernels call
    assert listed == sorted(sources - others), "python tests/gpu/costs.py --write"


def test_costs_are_within_bounds():
    beyond = [row for row in recorded()
              if row.touched > BEYOND.get(row.function, (TOUCHED,))[0] or row.longest > BEYOND.get(row.function, (0, LONGEST))[1]]
    assert beyond == []


def test_what_is_excused_from_the_bounds_needs_it():
    needed = {row.function for row in recorded() if row.touched > TOUCHED or row.longest > LONGEST}
    assert needed == set(BEYOND)


@pytest.mark.parametrize("kernel", ["csr_transposed_dot_rows", "csr_sum_columns", "sum_rows_grouped", "dense_dot_csr"])
def test_columns_that_most_rows_store_are_shared_by_many_threads(compiled, monkeypatch, kernel):
    """One thread would do thousands of loads for each of them, one after the other."""
    def longest():
        return max(row.longest for row in count(compiled, ("criteo",), [kernel]) if row.kernel == kernel)

    assert longest() < 200
    monkeypatch.setattr(grouped, "FEW", 1 << 40)
    assert longest() > 2000
